/* A program whose critical thread names itself: one of four works ten times as much between barriers. */
#define _GNU_SOURCE
#include "../../include/holdup.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4

static pthread_barrier_t barrier;
static volatile unsigned long sum;

static void work(unsigned long amount)
{
    while (amount-- > 0)
        sum += amount;
}

/* True if the calling thread has had most. */
static int is_critical(void)
{
    struct holdup_thread_criticality own, all[16];
    int i, count = holdup_criticality(all, 16);

    if (count < 1 || holdup_own_criticality(&own) != 1 || !own.is_active || own.tid != (int)syscall(SYS_gettid))
        return 0;
    for (i = 0; i < count && i < 16; i++)
        if (all[i].tid != own.tid && all[i].criticality_ns >= own.criticality_ns)
            return 0;
    return 1;
}

static void *worker(void *argument)
{
    long number = (long)argument;
    int round;

    for (round = 0; round < 50; round++) {
        work(number == 2 ? 1000000 : 100000);
        pthread_barrier_wait(&barrier);
    }
    if (is_critical())
        printf("critical: %ld\n", number);
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void)
{
    struct holdup_thread_criticality own;
    pthread_t threads[THREADS];
    long i;

    printf("kept %d %d\n", holdup_own_criticality(&own), holdup_criticality(NULL, 0));
    fflush(stdout);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, worker, (void *)i) != 0)
            return 1;
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 3;
}
