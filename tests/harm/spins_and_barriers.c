// Spin locks (private and shared), and barriers: exactly one serial thread in every round, reuse, a barrier
// of one.
#include "harm.h"

enum { THREADS = 5, ROUNDS = 400 };
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static long counter, serial[ROUNDS];

static void *worker(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        RETURNS(0, pthread_spin_lock(&spin));
        counter++;
        RETURNS(0, pthread_spin_unlock(&spin));
        int met = pthread_barrier_wait(&barrier);
        CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
        if (met == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial[round], 1, __ATOMIC_RELAXED);
        CHECK(__atomic_load_n(&counter, __ATOMIC_RELAXED) >= (round + 1L) * THREADS);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int shared = 0; shared < 2; shared++) {
        pthread_barrierattr_t attributes;
        RETURNS(0, pthread_barrierattr_init(&attributes));
        RETURNS(0, pthread_barrierattr_setpshared(&attributes, shared));
        RETURNS(0, pthread_spin_init(&spin, shared));
        RETURNS(0, pthread_barrier_init(&barrier, &attributes, THREADS));
        counter = 0;
        memset(serial, 0, sizeof serial);
        RETURNS(0, pthread_spin_trylock(&spin));
        RETURNS(EBUSY, pthread_spin_trylock(&spin));
        RETURNS(0, pthread_spin_unlock(&spin));
        for (int t = 0; t < THREADS; t++)
            RETURNS(0, pthread_create(&threads[t], NULL, worker, NULL));
        for (int t = 0; t < THREADS; t++)
            RETURNS(0, pthread_join(threads[t], NULL));
        for (int round = 0; round < ROUNDS; round++)
            CHECK(serial[round] == 1);
        RETURNS(0, pthread_barrier_destroy(&barrier));
        RETURNS(0, pthread_spin_destroy(&spin));
        printf("%s: %ld\n", shared ? "shared" : "private", counter);
    }
    RETURNS(EINVAL, pthread_barrier_init(&barrier, NULL, 0));
    RETURNS(0, pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 3; i++)
        RETURNS(PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_wait(&barrier));
    RETURNS(0, pthread_barrier_destroy(&barrier));
    printf("a barrier of one\n");
    return 0;
}
