// Frames drawn by rays through a volume, the same number for each thread; the first thread also packs the frame before
// (paper 2, section 5.5.2).
#include "../lime.h"

#define SIDE 64 // rows and columns of a frame
#define DEPTH 32
#define FRAMES 6
#define ROOT 0

static uint8_t volume[DEPTH][SIDE][SIDE];
static uint32_t frames[2][SIDE][SIDE];
static uint64_t packed[SIDE];

static uint32_t cast_ray(long row, long column, long frame)
{
    uint32_t light = 1u << 16, seen = 0;
    for (long depth = 0; depth < DEPTH; depth++) {
        uint32_t density = volume[depth][(row + depth * frame / 4) % SIDE][column];
        seen += light * density >> 8;
        light -= light * density >> 10;
    }
    return seen;
}

static void draw_row(long row, long frame)
{
    for (long column = 0; column < SIDE; column++)
        frames[frame % 2][row][column] = cast_ray(row, column, frame);
}

// A row with its neighbours' differences, as bits.
static void pack_row(long row, long frame)
{
    uint64_t sum = packed[row];
    uint32_t last = 0;
    for (long column = 0; column < SIDE; column++) {
        uint32_t difference = frames[frame % 2][row][column] ^ last;
        last = frames[frame % 2][row][column];
        for (int bit = 0; bit < 8; bit++)
            sum = (sum << 1 | sum >> 63) ^ (difference >> (2 * bit));
    }
    packed[row] = sum;
}

static void *draw(void *argument)
{
    long me = (intptr_t)argument;
    long from = me * SIDE / threads, to = (me + 1) * SIDE / threads;
    for (long frame = 1; frame <= FRAMES * scale; frame++) {
        for (long row = from; row < to; row++)
            draw_row(row, frame);
#ifndef FIXED
        if (me == ROOT) { // PLANTED: the others wait while the first thread packs a frame
            for (long row = 0; row < SIDE; row++)
                pack_row(row, frame - 1);
        }
#else
        for (long row = from; row < to; row++) // FIX: each packs its rows
            pack_row(row, frame - 1);
#endif
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long i = 0; i < DEPTH * SIDE * SIDE; i++)
        volume[i / (SIDE * SIDE)][i / SIDE % SIDE][i % SIDE] = (uint8_t)(scattered((uint64_t)i) >> 58);
    run_team(draw);
    // Light that is lost cannot be seen again: no pixel is brighter than a volume that is solid.
    int right = 1;
    uint64_t checksum = 0;
    for (long row = 0; row < SIDE; row++) {
        checksum = checksum * 31 + packed[row];
        for (long column = 0; column < SIDE; column++) {
            uint32_t pixel = frames[FRAMES * scale % 2][row][column];
            right &= pixel > 0 && pixel < DEPTH << 14;
            checksum = checksum * 31 + pixel;
        }
    }
    return finish("lime_root", checksum, right);
}
