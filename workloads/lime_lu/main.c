// A dense matrix split into lower and upper triangles, block by block. Blocks belong to threads by a formula that gives
// some threads many blocks and others few (paper 2, section 5.5.1).
#include "../lime.h"

#ifndef SIDE
#define SIDE 16 // blocks in a row of blocks
#endif
#define BLOCK 16 // elements in a row of a block
#define ORDER (SIDE * BLOCK)

typedef double block[BLOCK][BLOCK];

static block blocks[SIDE][SIDE];
static double given[ORDER][ORDER];

#ifndef FIXED
static long owner(long row, long column)
{
    return (row + column) % threads;
}
#else
static long grid_rows, grid_columns;

// FIX: the threads are a grid that is laid over the blocks.
static long owner(long row, long column)
{
    return column % grid_columns + row % grid_rows * grid_columns;
}
#endif

static void factor_diagonal(block a)
{
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < BLOCK; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
}

// A block right of the diagonal block `d`.
static void solve_row(block d, block a)
{
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++)
            for (int j = 0; j < BLOCK; j++)
                a[i][j] -= d[i][k] * a[k][j];
}

// A block below the diagonal block `d`.
static void solve_column(block d, block a)
{
    for (int k = 0; k < BLOCK; k++)
        for (int i = 0; i < BLOCK; i++) {
            a[i][k] /= d[k][k];
            for (int j = k + 1; j < BLOCK; j++)
                a[i][j] -= a[i][k] * d[k][j];
        }
}

static void subtract_product(block left, block above, block a)
{
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++)
            for (int j = 0; j < BLOCK; j++)
                a[i][j] -= left[i][k] * above[k][j];
}

static void *factor(void *argument)
{
    long me = (intptr_t)argument;
    for (long k = 0; k < SIDE; k++) {
        if (owner(k, k) == me)
            factor_diagonal(blocks[k][k]);
        MEET();
        for (long i = k + 1; i < SIDE; i++) {
            if (owner(k, i) == me)
                solve_row(blocks[k][k], blocks[k][i]);
            if (owner(i, k) == me)
                solve_column(blocks[k][k], blocks[i][k]);
        }
        MEET();
        for (long i = k + 1; i < SIDE; i++)
            for (long j = k + 1; j < SIDE; j++)
                if (owner(i, j) == me) // PLANTED: the sum of the indices has few values, of which some are frequent
                    subtract_product(blocks[i][k], blocks[k][j], blocks[i][j]);
        MEET();
    }
    return NULL;
}

static double element(int i, int j)
{
    return blocks[i / BLOCK][j / BLOCK][i % BLOCK][j % BLOCK];
}

// True if lower × upper × (1, 1, …) is what the given matrix makes of (1, 1, …).
static int is_right(void)
{
    double upper[ORDER];
    for (int i = 0; i < ORDER; i++) {
        upper[i] = 0;
        for (int j = i; j < ORDER; j++)
            upper[i] += element(i, j);
    }
    for (int i = 0; i < ORDER; i++) {
        double got = upper[i], wanted = 0;
        for (int j = 0; j < i; j++)
            got += element(i, j) * upper[j];
        for (int j = 0; j < ORDER; j++)
            wanted += given[i][j];
        double off = got - wanted;
        if (off < -1e-9 * wanted || off > 1e-9 * wanted)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
#ifdef FIXED
    for (long rows = 1; rows * rows <= threads; rows++)
        if (threads % rows == 0)
            grid_rows = rows;
    grid_columns = threads / grid_rows;
#endif
    // Positive, and with a diagonal that outweighs its row: no row must be exchanged.
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++)
            given[i][j] = (double)(scattered((uint64_t)(i * ORDER + j)) >> 11) * 0x1p-53 + (i == j ? ORDER : 0);
    for (long round = 0; round < scale; round++) {
        for (int i = 0; i < ORDER; i++)
            for (int j = 0; j < ORDER; j++)
                blocks[i / BLOCK][j / BLOCK][i % BLOCK][j % BLOCK] = given[i][j];
        run_team(factor);
    }
    uint64_t checksum = 0;
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++)
            checksum = checksum * 31 + (uint64_t)(int64_t)(element(i, j) * 0x1p30);
    return finish("lime_lu", checksum, is_right());
}
