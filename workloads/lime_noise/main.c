// A simulation by random numbers: threads take a branch differently often, as chance will have it, and the time in it is
// next to nothing. Nothing is planted, and nothing may be found.
#include "../lime.h"

#define POINTS 3000 // for each thread and round
#define ROUNDS 4

static uint64_t inside[MOST_THREADS];

// A point of a square from a generator's next numbers; true if it lies in the circle.
static int throw_point(uint64_t *state)
{
    for (int i = 0; i < 12; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
    }
    int64_t x = (int64_t)(*state & 0xffff) - 0x8000, y = (int64_t)(*state >> 16 & 0xffff) - 0x8000;
    return x * x + y * y < 0x8000LL * 0x8000;
}

static void *throw(void *argument)
{
    long me = (intptr_t)argument;
    uint64_t state = scattered((uint64_t)me), hits = 0;
    for (long round = 0; round < ROUNDS * scale; round++) {
        for (long i = 0; i < POINTS; i++)
            if (throw_point(&state))
                hits++;
        MEET();
    }
    inside[me] = hits;
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_team(throw);
    uint64_t hits = 0;
    for (long t = 0; t < threads; t++)
        hits += inside[t];
    double pi = 4.0 * (double)hits / (double)(threads * POINTS * ROUNDS * scale);
    return finish("lime_noise", POINTS, pi > 3.05 && pi < 3.23);
}
