// What the LIME workloads share beyond `work.h`: a team of threads that meet at a barrier, and numbers to work on.
//
// Where a thread decides to do more than others is marked PLANTED: that is the line `holdup why` must name.
#ifndef LIME_H
#define LIME_H

#include "work.h"

#define MOST_THREADS 64

static long threads;
static long scale;
static pthread_barrier_t barrier;

// A macro, so that the section is called by the line of its use. The thread that is told to be the last one takes the
// same way out as the others: which one it is changes from run to run.
#define MEET()                                                                                                         \
    do {                                                                                                               \
        int met = pthread_barrier_wait(&barrier);                                                                      \
        if (met > 0)                                                                                                   \
            check(met, "pthread_barrier_wait");                                                                        \
    } while (0)

// `[threads] [scale]`.
static inline void read_arguments(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 8);
    scale = argument(argc, argv, 2, 1);
    if (threads > MOST_THREADS) {
        fprintf(stderr, "%s: at most %d threads\n", argv[0], MOST_THREADS);
        exit(98);
    }
}

// Runs `member` in each thread, with the thread's number as its argument, and waits for all.
static inline void run_team(void *(*member)(void *))
{
    pthread_t team[MOST_THREADS];
    check(pthread_barrier_init(&barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    for (long t = 0; t < threads; t++)
        start_thread(&team[t], member, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(team[t]);
}

// The `index`-th of a row of numbers without a pattern (splitmix64).
static inline uint64_t scattered(uint64_t index)
{
    uint64_t x = (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Ends the program with a line that is the same in every form, at every number of threads and from every compiler; or
// with another status where what was computed is wrong.
static inline int finish(const char *name, uint64_t checksum, int right)
{
    if (!right) {
        fprintf(stderr, "%s: wrong result\n", name);
        return 97;
    }
    printf("%s checksum %016llx\n", name, (unsigned long long)checksum);
    return 0;
}

#endif
