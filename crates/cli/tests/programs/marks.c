/* Two threads that use each kind of object ROUNDS times; what is told of it is known to the last mark. */
#define _GNU_SOURCE
#include "holdup.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 10 };

static pthread_mutex_t outer[9], mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pipes[2];

static void check(int failed)
{
    if (failed)
        abort();
}

static void *work(void *unused)
{
    char byte = 0;
    for (int round = 0; round < ROUNDS; round++) {
        holdup_work_begin("round");
        /* More at once than are timed, released in the order in which they were taken. */
        for (int lock = 0; lock < 9; lock++)
            check(pthread_mutex_lock(&outer[lock]));
        for (int lock = 0; lock < 9; lock++)
            check(pthread_mutex_unlock(&outer[lock]));
        check(pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex));
        check(pthread_rwlock_rdlock(&rwlock) || pthread_rwlock_unlock(&rwlock));
        check(pthread_rwlock_wrlock(&rwlock) || pthread_rwlock_unlock(&rwlock));
        check(pthread_spin_lock(&spin) || pthread_spin_unlock(&spin));
        check(pthread_cond_signal(&nobody) || pthread_cond_broadcast(&nobody));
        check(sem_post(&semaphore) || sem_wait(&semaphore));
        check(write(pipes[1], &byte, 1) != 1 || read(pipes[0], &byte, 1) != 1);
        holdup_work_end();
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int lock = 0; lock < 9; lock++)
        check(pthread_mutex_init(&outer[lock], NULL));
    check(pthread_spin_init(&spin, 0) || sem_init(&semaphore, 0, 0) || pipe(pipes));
    check(pthread_barrier_init(&barrier, NULL, THREADS));
    holdup_region_begin("all");
    for (int thread = 0; thread < THREADS; thread++)
        check(pthread_create(&threads[thread], NULL, work, NULL));
    for (int thread = 0; thread < THREADS; thread++)
        check(pthread_join(threads[thread], NULL));
    holdup_region_end("all");
    puts("done");
    fputs("words\n", stderr);
    return 7;
}
