// Very many tiny regions: the inner loop is parallel, for each row anew.
#include "../openmp.h"

#define ROWS 1000
#define COLUMNS 400
#define SWEEPS 100

static uint32_t grid[ROWS][COLUMNS];

NAMED static uint32_t smooth_cell(uint32_t cell, uint32_t sweep)
{
    return (cell ^ (cell >> 7)) * 2654435761u + sweep;
}

NAMED static void sweep_grid(uint32_t sweep)
{
#ifndef FIXED
    for (int row = 0; row < ROWS; row++) {
#pragma omp parallel for schedule(static) // PLANTED: a region for half a microsecond of work
        for (int column = 0; column < COLUMNS; column++)
            grid[row][column] = smooth_cell(grid[row][column], sweep);
    }
#else
#pragma omp parallel for schedule(static) // FIX: one region for all rows
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++)
            grid[row][column] = smooth_cell(grid[row][column], sweep);
    }
#endif
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (uint32_t sweep = 0; sweep < SWEEPS * scale; sweep++)
        sweep_grid(sweep);
    uint64_t checksum = 0;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            checksum += grid[row][column] * (uint64_t)(row + 1);
    return finish("omp_tiny", checksum);
}
