// Each member counts in a place of its own, next to the places of the others in the same line of the caches.
#include "../sim.h"

#define STEPS 40000

struct counter {
    volatile uint64_t events;
#ifdef FIXED
    char padding[2 * LINE - sizeof(uint64_t)]; // FIX: a line for each
#endif
};

static struct counter counters[MOST_THREADS] __attribute__((aligned(4096)));

NAMED static void count_events(long me)
{
    for (long step = 0; step < STEPS; step++)
        counters[me].events += (uint64_t)step & 3; // PLANTED: the line goes from core to core
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < scale; round++) {
        count_events(me);
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_with_main(run);
    uint64_t sum = 0;
    for (long t = 0; t < threads; t++)
        sum += counters[t].events;
    return finish("sim_false", STEPS, sum == (uint64_t)(threads * scale * STEPS / 4 * 6));
}
