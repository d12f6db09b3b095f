// Every thread takes as many steps from index to index as the others, by the same instructions; the odd ones walk through
// far more memory than a cache holds.
#include "../lime.h"

#define LARGE (1 << 23) // 32 MiB of indices
#define SMALL (1 << 10)
#define STEPS 60000
#define ROUNDS 3

static uint32_t large[LARGE];
static uint32_t small[SMALL];
static uint32_t reached[MOST_THREADS];

// A single circle through all indices (Sattolo's algorithm).
static void make_circle(uint32_t *next, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        next[i] = i;
    for (uint32_t i = length - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(scattered(i) % i), moved = next[i];
        next[i] = next[other];
        next[other] = moved;
    }
}

static uint32_t walk(const uint32_t *next, uint32_t from)
{
    for (long step = 0; step < STEPS; step++)
        from = next[from];
    return from;
}

static void *wander(void *argument)
{
    long me = (intptr_t)argument;
#ifndef FIXED
    const uint32_t *circles[2] = {small, large};
#else
    const uint32_t *circles[2] = {small, small}; // FIX: what all walk through fits into every cache
#endif
    uint32_t at = (uint32_t)me;
    for (long round = 0; round < ROUNDS * scale; round++) {
        at = walk(circles[me % 2], at);
        MEET();
    }
    reached[me] = at;
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    make_circle(large, LARGE);
    make_circle(small, SMALL);
    run_team(wander);
    // Nobody meets on a circle: all began at different places and walked as far.
    int right = 1;
    for (long t = 2; t < threads; t++)
        right &= reached[t] != reached[t - 2];
    return finish("lime_cache", LARGE, right);
}
