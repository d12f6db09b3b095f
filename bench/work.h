/* Work that no compiler removes and that takes as long in every run: rounds are fixed, never calibrated,
 * so that two runs of a program differ only by what is measured. */
#ifndef HOLDUP_BENCH_WORK_H
#define HOLDUP_BENCH_WORK_H

#include <stdint.h>
#include <time.h>

/* A dependent chain of multiply and rotate: 2 to 3 ns a round. */
static inline uint64_t work(uint64_t state, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        state *= 0x9E3779B97F4A7C15u;
        state ^= state >> 29;
    }
    return state;
}

static inline double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#endif
