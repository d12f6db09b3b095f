// Threads on the smallest stacks that the system allows, given by size and given as memory with guard pages
// around.
#include "harm.h"

#include <limits.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { THREADS = 32 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t tokens;
static long counter;

static void *small(void *argument)
{
    for (int i = 0; i < 200; i++) {
        RETURNS(0, pthread_mutex_lock(&lock));
        counter++;
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    int met = pthread_barrier_wait(&meeting);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    RETURNS(0, pthread_mutex_lock(&lock));
    while (counter < THREADS * 200)
        RETURNS(0, pthread_cond_wait(&changed, &lock));
    RETURNS(0, pthread_cond_broadcast(&changed));
    RETURNS(0, pthread_mutex_unlock(&lock));
    CHECK(sem_wait(&tokens) == 0);
    CHECK(sem_post(&tokens) == 0);
    sleep_ms(1);
    return argument;
}

static void run(const char *what, int own_memory)
{
    pthread_t threads[THREADS];
    size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    counter = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_attr_t attributes;
        RETURNS(0, pthread_attr_init(&attributes));
        if (own_memory) {
            char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(memory != MAP_FAILED);
            CHECK(mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0);
            RETURNS(0, pthread_attr_setstack(&attributes, memory + page, size));
        } else {
            RETURNS(0, pthread_attr_setstacksize(&attributes, size));
        }
        RETURNS(0, pthread_create(&threads[t], &attributes, small, (void *)(intptr_t)t));
        RETURNS(0, pthread_attr_destroy(&attributes));
    }
    for (int t = 0; t < THREADS; t++) {
        void *result;
        RETURNS(0, pthread_join(threads[t], &result));
        CHECK((intptr_t)result == t);
    }
    printf("%s: %ld\n", what, counter);
}

int main(void)
{
    RETURNS(0, pthread_barrier_init(&meeting, NULL, THREADS));
    CHECK(sem_init(&tokens, 0, 3) == 0);
    run("smallest size", 0);
    run("own memory", 1);
    return 0;
}
