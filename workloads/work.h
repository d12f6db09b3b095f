// What the workloads share: a fixed amount of computing, and the checks around thread calls.
//
// Work is counted in iterations, never by the clock: a run does the same work everywhere and always.
#ifndef WORK_H
#define WORK_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A function that keeps its own symbol and stack frame under -O2 (no inlining, no cloned or split copies).
#if defined(__clang__)
#define NAMED __attribute__((noinline))
#else
#define NAMED __attribute__((noipa))
#endif

// Iterations of `compute` in a microsecond, rounded, on the machine that the sizes were chosen on (AMD EPYC). With fewer
// (-DITERATIONS_PER_US=2L) all that is computed gets smaller in the same proportion, for simulations.
#ifndef ITERATIONS_PER_US
#define ITERATIONS_PER_US 600L
#endif

// Runs the xorshift64 generator from `seed`, for about `us` microseconds, and returns where it ends.
static inline uint64_t compute(uint64_t seed, long us)
{
    uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
    if (x == 0)
        x = 1;
    for (long i = us * ITERATIONS_PER_US; i > 0; i--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

// Ends the program when a pthread call returns an error number.
static inline void check(int error, const char *call)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", call, strerror(error));
        exit(99);
    }
}

// Argument `index` as a positive number, or `otherwise` where it is absent.
static inline long argument(int argc, char **argv, int index, long otherwise)
{
    if (argc <= index)
        return otherwise;
    char *end;
    long value = strtol(argv[index], &end, 10);
    if (*end != '\0' || value < 1) {
        fprintf(stderr, "%s is no positive number (usage: %s [threads] [scale])\n", argv[index], argv[0]);
        exit(98);
    }
    return value;
}

static inline void start_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
    check(pthread_create(thread, NULL, function, argument), "pthread_create");
}

static inline void join_thread(pthread_t thread)
{
    check(pthread_join(thread, NULL), "pthread_join");
}

#endif
