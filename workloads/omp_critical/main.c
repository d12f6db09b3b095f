// A critical section around most of a loop's work.
#include "../openmp.h"

#define ITEMS 2000
#define OUTSIDE_US 60
#define INSIDE_US 240

static uint64_t total;

NAMED static uint64_t measure_item(long item)
{
    return compute((uint64_t)item, OUTSIDE_US);
}

NAMED static uint64_t weigh_item(uint64_t measure)
{
    return compute(measure, INSIDE_US);
}

NAMED static void add_items(long items)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (long item = 0; item < items; item++) {
        uint64_t measure = measure_item(item);
#ifndef FIXED
#pragma omp critical(totals)
        total += weigh_item(measure); // PLANTED: computes inside
#else
        uint64_t weight = weigh_item(measure); // FIX: computes outside
#pragma omp critical(totals)
        total += weight;
#endif
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    add_items(ITEMS * scale);
    return finish("omp_critical", total);
}
