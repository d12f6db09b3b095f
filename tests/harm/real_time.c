/* A thread of SCHED_FIFO keeps its CPU from one of lower priority for as long as it does not wait, however much it does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INITIALIZED = 100000 };

static volatile long lower_ran;
static long ran_meanwhile;
static volatile int over;
static pthread_barrier_t both_there;

static void *higher(void *nothing)
{
    pthread_barrier_wait(&both_there);
    long before = lower_ran;
    for (int i = 0; i < INITIALIZED; i++) {
        pthread_barrier_t barrier;
        if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_barrier_destroy(&barrier) != 0)
            exit(3);
    }
    ran_meanwhile = lower_ran - before;
    over = 1;
    return nothing;
}

static void *lower(void *nothing)
{
    pthread_barrier_wait(&both_there);
    while (!over)
        lower_ran++;
    return nothing;
}

static int start(pthread_t *thread, int priority, void *(*run)(void *))
{
    pthread_attr_t attributes;
    struct sched_param parameter = {.sched_priority = priority};
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
    return pthread_create(thread, &attributes, run, NULL);
}

int main(void)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 2;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 || pthread_barrier_init(&both_there, NULL, 2) != 0)
        return 2;
    pthread_t threads[2];
    int refused = start(&threads[0], 20, higher);
    if (refused != 0) {
        printf("no real-time threads here: %s\n", strerror(refused));
        return 0;
    }
    if (start(&threads[1], 10, lower) != 0)
        return 2;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts(ran_meanwhile == 0 ? "in order" : "the lower one ran in between");
    return 0;
}
