// A picture that is smoothed, each member its own rows: a small one is in the caches after the first step, a large one never
// (paper 3, Fig. 5). `[threads] [scale] [rows] [columns]`
#include "../sim.h"

static long rows, columns;
static float *from, *to;

NAMED static void smooth(long first, long end)
{
    for (long row = first; row < end; row++) {
        const float *above = &from[(row - 1) * columns], *here = &from[row * columns], *below = &from[(row + 1) * columns];
        float *out = &to[row * columns];
        for (long column = 1; column < columns - 1; column++) {
            float north = above[column] - here[column], south = below[column] - here[column];
            float west = here[column - 1] - here[column], east = here[column + 1] - here[column];
            float slope = north * north + south * south + west * west + east * east;
            out[column] = here[column] + 0.125f * (north + south + west + east) / (1.0f + slope);
        }
    }
}

static void *filter(void *argument)
{
    long me = (intptr_t)argument;
    long first = 1 + share(rows - 2, me), end = 1 + share(rows - 2, me + 1);
    for (long step = 0; step < scale; step++) {
        smooth(first, end);
        MEET();
        if (me == 0) {
            float *other = from;
            from = to;
            to = other;
        }
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    rows = argument(argc, argv, 3, 256);
    columns = argument(argc, argv, 4, 256);
    from = fresh((size_t)(rows * columns) * sizeof *from);
    to = fresh((size_t)(rows * columns) * sizeof *to);
    for (long i = 0; i < rows * columns; i++)
        from[i] = to[i] = (float)(scattered((uint64_t)i) % 256);
    empty_caches();
    run_with_main(filter);
    float sum = 0;
    for (long i = 0; i < rows * columns; i += 997) // some of it: this is simulated too
        sum += from[i];
    return finish("sim_srad", (uint64_t)(rows * columns), sum > 0);
}
