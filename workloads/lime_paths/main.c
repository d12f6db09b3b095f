// One step of a sweep over a grid, from the same barrier to the same barrier, on several ways: the barrier in the middle stands
// twice, for steps to the left and to the right, and the first step begins where the threads do.
#include "../lime.h"

#define SIDE 96
#define STEPS 12

static uint32_t grid[SIDE][SIDE];

static void relax(long row)
{
    for (long column = 1; column < SIDE; column++)
        grid[row][column] += grid[row][column - 1] * 3u + (uint32_t)row;
}

static void *sweep(void *argument)
{
    long me = (intptr_t)argument;
    long from = me * SIDE / threads, to = (me + 1) * SIDE / threads;
    for (long step = 0; step < STEPS * scale; step++) {
        for (long row = from; row < to; row++)
            relax(row);
#ifndef FIXED
        if (me % 4 == 3) // PLANTED: every fourth thread has a part of the border as well
#endif
            for (long row = from; row < to; row++)
                for (int turn = 0; turn < 4; turn++)
                    relax(row);
        MEET();
        if (step % 3 == 0) {
            grid[from][0] += 1;
            MEET();
        } else {
            grid[from][0] += 2;
            MEET();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_team(sweep);
    uint64_t checksum = 0;
    // The first column is the same in every form; it is added to by the first thread of a row alone.
    for (long me = 0; me < threads; me++)
        checksum = grid[me * SIDE / threads][0];
    int right = checksum == (uint64_t)(STEPS * scale / 3 + 2 * (STEPS * scale - STEPS * scale / 3));
    return finish("lime_paths", checksum, right);
}
