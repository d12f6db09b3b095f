// A signal handler on a small alternate stack posts a semaphore and reads the clock while its thread is
// inside lock calls; the stack's end is guarded, so whoever needs much of it faults.
#include "harm.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted;
static volatile int stop;

static void handler(int signal)
{
    int saved = errno;
    struct timespec now;
    (void)signal;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sem_post(&posted);
    errno = saved;
}

static void *locker(void *argument)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 2 * page - 1) / page * page;
    char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    CHECK(sigaltstack(&stack, NULL) == 0);
    while (!stop) {
        RETURNS(0, pthread_mutex_lock(&lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
    return argument;
}

int main(void)
{
    enum { SIGNALS = 300 };
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(sem_init(&posted, 0, 0) == 0);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, locker, NULL));
    for (int i = 0; i < SIGNALS; i++) {
        RETURNS(0, pthread_kill(threads[i % 2], SIGUSR1));
        while (sem_wait(&posted) != 0)
            CHECK(errno == EINTR);
    }
    stop = 1;
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("%d signals handled\n", SIGNALS);
    return 0;
}
