// Each member adds up its part of an array that is larger than all caches, one number of each line: what memory can
// deliver is what it takes. In the fixed form they go over the first part of their part again and again.
#include "../sim.h"

#define WORDS (LINE / (long)sizeof(uint64_t))
#define LINES (3L << 18) // 48 MiB

static uint64_t (*table)[WORDS];
static uint64_t sums[MOST_THREADS][WORDS];

NAMED static uint64_t sum_up(long first, long end)
{
    uint64_t sum = 0;
    for (long line = first; line < end; line++)
        sum += table[line][0]; // PLANTED: a new line with each step
    return sum;
}

static void *stream(void *argument)
{
    long me = (intptr_t)argument;
    long first = share(LINES, me), end = share(LINES, me + 1);
    uint64_t sum = 0;
    for (long round = 0; round < scale; round++) {
#ifndef FIXED
        sum += sum_up(first, end);
#else
        for (long passes = 0; passes < (end - first) / 256; passes++) // FIX: 16 KiB at a time
            sum += sum_up(first, first + 256);
#endif
        MEET();
    }
    sums[me][0] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    table = fresh(LINES * sizeof *table);
    for (long line = 0; line < LINES; line++)
        table[line][0] = 1;
    empty_caches();
    run_with_main(stream);
    uint64_t sum = 0;
    for (long t = 0; t < threads; t++)
        sum += sums[t][0];
    return finish("sim_stream", LINES, sum >= (uint64_t)(LINES / 256 * 256 - 256 * threads));
}
