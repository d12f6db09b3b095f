// An OpenMP loop whose iterations become longer and longer, dealt out evenly; in the fixed form they are dealt out while it
// runs.
#include "../sim.h"

#define ITERATIONS 240

static uint64_t results[ITERATIONS];

#ifndef FIXED
#define SCHEDULE static // PLANTED: the last thread has the longest iterations
#else
#define SCHEDULE dynamic, 4 // FIX: who is done takes the next ones
#endif

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long round = 0; round < scale; round++) {
#pragma omp parallel for schedule(SCHEDULE) num_threads((int)threads)
        for (long i = 0; i < ITERATIONS; i++) {
            uint64_t x = (uint64_t)i + 1;
            for (long step = 0; step < 40 * i; step++)
                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            results[i] = x;
        }
    }
    int right = 1;
    for (long i = 0; i < ITERATIONS; i++)
        right &= results[i] != 0;
    return finish("sim_dynamic", results[ITERATIONS - 1], right);
}
