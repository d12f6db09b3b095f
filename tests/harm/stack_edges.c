// Waits on stacks that end at an unreadable page just above the caller (coroutines by makecontext): whoever
// copies "the next 16 KB of the stack" faults here.
#include "harm.h"

#include <sys/mman.h>
#include <ucontext.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static ucontext_t outside, inside;
static int ready;

static void coroutine(void)
{
    RETURNS(0, pthread_mutex_lock(&lock)); // held by the other thread for 5 ms
    while (!ready)
        RETURNS(0, pthread_cond_wait(&changed, &lock));
    RETURNS(0, pthread_mutex_unlock(&lock));
    sleep_ms(1);
    swapcontext(&inside, &outside);
    RETURNS(0, pthread_mutex_lock(&lock));
    ready = 3;
    RETURNS(0, pthread_mutex_unlock(&lock));
}

static void *other(void *argument)
{
    (void)argument;
    RETURNS(0, pthread_mutex_lock(&lock));
    int met = pthread_barrier_wait(&start);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    sleep_ms(5);
    RETURNS(0, pthread_mutex_unlock(&lock));
    sleep_ms(5);
    RETURNS(0, pthread_mutex_lock(&lock));
    ready = 1;
    RETURNS(0, pthread_cond_signal(&changed));
    RETURNS(0, pthread_mutex_unlock(&lock));
    return NULL;
}

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 8 * page;
    RETURNS(0, pthread_barrier_init(&start, NULL, 2));
    for (int round = 0; round < 10; round++) {
        ready = 0;
        pthread_t thread;
        RETURNS(0, pthread_create(&thread, NULL, other, NULL));
        int met = pthread_barrier_wait(&start);
        CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
        char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        CHECK(mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0);
        CHECK(getcontext(&inside) == 0);
        inside.uc_stack.ss_sp = memory + page;
        inside.uc_stack.ss_size = size;
        inside.uc_link = &outside;
        makecontext(&inside, coroutine, 0);
        CHECK(swapcontext(&outside, &inside) == 0);
        CHECK(ready == 1);
        CHECK(swapcontext(&outside, &inside) == 0);
        CHECK(munmap(memory, size + 2 * page) == 0);
        RETURNS(0, pthread_join(thread, NULL));
        printf("round %d: %d\n", round, ready);
    }
    return 0;
}
