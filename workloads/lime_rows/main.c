// A sparse matrix times a vector in an OpenMP loop with blocks of rows dealt out in advance: the last rows are the
// longest.
#include "../openmp.h"

#define ROWS 1024
#define LONGEST 128
#define STEPS 6

static int begins[ROWS + 1];
static int columns[ROWS * LONGEST];
static uint64_t values[ROWS * LONGEST];
static uint64_t vector[2][ROWS];

static void multiply(const uint64_t *from, uint64_t *to)
{
#ifndef FIXED
#pragma omp parallel for schedule(static)
#else
#pragma omp parallel for schedule(static, 1) // FIX: rows are dealt out like cards
#endif
    for (int row = 0; row < ROWS; row++) {
        uint64_t sum = 0;
        for (int i = begins[row]; i < begins[row + 1]; i++) // PLANTED: rows are not equally long
            sum += values[i] * from[columns[i]]; // PLANTED: the same statement
        to[row] = sum;
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (int row = 0; row < ROWS; row++) {
        int length = 1 + row * (LONGEST - 1) / ROWS;
        begins[row + 1] = begins[row] + length;
        for (int i = 0; i < length; i++) {
            columns[begins[row] + i] = (row + i * 37) % ROWS;
            values[begins[row] + i] = (uint64_t)(row * 31 + i);
        }
        vector[0][row] = (uint64_t)row + 1;
    }
    for (long step = 0; step < STEPS * scale; step++)
        multiply(vector[step % 2], vector[(step + 1) % 2]);
    uint64_t checksum = 0;
    for (int row = 0; row < ROWS; row++)
        checksum = checksum * 31 + vector[STEPS * scale % 2][row];
    return finish("lime_rows", checksum);
}
