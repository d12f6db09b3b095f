// A grid that is smoothed step by step, by as many rows for each thread: nothing is planted, and nothing may be found.
#include "../lime.h"

#define SIDE 128
#define STEPS 12

// Two grids with a frame around them that stays as it is.
static uint32_t grids[2][SIDE + 2][SIDE + 2];

static void *smooth(void *argument)
{
    long me = (intptr_t)argument;
    long from = me * SIDE / threads + 1, to = (me + 1) * SIDE / threads + 1;
    for (long step = 0; step < STEPS * scale; step++) {
        uint32_t(*old)[SIDE + 2] = grids[step % 2], (*new)[SIDE + 2] = grids[(step + 1) % 2];
        for (long row = from; row < to; row++)
            for (long column = 1; column <= SIDE; column++)
                new[row][column] =
                    (old[row - 1][column] + old[row + 1][column] + old[row][column - 1] + old[row][column + 1]) / 4;
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint32_t most = 0;
    for (long i = 0; i < (SIDE + 2) * (SIDE + 2); i++) {
        uint32_t value = (uint32_t)(scattered((uint64_t)i) >> 36);
        grids[0][i / (SIDE + 2)][i % (SIDE + 2)] = grids[1][i / (SIDE + 2)][i % (SIDE + 2)] = value;
        most = value > most ? value : most;
    }
    run_team(smooth);
    // A mean is never above what it is the mean of.
    int right = 1;
    uint64_t checksum = 0;
    for (long i = 0; i < (SIDE + 2) * (SIDE + 2); i++) {
        uint32_t value = grids[STEPS * scale % 2][i / (SIDE + 2)][i % (SIDE + 2)];
        right &= value <= most;
        checksum = checksum * 31 + value;
    }
    return finish("lime_equal", checksum, right);
}
