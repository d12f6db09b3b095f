// In kind after swaptions: independent trials, each of which goes through tables that every thread has for itself, however
// many threads there are. What they need of the shared cache grows with the threads; of memory's bandwidth they need little.
#include "../stack.h"

#ifndef TRIALS
#define TRIALS 24000L
#endif
#define STEPS 120

static long lines;

NAMED static uint64_t trial(line_t *tables, uint64_t seed)
{
    uint64_t x = seed;
    for (int step = 0; step < STEPS; step++) {
        x = scattered(x);
        uint64_t at = x % (uint64_t)lines;
        // Some arithmetic for each line that is read, which waits for it.
        uint64_t value = tables[at][2] + x;
        for (int i = 0; i < 24; i++)
            value = value * 0x9E3779B97F4A7C15u + (value >> 29);
        x ^= value;
    }
    return x;
}

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    line_t *tables = own_memory(lines * LINE);
    long end = first_of(TRIALS * scale, me + 1);
    for (long i = first_of(TRIALS * scale, me); i < end; i++) {
        members[me].sum += trial(tables, (uint64_t)i);
        members[me].done++;
    }
    free(tables);
    return NULL;
}

// `[threads] [scale] [KiB of tables for each thread]`
int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 3);
    lines = argument(argc, argv, 3, 24 * 1024) * 1024 / LINE;
    run_team(member);
    return finish("stack_options", all_done(), all_done() == (uint64_t)(TRIALS * scale));
}
