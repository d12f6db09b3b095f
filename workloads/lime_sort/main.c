// Every thread sorts as many numbers as the others by the C library; of the first threads they are nearly sorted already,
// which takes fewer comparisons.
#include "../lime.h"

#define NUMBERS 32768
#define ROUNDS 3

static uint32_t numbers[ROUNDS][NUMBERS];

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void *sort(void *argument)
{
    long me = (intptr_t)argument;
    long from = me * NUMBERS / threads, to = (me + 1) * NUMBERS / threads;
    for (long round = 0; round < ROUNDS; round++) {
        qsort(&numbers[round][from], (size_t)(to - from), sizeof(uint32_t), compare); // PLANTED: the same number of calls
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint64_t given = 0, got = 0;
    int right = 1;
    for (long i = 0; i < ROUNDS * NUMBERS; i++) {
        long place = i % NUMBERS;
        uint64_t random = scattered((uint64_t)i);
#ifndef FIXED
        long disorder = place;
#else
        long disorder = NUMBERS / 2; // FIX: as much disorder everywhere
#endif
        // In order, but for some that go anywhere.
        uint64_t value = random % NUMBERS < (uint64_t)disorder ? random >> 32 : (uint64_t)place << 16;
        numbers[i / NUMBERS][place] = (uint32_t)value;
        given += (uint32_t)value;
    }
    run_team(sort);
    for (long i = 0; i < ROUNDS * NUMBERS; i++) {
        long t = i % NUMBERS * threads / NUMBERS;
        long first = t * NUMBERS / threads;
        const uint32_t *row = numbers[i / NUMBERS];
        right &= i % NUMBERS <= first || i % NUMBERS == (t + 1) * NUMBERS / threads ||
                 row[i % NUMBERS - 1] <= row[i % NUMBERS];
        got += row[i % NUMBERS];
    }
    return finish("lime_sort", NUMBERS, right && given == got);
}
