/* Touches memory in all the ways that a cache can tell apart: in rows and in columns, by pointers, across lines, reading and
 * writing in one instruction, in strings, deep down the stack; and executes code that is spread over many lines. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 48, NODES = 700, BYTES = 6000 };

static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];
static unsigned char bytes[BYTES + 8];

struct node {
    struct node *next;
    uint64_t value;
};

static void multiply(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += left[row][k] * right[k][column];
            product[row][column] = sum;
        }
}

static uint64_t walk(void)
{
    struct node *nodes = malloc(NODES * sizeof *nodes);
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct node){&nodes[(i * 313 + 7) % NODES], (uint64_t)i};
    uint64_t sum = 0;
    const struct node *at = nodes;
    for (int step = 0; step < 8 * NODES; step++, at = at->next)
        sum += at->value;
    free(nodes);
    return sum;
}

/* Words at every distance from a line's end. */
static uint64_t straddle(void)
{
    uint64_t sum = 0;
    for (int at = 0; at < BYTES; at += 5) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        sum += word;
        word ^= sum;
        memcpy(bytes + at, &word, sizeof word);
    }
    return sum;
}

static uint64_t in_place(void)
{
    static volatile uint64_t counters[600];
    static uint64_t shared;
    for (int i = 0; i < 6000; i++) {
        counters[i * 37 % 600] += (uint64_t)i;
        __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
    }
    return counters[5] + shared;
}

static uint64_t strings(void)
{
    static char text[5000], copy[5000];
    memset(text, 'a', sizeof text - 1);
    memcpy(copy, text, sizeof text);
    return strlen(copy) + (uint64_t)memcmp(copy, text, sizeof text);
}

static uint64_t recurse(uint64_t depth)
{
    volatile uint64_t local[12];
    local[depth % 12] = depth;
    return depth == 0 ? 0 : recurse(depth - 1) + local[depth % 12];
}

int main(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            left[row][column] = right[column][row] = row + column;
    uint64_t sum = 0;
    for (int round = 0; round < 2; round++) {
        multiply();
        sum += walk() + straddle() + in_place() + strings() + recurse(300);
    }
    printf("%.3f %llu\n", product[3][5], (unsigned long long)sum);
    return 0;
}
