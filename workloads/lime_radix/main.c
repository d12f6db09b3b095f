// A radix sort whose threads learn where their keys go from a tree of sums: the more bits are set in a thread's number,
// the more rows it must add (paper 2, figures 1 and 2).
#include "../lime.h"

#define KEYS 65536
#define DIGIT_BITS 10
#define DIGITS (1 << DIGIT_BITS)
#define PASSES 2
#define LEVELS 6 // of the tree: 2^6 = MOST_THREADS

static uint32_t keys[2][KEYS];
// sums[l][n][d]: keys with the digit d of the threads n << l to (n + 1 << l) - 1.
static uint32_t sums[LEVELS + 1][MOST_THREADS][DIGITS];
static uint32_t before[MOST_THREADS][DIGITS];

static uint32_t digit(uint32_t key, int pass)
{
    return key >> (pass * DIGIT_BITS) & (DIGITS - 1);
}

// Adds up pairs of nodes; every thread does its part of the digits of each node.
static void sum_level(int level, long me)
{
    long from = me * DIGITS / threads, to = (me + 1) * DIGITS / threads;
    for (int node = 0; node < MOST_THREADS >> level; node++)
        for (long d = from; d < to; d++)
            sums[level][node][d] = sums[level - 1][2 * node][d] + sums[level - 1][2 * node + 1][d];
}

#ifndef FIXED
// The keys of all threads before this one, out of the nodes that cover them.
static void sum_before(long me)
{
    for (long d = 0; d < DIGITS; d++)
        before[me][d] = 0;
    for (int level = 0; level < LEVELS; level++) {
        if ((me >> level & 1) != 0) { // PLANTED: numbers have between none and six bits set
            const uint32_t *row = sums[level][(me >> level) - 1];
            for (long d = 0; d < DIGITS; d++)
                before[me][d] += row[d];
        }
    }
}
#else
// FIX: of its part of the digits each thread computes the sums for all threads.
static void sum_before(long me)
{
    for (long d = me * DIGITS / threads; d < (me + 1) * DIGITS / threads; d++) {
        uint32_t sum = 0;
        for (long t = 0; t < threads; t++) {
            before[t][d] = sum;
            sum += sums[0][t][d];
        }
    }
}
#endif

static void *sort(void *argument)
{
    long me = (intptr_t)argument;
    long from = me * KEYS / threads, to = (me + 1) * KEYS / threads;
    for (int pass = 0; pass < PASSES; pass++) {
        const uint32_t *source = keys[pass % 2];
        uint32_t *target = keys[(pass + 1) % 2];
        for (long d = 0; d < DIGITS; d++)
            sums[0][me][d] = 0;
        for (long i = from; i < to; i++)
            sums[0][me][digit(source[i], pass)]++;
        MEET();
        for (int level = 1; level <= LEVELS; level++) {
            sum_level(level, me);
            MEET();
        }
        sum_before(me);
        MEET();
        uint32_t sum = 0;
        for (long d = 0; d < DIGITS; d++) {
            uint32_t all = sums[LEVELS][0][d];
            before[me][d] += sum;
            sum += all;
        }
        for (long i = from; i < to; i++)
            target[before[me][digit(source[i], pass)]++] = source[i];
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint64_t checksum = 0;
    int right = 1;
    for (long round = 0; round < scale; round++) {
        uint64_t given = 0, got = 0;
        for (long i = 0; i < KEYS; i++) {
            keys[0][i] = (uint32_t)scattered((uint64_t)(round * KEYS + i)) >> (32 - PASSES * DIGIT_BITS);
            given += keys[0][i];
        }
        run_team(sort);
        for (long i = 0; i < KEYS; i++) {
            right &= i == 0 || keys[PASSES % 2][i - 1] <= keys[PASSES % 2][i];
            got += keys[PASSES % 2][i];
            checksum = checksum * 31 + keys[PASSES % 2][i];
        }
        right &= given == got;
    }
    return finish("lime_radix", checksum, right);
}
