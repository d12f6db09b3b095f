// A reduction over a large array for each small batch: every thread clears and adds up all bins each time, one after the
// other, which takes longer than counting does.
#include "../openmp.h"

#define BINS 65536
#define BATCH 16384
#define BATCHES (5L * ITERATIONS_PER_US / 2)

static uint64_t histogram[BINS];

NAMED static uint32_t bin_of(uint64_t item)
{
    item *= 0x9E3779B97F4A7C15u;
    item ^= item >> 29;
    item *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(item >> 48);
}

// By a pointer: clang 19 counts in the shared array itself where a reduction names a global one.
NAMED static void count_batches(uint64_t *bins, long batches)
{
#ifndef FIXED
    for (long batch = 0; batch < batches; batch++) {
#pragma omp parallel for reduction(+ : bins[:BINS]) // PLANTED: more bins than items
        for (long item = 0; item < BATCH; item++)
            bins[bin_of((uint64_t)(batch * BATCH + item))]++;
    }
#else
#pragma omp parallel for reduction(+ : bins[:BINS]) // FIX: adds up once, after all batches
    for (long item = 0; item < batches * BATCH; item++)
        bins[bin_of((uint64_t)item)]++;
#endif
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    count_batches(histogram, BATCHES * scale);
    uint64_t checksum = 0;
    for (int bin = 0; bin < BINS; bin++)
        checksum += histogram[bin] * (uint64_t)(bin % 1009 + 1);
    return finish("omp_reduction", checksum);
}
