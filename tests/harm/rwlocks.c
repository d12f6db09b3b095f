// Read-write locks of each preference: many readers at once, one writer, try variants, deadlock codes.
#include "harm.h"

static pthread_rwlock_t rwlock;
static pthread_barrier_t all_read;
static long readers_inside, value;

static void *reads_with_others(void *argument)
{
    RETURNS(0, pthread_rwlock_rdlock(&rwlock));
    long inside = __atomic_add_fetch(&readers_inside, 1, __ATOMIC_SEQ_CST);
    int met = pthread_barrier_wait(&all_read); // only if all four hold it together
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(inside >= 1 && inside <= 4);
    RETURNS(0, pthread_rwlock_unlock(&rwlock));
    return argument;
}

static void *mixes(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (int i = 0; i < 3000; i++) {
        if (i % 5 == me) {
            RETURNS(0, pthread_rwlock_wrlock(&rwlock));
            long seen = ++value;
            CHECK(value == seen);
        } else {
            RETURNS(0, pthread_rwlock_rdlock(&rwlock));
            long seen = value;
            CHECK(value == seen);
        }
        RETURNS(0, pthread_rwlock_unlock(&rwlock));
    }
    return NULL;
}

static void *try_read(void *argument)
{
    (void)argument;
    int result = pthread_rwlock_tryrdlock(&rwlock);
    if (result == 0)
        RETURNS(0, pthread_rwlock_unlock(&rwlock));
    return (void *)(intptr_t)result;
}

static void *try_write(void *argument)
{
    (void)argument;
    int result = pthread_rwlock_trywrlock(&rwlock);
    if (result == 0)
        RETURNS(0, pthread_rwlock_unlock(&rwlock));
    return (void *)(intptr_t)result;
}

static int elsewhere(void *(*function)(void *))
{
    pthread_t thread;
    void *result;
    RETURNS(0, pthread_create(&thread, NULL, function, NULL));
    RETURNS(0, pthread_join(thread, &result));
    return (int)(intptr_t)result;
}

static void run(const char *name, int kind)
{
    pthread_rwlockattr_t attributes;
    pthread_t threads[4];
    RETURNS(0, pthread_rwlockattr_init(&attributes));
    RETURNS(0, pthread_rwlockattr_setkind_np(&attributes, kind));
    RETURNS(0, pthread_rwlock_init(&rwlock, &attributes));
    readers_inside = value = 0;
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, reads_with_others, NULL));
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    for (intptr_t t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, mixes, (void *)t));
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    RETURNS(0, pthread_rwlock_rdlock(&rwlock));
    RETURNS(0, pthread_rwlock_tryrdlock(&rwlock));
    RETURNS(EBUSY, pthread_rwlock_trywrlock(&rwlock));
    RETURNS(0, elsewhere(try_read));
    RETURNS(EBUSY, elsewhere(try_write));
    RETURNS(0, pthread_rwlock_unlock(&rwlock));
    RETURNS(0, pthread_rwlock_unlock(&rwlock));
    RETURNS(0, pthread_rwlock_wrlock(&rwlock));
    RETURNS(EDEADLK, pthread_rwlock_wrlock(&rwlock));
    RETURNS(EDEADLK, pthread_rwlock_rdlock(&rwlock));
    RETURNS(EBUSY, pthread_rwlock_tryrdlock(&rwlock));
    RETURNS(EBUSY, elsewhere(try_read));
    RETURNS(EBUSY, elsewhere(try_write));
    RETURNS(0, pthread_rwlock_unlock(&rwlock));
    RETURNS(0, pthread_rwlock_destroy(&rwlock));
    printf("%s: %ld writes\n", name, value);
}

int main(void)
{
    RETURNS(0, pthread_barrier_init(&all_read, NULL, 4));
    run("readers first", PTHREAD_RWLOCK_PREFER_READER_NP);
    run("writers first", PTHREAD_RWLOCK_PREFER_WRITER_NP);
    run("writers first, not recursive", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    return 0;
}
