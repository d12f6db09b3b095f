// Chunks of one iteration each, whose work is shorter than dealing it out takes.
#include "../openmp.h"

#define RAYS 600000
#define SWEEPS 8

NAMED static uint32_t trace_ray(uint32_t ray, uint32_t sweep)
{
    uint32_t value = ray * 2654435761u + sweep;
    for (uint32_t step = 0; step < 100 + (ray & 15); step++)
        value = (value ^ (value >> 13)) * 2246822519u;
    return value;
}

NAMED static uint64_t trace_all(uint32_t sweep)
{
    uint64_t brightness = 0;
#ifndef FIXED
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : brightness) // PLANTED: one ray at a time
#else
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : brightness) // FIX: many at a time
#endif
    for (int ray = 0; ray < RAYS; ray++)
        brightness += trace_ray((uint32_t)ray, sweep);
    return brightness;
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    uint64_t checksum = 0;
    for (uint32_t sweep = 0; sweep < SWEEPS * scale; sweep++)
        checksum += trace_all(sweep);
    return finish("omp_chunks", checksum);
}
