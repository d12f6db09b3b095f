// Points that are given to the nearest of centres that are tried one after another; the first thread alone decides whether a centre
// pays. Threads meet in functions that are made of atomic operations, and of a mutex and a condition variable after some spinning. With
// INLINED these are part of the function that works.
#include "../lime.h"

#include <stdatomic.h>

#define POINTS 4096
#define DIMENSIONS 8
#define CENTRES 12
#define TURNS 400 // a thread looks so often before it sleeps

#ifdef INLINED
#define MADE __attribute__((always_inline)) inline
#else
#define MADE __attribute__((noinline))
#endif

static int32_t points[POINTS][DIMENSIONS];
static uint64_t costs[POINTS];
static uint64_t saved[POINTS];
static uint64_t opened;

static atomic_long come;
static atomic_int phase;

// All spin until the last one has come.
MADE static void meet_spinning(int *own)
{
    *own = !*own;
    if (atomic_fetch_add(&come, 1) == threads - 1) {
        atomic_store(&come, 0);
        atomic_store(&phase, *own);
    } else {
        while (atomic_load(&phase) != *own)
            ;
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long inside;
static volatile int arriving = 1;

// Waits with the mutex until it is so: first on a core, then asleep.
static void wait_until(int so)
{
    pthread_mutex_unlock(&mutex);
    for (volatile int turn = 0; arriving != so && turn < TURNS; turn++)
        ;
    while (pthread_mutex_trylock(&mutex) != 0)
        ;
    while (arriving != so)
        pthread_cond_wait(&changed, &mutex);
}

// The last one to come lets all go, and the last one to leave lets them come again.
MADE static void meet(void)
{
    pthread_mutex_lock(&mutex);
    if (!arriving)
        wait_until(1);
    if (++inside == threads) {
        arriving = 0;
        pthread_cond_broadcast(&changed);
    } else if (arriving) {
        wait_until(0);
    }
    if (--inside == 0) {
        arriving = 1;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
}

static uint64_t distance(long a, long b)
{
    uint64_t sum = 0;
    for (long d = 0; d < DIMENSIONS; d++) {
        int64_t apart = points[a][d] - points[b][d];
        sum += (uint64_t)(apart * apart);
    }
    return sum;
}

// What it saves that this many of the points go to the new centre.
static uint64_t sum_of(long from, long to)
{
    uint64_t sum = 0;
    for (long i = from; i < to; i++)
        for (int bit = 0; bit < 16; bit++)
            sum += (saved[i] >> bit & 1) << bit;
    return sum;
}

static uint64_t sums[MOST_THREADS];

static void *cluster(void *argument)
{
    long me = (intptr_t)argument;
    int own = 0;
    long from = me * POINTS / threads, to = (me + 1) * POINTS / threads;
    for (long centre = 0; centre < CENTRES * scale; centre++) {
        long tried = centre * 331 % POINTS;
        for (long i = from; i < to; i++) {
            uint64_t there = distance(i, tried);
            saved[i] = there < costs[i] ? costs[i] - there : 0;
        }
        meet();
#ifndef FIXED
        if (me == 0) // PLANTED: the others wait while the first thread sums up
            sums[0] = sum_of(0, POINTS);
#else
        sums[me] = sum_of(from, to); // FIX: each sums up its own
#endif
        meet_spinning(&own);
        uint64_t all = 0;
        for (long t = 0; t < threads; t++)
            all += sums[t];
        if (me == 0)
            opened += all > POINTS;
        for (long i = from; i < to && all > POINTS; i++)
            costs[i] -= saved[i];
        meet();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long i = 0; i < POINTS; i++) {
        for (long d = 0; d < DIMENSIONS; d++)
            points[i][d] = (int32_t)(scattered((uint64_t)(i * DIMENSIONS + d)) >> 57);
        costs[i] = DIMENSIONS << 13;
    }
    run_team(cluster);
    // No point is further from its centre than from the first one that was tried.
    int right = opened > 0;
    uint64_t checksum = opened;
    for (long i = 0; i < POINTS; i++) {
        right &= costs[i] <= distance(i, 0);
        checksum = checksum * 31 + costs[i];
    }
    return finish("lime_meet", checksum, right);
}
