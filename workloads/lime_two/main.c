// Two causes at once: the odd threads' cells need repair, and the later threads' cells have longer lists.
#include "../lime.h"

#define CELLS 64 // for each thread
#define ROUNDS 3
#define REPAIR 288
#define LONGEST 240

struct cell {
    int damaged;
    long length;
    uint64_t seed;
};

static struct cell cells[MOST_THREADS][CELLS];
static uint64_t sums[MOST_THREADS];

static uint64_t repair(uint64_t value)
{
    for (int i = 0; i < REPAIR; i++)
        value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9u;
    return value;
}

static uint64_t visit(const struct cell *cell)
{
    uint64_t value = cell->seed;
    if (cell->damaged) // PLANTED: every other thread has damaged cells
        value = repair(value);
    for (long i = 0; i < cell->length; i++) // SECOND: lists are not equally long
        value = (value ^ value >> 31) * 0x94D049BB133111EBu;
    return value;
}

static void *update(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        uint64_t sum = 0;
        for (long i = 0; i < CELLS; i++)
            sum += visit(&cells[me][i]);
        sums[me] = sum;
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint64_t wanted = 0, got = 0;
    for (long t = 0; t < threads; t++)
        for (long i = 0; i < CELLS; i++) {
#ifndef FIXED
            int damaged = t % 2 == 1 && i % 16 != 0;
            long length = (t / 2 + 1) * LONGEST / (threads / 2 + 1) + (long)(scattered((uint64_t)i) % 8);
#else
            int damaged = i % 2 == 1; // FIX: damage and length are spread evenly
            long length = LONGEST / 2 + (long)(scattered((uint64_t)i) % 8);
#endif
            cells[t][i] = (struct cell){damaged, length, scattered((uint64_t)(t * CELLS + i))};
            wanted += visit(&cells[t][i]);
        }
    run_team(update);
    for (long t = 0; t < threads; t++)
        got += sums[t];
    return finish("lime_two", CELLS, got == wanted);
}
