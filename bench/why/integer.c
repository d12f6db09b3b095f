/* Integer work, the same in each thread: a radix sort of numbers and a hash table that they are put into.
 *
 * Prints kernel_ns, from the start of the threads to their end. Arguments: threads, rounds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../work.h"

enum { NUMBERS = 1 << 16, DIGITS = 1 << 8, SLOTS = 1 << 18 };

static long rounds;

struct work_space {
    uint32_t numbers[2][NUMBERS];
    uint32_t table[SLOTS];
    uint64_t sum;
};

static void sort(struct work_space *space)
{
    for (int pass = 0; pass < 4; pass++) {
        const uint32_t *from = space->numbers[pass % 2];
        uint32_t *to = space->numbers[(pass + 1) % 2];
        uint32_t starts[DIGITS] = {0}, sum = 0;
        for (int i = 0; i < NUMBERS; i++)
            starts[from[i] >> (8 * pass) & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            uint32_t count = starts[digit];
            starts[digit] = sum;
            sum += count;
        }
        for (int i = 0; i < NUMBERS; i++)
            to[starts[from[i] >> (8 * pass) & (DIGITS - 1)]++] = from[i];
    }
}

/* Open addressing; gives how many numbers met their like. */
static uint64_t insert(struct work_space *space)
{
    uint64_t doubles = 0;
    memset(space->table, 0, sizeof space->table);
    for (int i = 0; i < NUMBERS; i++) {
        uint32_t number = space->numbers[0][i] | 1;
        uint32_t slot = number * 0x9E3779B1u >> 14;
        while (space->table[slot] != 0 && space->table[slot] != number)
            slot = (slot + 1) % SLOTS;
        doubles += space->table[slot] == number;
        space->table[slot] = number;
    }
    return doubles;
}

static void *run(void *argument)
{
    struct work_space *space = argument;
    uint64_t state = 88172645463325252u;
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < NUMBERS; i++)
            space->numbers[0][i] = (uint32_t)(state = work(state, 1));
        sort(space);
        space->sum += insert(space) + space->numbers[0][NUMBERS / 2];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 1;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    struct work_space *spaces = calloc((size_t)threads, sizeof *spaces);
    pthread_t *team = calloc((size_t)threads, sizeof *team);
    if (spaces == NULL || team == NULL)
        return 1;
    double begin = now_ns();
    for (long t = 0; t < threads; t++)
        if (pthread_create(&team[t], NULL, run, &spaces[t]) != 0)
            return 1;
    uint64_t sum = 0;
    for (long t = 0; t < threads; t++) {
        pthread_join(team[t], NULL);
        sum += spaces[t].sum;
    }
    printf("kernel_ns %.0f\nsum %llu\n", now_ns() - begin, (unsigned long long)sum);
    return 0;
}
