// Sections of unequal length: one of three has most of the work.
#include "../openmp.h"

#define FRAMES 12
#define PIECE_US 500
#define SHORT_PIECES 12
#define LONG_PIECES 64

static uint64_t sound, text, image[2];

NAMED static uint64_t decode(long frame, int stream, int first, int end)
{
    uint64_t sum = 0;
    for (int piece = first; piece < end; piece++)
        sum += compute((uint64_t)(frame * 100003 + stream * 1009 + piece), PIECE_US);
    return sum;
}

NAMED static void decode_sound(long frame) { sound += decode(frame, 0, 0, SHORT_PIECES); }

NAMED static void decode_text(long frame) { text += decode(frame, 1, 0, SHORT_PIECES); }

NAMED static void decode_image(long frame, int part, int first, int end)
{
    image[part] += decode(frame, 2, first, end);
}

NAMED static void decode_frame(long frame)
{
#pragma omp parallel sections
    {
#ifndef FIXED
#pragma omp section
        decode_image(frame, 0, 0, LONG_PIECES); // PLANTED: three quarters of the work
#else
#pragma omp section
        decode_image(frame, 0, 0, LONG_PIECES / 2); // FIX: two sections for it
#pragma omp section
        decode_image(frame, 1, LONG_PIECES / 2, LONG_PIECES);
#endif
#pragma omp section
        decode_sound(frame);
#pragma omp section
        decode_text(frame);
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (long frame = 0; frame < FRAMES * scale; frame++)
        decode_frame(frame);
    return finish("omp_sections", sound + text * 3 + (image[0] + image[1]) * 5);
}
