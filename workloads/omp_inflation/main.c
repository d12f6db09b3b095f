// False sharing: each thread counts in a place of its own, but the places lie on one cache line. The same work takes more
// CPU time the more threads there are, and nobody waits for anybody.
#include "../openmp.h"

#define MOST_THREADS 256
#define ITEMS (100000L * ITERATIONS_PER_US)
#define PASSES 12
#ifndef FIXED
#define ALIGNMENT 8 // PLANTED: eight counters on a cache line
#else
#define ALIGNMENT 128 // FIX: a cache line for each thread, and its neighbour
#endif

static struct {
    _Alignas(ALIGNMENT) volatile uint64_t hits;
} counters[MOST_THREADS];

NAMED static void count_hits(long items)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp for schedule(static)
        for (long item = 0; item < items; item++)
            if (((uint64_t)item * 0x9E3779B97F4A7C15u) >> 63)
                counters[me].hits += 1;
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (long pass = 0; pass < PASSES * scale; pass++)
        count_hits(ITEMS);
    uint64_t checksum = 0;
    for (int thread = 0; thread < MOST_THREADS; thread++)
        checksum += counters[thread].hits;
    return finish("omp_inflation", checksum);
}
