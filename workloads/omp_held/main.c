// Tasks that name what all of them write: they are done one after another, though each works on a tile of its own.
#include "../openmp.h"

#define STEPS 12
#define TILES 16
#define UPDATE_US 1500

static uint64_t tiles[TILES];
static uint64_t scratch[TILES];

NAMED static void update_tile(long step, int tile, uint64_t *own)
{
    *own = compute((uint64_t)(step * 131 + tile), UPDATE_US);
    tiles[tile] += *own;
}

NAMED static void update_all(long steps)
{
#pragma omp parallel
#pragma omp single
    for (long step = 0; step < steps; step++)
        for (int tile = 0; tile < TILES; tile++) {
#ifndef FIXED
            uint64_t *own = &scratch[0]; // PLANTED: one for all
#else
            uint64_t *own = &scratch[tile]; // FIX: one for each
#endif
#pragma omp task depend(inout : own[0], tiles[tile]) firstprivate(step, tile, own)
            update_tile(step, tile, own);
        }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    update_all(STEPS * scale);
    uint64_t checksum = 0;
    for (int tile = 0; tile < TILES; tile++)
        checksum += tiles[tile];
    return finish("omp_held", checksum);
}
