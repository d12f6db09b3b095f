// A serial part inside a region: one thread prepares each frame, and the others wait for it.
#include "../openmp.h"

#define FRAMES 20
#define PIECES 48
#define PREPARE_US 300
#define FILTER_US 500

static uint64_t prepared[PIECES], filtered[PIECES];

NAMED static void prepare_piece(long frame, int piece)
{
    prepared[piece] = compute((uint64_t)(frame * 1009 + piece), PREPARE_US);
}

NAMED static void filter_piece(int piece)
{
    filtered[piece] += compute(prepared[piece], FILTER_US);
}

NAMED static void run_frames(long frames)
{
#pragma omp parallel
    for (long frame = 0; frame < frames; frame++) {
#ifndef FIXED
#pragma omp single
        for (int piece = 0; piece < PIECES; piece++) // PLANTED: one thread for all of it
            prepare_piece(frame, piece);
#else
#pragma omp for schedule(static) // FIX: all threads prepare
        for (int piece = 0; piece < PIECES; piece++)
            prepare_piece(frame, piece);
#endif
#pragma omp for schedule(static)
        for (int piece = 0; piece < PIECES; piece++)
            filter_piece(piece);
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    run_frames(FRAMES * scale);
    uint64_t checksum = 0;
    for (int piece = 0; piece < PIECES; piece++)
        checksum += filtered[piece];
    return finish("omp_serial", checksum);
}
