/* How the OpenMP benchmarks measure themselves: a group of repetitions is timed several times. The median of that is what
 * counts, so that a moment in which others used the cores does not; the least is for machines that are never idle. */
#ifndef HOLDUP_BENCH_OPENMP_TIMING_H
#define HOLDUP_BENCH_OPENMP_TIMING_H

#include "../work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GROUPS 64

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Calls `group(repetitions)` once to warm up and `groups` times to measure; prints ns for one repetition: the median as
 * `NAME`, and the least as `least_ns`. */
static void measure(const char *name, void (*group)(long), long repetitions, int groups)
{
    double times[MOST_GROUPS];
    group(repetitions);
    for (int i = 0; i < groups; i++) {
        double begin = now_ns();
        group(repetitions);
        times[i] = (now_ns() - begin) / (double)repetitions;
    }
    qsort(times, (size_t)groups, sizeof times[0], compare_times);
    printf("%s %.2f\nleast_ns %.2f\n", name, times[groups / 2], times[0]);
}

#endif
