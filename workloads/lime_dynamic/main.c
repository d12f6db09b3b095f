// A sparse matrix as that of `lime_rows`, with rows dealt out while the loop runs: whoever is free takes the next one, the
// longest first, so that unequal rows make no thread wait for long. Nothing is planted.
#include "../openmp.h"

#define ROWS 4096
#define LONGEST 128
#define STEPS 6

static int begins[ROWS + 1];
static int columns[ROWS * LONGEST];
static uint64_t values[ROWS * LONGEST];
static uint64_t vector[2][ROWS];

static void multiply(const uint64_t *from, uint64_t *to)
{
#pragma omp parallel for schedule(dynamic)
    for (int row = 0; row < ROWS; row++) {
        uint64_t sum = 0;
        for (int i = begins[row]; i < begins[row + 1]; i++)
            sum += values[i] * from[columns[i]];
        to[row] = sum;
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (int row = 0; row < ROWS; row++) {
        int length = 1 + (ROWS - 1 - row) * (LONGEST - 1) / ROWS;
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
    return finish("lime_dynamic", checksum);
}
