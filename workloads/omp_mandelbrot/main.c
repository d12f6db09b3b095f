// The Mandelbrot set with blocks of rows dealt out in advance: rows of the set itself cost hundreds of times what those
// beside it do, and they are all in one block (paper 5, section 5.2).
#include "../openmp.h"

#define WIDTH 480
#define HEIGHT 600
#define FRAMES 2
#define LIMIT 1500

// The view goes from above the set to its middle: the last rows are the expensive ones.
#define LEFT -2.0
#define RIGHT 0.6
#define TOP 1.6
#define BOTTOM 0.0

static int picture[HEIGHT][WIDTH];

NAMED static int escape_time(double real, double imaginary)
{
    double x = 0, y = 0;
    int n = 0;
    for (; n < LIMIT && x * x + y * y <= 4.0; n++) {
        double next = x * x - y * y + real;
        y = 2 * x * y + imaginary;
        x = next;
    }
    return n;
}

NAMED static void render(int frame)
{
    double zoom = 1.0 - 0.02 * frame;
#ifndef FIXED
#pragma omp parallel for schedule(static) // PLANTED: equal blocks of unequal rows
#else
#pragma omp parallel for schedule(dynamic) // FIX: a row to whoever is free
#endif
    for (int row = 0; row < HEIGHT; row++) {
        double imaginary = (TOP + (BOTTOM - TOP) * row / HEIGHT) * zoom;
        for (int column = 0; column < WIDTH; column++) {
            double real = (LEFT + (RIGHT - LEFT) * column / WIDTH) * zoom;
            picture[row][column] = escape_time(real, imaginary);
        }
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    uint64_t checksum = 0;
    for (int frame = 0; frame < FRAMES * scale; frame++) {
        render(frame);
        for (int row = 0; row < HEIGHT; row++)
            for (int column = 0; column < WIDTH; column++)
                checksum += (uint64_t)picture[row][column] * (uint64_t)(row + 1);
    }
    return finish("omp_mandelbrot", checksum);
}
