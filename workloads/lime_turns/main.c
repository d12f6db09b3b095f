// A triangle of numbers times a vector: rows become longer, and each thread has as many rows as the others.
#include "../lime.h"

#define ROWS 1024
#define STEPS 4

static uint32_t triangle[ROWS][ROWS];
static uint32_t vector[2][ROWS];

static uint32_t row_times(const uint32_t *row, const uint32_t *by, long length)
{
    uint32_t sum = 0;
    for (long column = 0; column < length; column++) // PLANTED: the last threads' rows are longer
        sum += row[column] * by[column]; // PLANTED: the same statement
    return sum;
}

static void *multiply(void *argument)
{
    long me = (intptr_t)argument;
    for (long step = 0; step < STEPS * scale; step++) {
#ifndef FIXED
        for (long row = me * ROWS / threads; row < (me + 1) * ROWS / threads; row++)
            vector[(step + 1) % 2][row] = row_times(triangle[row], vector[step % 2], row + 1);
#else
        for (long row = me; row < ROWS; row += threads) // FIX: rows are dealt out like cards
            vector[(step + 1) % 2][row] = row_times(triangle[row], vector[step % 2], row + 1);
#endif
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    // Ones below the diagonal make of ones the numbers 1, 2, 3 …, and of those the triangular numbers.
    for (long row = 0; row < ROWS; row++) {
        vector[0][row] = 1;
        for (long column = 0; column <= row; column++)
            triangle[row][column] = 1;
    }
    run_team(multiply);
    // C(row + steps, steps), modulo 2^32, by adding up as often.
    static uint32_t wanted[ROWS];
    int right = 1;
    uint64_t checksum = 0;
    for (long row = 0; row < ROWS; row++)
        wanted[row] = 1;
    for (long step = 0; step < STEPS * scale; step++)
        for (long row = 1; row < ROWS; row++)
            wanted[row] += wanted[row - 1];
    for (long row = 0; row < ROWS; row++) {
        right &= vector[STEPS * scale % 2][row] == wanted[row];
        checksum = checksum * 31 + wanted[row];
    }
    return finish("lime_turns", checksum, right);
}
