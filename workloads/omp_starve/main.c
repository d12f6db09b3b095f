// Too few tasks: a frame is cut into three, so that with two threads one has nothing to do half of the time.
#include "../openmp.h"

#define FRAMES 16
#define PIECES 96
#define PIECE_US 500
#ifndef FIXED
#define TASKS 3 // PLANTED: hardly more tasks than threads
#else
#define TASKS 48 // FIX: many times as many
#endif

static uint64_t result[PIECES];

NAMED static void filter_pieces(long frame, int first, int end)
{
    for (int piece = first; piece < end; piece++)
        result[piece] += compute((uint64_t)(frame * 1009 + piece), PIECE_US);
}

NAMED static void filter_frame(long frame)
{
#pragma omp parallel
#pragma omp single
    for (int task = 0; task < TASKS; task++) {
#pragma omp task
        filter_pieces(frame, PIECES * task / TASKS, PIECES * (task + 1) / TASKS);
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (long frame = 0; frame < FRAMES * scale; frame++)
        filter_frame(frame);
    uint64_t checksum = 0;
    for (int piece = 0; piece < PIECES; piece++)
        checksum += result[piece];
    return finish("omp_starve", checksum);
}
