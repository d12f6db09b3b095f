// Three outer iterations: two threads take two and one, and no schedule can do better.
#include "../openmp.h"

#define CHANNELS 3
#define ROWS 64
#define FRAMES 10
#define ROW_US 400

static uint64_t result[CHANNELS][ROWS];

NAMED static void blur_row(long frame, int channel, int row)
{
    result[channel][row] += compute((uint64_t)(frame * 100003 + channel * 1009 + row), ROW_US);
}

NAMED static void blur_frame(long frame)
{
#ifndef FIXED
#pragma omp parallel for schedule(dynamic) // PLANTED: fewer iterations than threads can share
#else
#pragma omp parallel for collapse(2) schedule(dynamic) // FIX: all rows of all channels
#endif
    for (int channel = 0; channel < CHANNELS; channel++)
        for (int row = 0; row < ROWS; row++)
            blur_row(frame, channel, row);
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (long frame = 0; frame < FRAMES * scale; frame++)
        blur_frame(frame);
    uint64_t checksum = 0;
    for (int channel = 0; channel < CHANNELS; channel++)
        for (int row = 0; row < ROWS; row++)
            checksum += result[channel][row] * (uint64_t)(channel + 1);
    return finish("omp_collapse", checksum);
}
