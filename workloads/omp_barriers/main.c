// Needless barriers: each step has two loops that do not depend on each other. The first is heavy at its beginning, the
// second at its end, so that the threads would even out if they did not wait in between.
#include "../openmp.h"

#define STEPS 25
#define CELLS 96
#define HEAVY_US 400
#define LIGHT_US 80

static uint64_t pressure[CELLS], flow[CELLS];

NAMED static void push_cell(int cell, long step)
{
    pressure[cell] += compute((uint64_t)(step * 1009 + cell), cell < CELLS / 2 ? HEAVY_US : LIGHT_US);
}

NAMED static void move_cell(int cell, long step)
{
    flow[cell] += compute((uint64_t)(step * 2003 + cell), cell < CELLS / 2 ? LIGHT_US : HEAVY_US);
}

NAMED static void run_steps(long steps)
{
#pragma omp parallel
    for (long step = 0; step < steps; step++) {
#ifndef FIXED
#pragma omp for schedule(static) // PLANTED: waits for a loop that the next does not need
#else
#pragma omp for schedule(static) nowait // FIX: goes on at once
#endif
        for (int cell = 0; cell < CELLS; cell++)
            push_cell(cell, step);
#pragma omp for schedule(static)
        for (int cell = 0; cell < CELLS; cell++)
            move_cell(cell, step);
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    run_steps(STEPS * scale);
    uint64_t checksum = 0;
    for (int cell = 0; cell < CELLS; cell++)
        checksum += pressure[cell] * 3 + flow[cell];
    return finish("omp_barriers", checksum);
}
