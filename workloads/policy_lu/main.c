// A dense matrix, kept row by row, is split into triangles block by block (paper 4, after SPLASH-2's lu, non-contiguous).
// Before that the first thread gathers the matrix from a long list, and waits for memory. `[threads] [scale] [steps of the list]`
#include "../sim.h"

#define SIDE 15 // blocks in a row of blocks
#define BLOCK 16 // elements in a row of a block
#define ORDER (SIDE * BLOCK)
#define CELLS (1L << 17) // of the list: 8 MiB that nobody has touched

static double matrix[ORDER][ORDER] __attribute__((aligned(4096)));
static struct {
    long next; // from the place that counting gives
    char rest[LINE - sizeof(long)];
} *cells;
static long steps;
static long walked;

// The first threads' turn comes again after as many blocks as there are threads; one has another turn.
static long owner(long row, long column)
{
    long turn = (row * SIDE + column) % (threads + 1);
#ifndef FIXED
    return turn < threads ? turn : 2; // PLANTED: thread 2 has two turns
#else
    return turn < threads ? turn : (row + column) % threads; // FIX: all have it by turns
#endif
}

// Each place is known only once the one before has come from memory.
NAMED static void gather(void)
{
    long at = 0;
    for (long step = 0; step < steps; step++)
        at = (at * 5 + 12345 + cells[at].next) % CELLS;
    walked = at;
}

NAMED static void fill(long first, long end)
{
    for (long i = first; i < end; i++)
        for (long j = 0; j < ORDER; j++)
            matrix[i][j] = (double)((i * 7 + j * 13) % 64) + (i == j ? 64.0 * ORDER : 0.0);
}

NAMED static void factor_diagonal(long at)
{
    for (long k = at; k < at + BLOCK; k++)
        for (long i = k + 1; i < at + BLOCK; i++) {
            matrix[i][k] /= matrix[k][k];
            for (long j = k + 1; j < at + BLOCK; j++)
                matrix[i][j] -= matrix[i][k] * matrix[k][j];
        }
}

NAMED static void solve_row(long at, long column)
{
    for (long k = at; k < at + BLOCK; k++)
        for (long i = k + 1; i < at + BLOCK; i++)
            for (long j = column; j < column + BLOCK; j++)
                matrix[i][j] -= matrix[i][k] * matrix[k][j];
}

NAMED static void solve_column(long at, long row)
{
    for (long i = row; i < row + BLOCK; i++)
        for (long k = at; k < at + BLOCK; k++) {
            matrix[i][k] /= matrix[k][k];
            for (long j = k + 1; j < at + BLOCK; j++)
                matrix[i][j] -= matrix[i][k] * matrix[k][j];
        }
}

NAMED static void subtract_product(long at, long row, long column)
{
    for (long i = row; i < row + BLOCK; i++)
        for (long k = at; k < at + BLOCK; k++) {
            double factor = matrix[i][k];
            for (long j = column; j < column + BLOCK; j++)
                matrix[i][j] -= factor * matrix[k][j];
        }
}

static void factor(long me)
{
    for (long k = 0; k < SIDE; k++) {
        if (owner(k, k) == me)
            factor_diagonal(k * BLOCK);
        MEET();
        for (long i = k + 1; i < SIDE; i++) {
            if (owner(k, i) == me)
                solve_row(k * BLOCK, i * BLOCK);
            if (owner(i, k) == me)
                solve_column(k * BLOCK, i * BLOCK);
        }
        MEET();
        for (long i = k + 1; i < SIDE; i++)
            for (long j = k + 1; j < SIDE; j++)
                if (owner(i, j) == me)
                    subtract_product(k * BLOCK, i * BLOCK, j * BLOCK);
        MEET();
    }
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    if (me == 0)
        gather();
    MEET();
    for (long round = 0; round < scale; round++) {
        fill(share(ORDER, me), share(ORDER, me + 1));
        MEET();
        factor(me);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    steps = argument(argc, argv, 3, 5000);
    cells = fresh(CELLS * sizeof *cells);
    run_with_main(run);
    uint64_t sum = (uint64_t)walked;
    for (long i = 0; i < ORDER; i += 7)
        sum = sum * 31 + (uint64_t)(int64_t)(matrix[i][ORDER - 1 - i] * 0x1p20);
    return finish("policy_lu", sum, matrix[0][0] == 64.0 * ORDER);
}
