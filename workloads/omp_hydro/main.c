// A step of a hydrodynamics code with several materials: cells of the second half are mixed and need more passes over
// memory than the others. The loop is both imbalanced and bound by memory: with all threads at work at once each of them
// is slower, so that balance gives less than it promises (paper 5, section 5.2, HydroMM at 32 threads).
#include "../openmp.h"

#define CELLS (3L << 20)
#define BLOCK 8192L
#define BLOCKS (CELLS / BLOCK)
#define STEPS 40
#define MIXED_MATERIALS 4

// Together far more than a cache holds.
static uint64_t density[MIXED_MATERIALS][CELLS];
static uint64_t energy[CELLS];

NAMED static void mix_block(long block, int materials)
{
    long end = (block + 1) * BLOCK;
    for (int material = 0; material < materials; material++)
        for (long cell = block * BLOCK; cell < end; cell++) {
            density[material][cell] += energy[cell] >> 3;
        }
}

NAMED static void advance(void)
{
#ifndef FIXED
#pragma omp parallel for schedule(static) // PLANTED: one half of the blocks costs four times the other
#else
#pragma omp parallel for schedule(dynamic, 4) // FIX: blocks to whoever is free
#endif
    for (long block = 0; block < BLOCKS; block++)
        mix_block(block, block < BLOCKS / 2 ? 1 : MIXED_MATERIALS);
}

NAMED static void set_up(void)
{
#pragma omp parallel for schedule(static)
    for (long cell = 0; cell < CELLS; cell++) {
        energy[cell] = (uint64_t)cell * 2654435761u;
        for (int material = 0; material < MIXED_MATERIALS; material++)
            density[material][cell] = (uint64_t)(cell + material);
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    set_up();
    for (long step = 0; step < STEPS * scale; step++)
        advance();
    uint64_t checksum = 0;
#pragma omp parallel for reduction(+ : checksum)
    for (long cell = 0; cell < CELLS; cell++)
        for (int material = 0; material < MIXED_MATERIALS; material++)
            checksum += density[material][cell] * (uint64_t)(cell % 1009 + 1);
    return finish("omp_hydro", checksum);
}
