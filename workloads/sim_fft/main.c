// A matrix that is written by the first half of the members and read, transposed, by all: what the second half reads has to
// come from the caches of the first one's socket (paper 3, Fig. 3).
#include "../sim.h"

#define SIDE 256
#define ROW (SIDE + 8) // so that a column does not fall into one set of the caches
#define ROUNDS 16
#define IN_LINE (LINE / (long)sizeof(double))

static double matrix[SIDE][ROW] __attribute__((aligned(4096)));
static double turned[SIDE][SIDE] __attribute__((aligned(4096)));

#ifndef FIXED
// The first number of each line, by the first half, row by row.
NAMED static void fill(long me, double seed)
{
    long owners = threads > 1 ? threads / 2 : 1;
    if (me >= owners)
        return;
    for (long row = SIDE * me / owners; row < SIDE * (me + 1) / owners; row++)
        for (long column = 0; column < SIDE; column += IN_LINE)
            matrix[row][column] = seed + (double)(row * SIDE + column);
}
#else
// FIX: the first number of each line, by the member that reads it.
NAMED static void fill(long me, double seed)
{
    for (long row = 0; row < SIDE; row++)
        for (long column = share(SIDE, me); column < share(SIDE, me + 1); column += IN_LINE)
            matrix[row][column] = seed + (double)(row * SIDE + column);
}
#endif

// Eight columns share each line.
NAMED static void transpose(long first, long end)
{
    for (long column = first; column < end; column++)
        for (long row = 0; row < SIDE; row++)
            turned[column][row] = matrix[row][column] * 0.5 + 1.0; // PLANTED: written on the first socket
}

static void *transform(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        fill(me, (double)round);
        MEET();
        transpose(share(SIDE, me), share(SIDE, me + 1));
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_with_main(transform);
    int right = 1;
    // Some of it: this is simulated too.
    for (long row = 0; row < SIDE; row += 51)
        for (long column = 0; column < SIDE; column += 17)
            right &= turned[column][row] == matrix[row][column] * 0.5 + 1.0;
    return finish("sim_fft", SIDE, right);
}
