// A branch that depends on numbers without a pattern, in each step; in the fixed form it goes one way and the other by
// turns. What is computed on both ways takes equally long.
#include "../sim.h"

#define STEPS 400000

static uint64_t results[MOST_THREADS];

NAMED static uint64_t decide(uint64_t seed)
{
    uint64_t ones = 0, noughts = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t number = scattered(seed + step);
#ifdef FIXED
        number = number >> 1 << 1 | (step & 1); // FIX: by turns
#endif
        if (number & 1) { // PLANTED: at random
            ones += number >> 32;
            __asm__ volatile("" : "+r"(ones)); // keeps it a branch
        } else {
            noughts += number >> 32;
            __asm__ volatile("" : "+r"(noughts));
        }
    }
    return ones + noughts;
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < scale; round++)
        results[me] += decide((uint64_t)me << 32);
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_with_main(run);
    int right = 1;
    for (long t = 0; t < threads; t++)
        right &= results[t] != 0;
    return finish("sim_branches", STEPS, right);
}
