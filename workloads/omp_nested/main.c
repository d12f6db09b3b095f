// Nested regions: each thread of a team makes a team of its own for a little work, so that there are more threads than
// cores, and more making of teams than work.
#include "../openmp.h"

#define BLOCKS 16
#define ROUNDS 120
#define PIECES 8
#define PIECE_US 20

static uint64_t result[BLOCKS][PIECES];

NAMED static void solve_block(long round, int block)
{
#ifndef FIXED
#pragma omp parallel for schedule(static) // PLANTED: a team for each block
#endif
    for (int piece = 0; piece < PIECES; piece++) // FIX: the outer team is enough
        result[block][piece] += compute((uint64_t)(round * 100003 + block * 1009 + piece), PIECE_US);
}

NAMED static void solve_all(long round)
{
#pragma omp parallel for schedule(static)
    for (int block = 0; block < BLOCKS; block++)
        solve_block(round, block);
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    omp_set_max_active_levels(2);
    for (long round = 0; round < ROUNDS * scale; round++)
        solve_all(round);
    uint64_t checksum = 0;
    for (int block = 0; block < BLOCKS; block++)
        for (int piece = 0; piece < PIECES; piece++)
            checksum += result[block][piece] * (uint64_t)(block + 1);
    return finish("omp_nested", checksum);
}
