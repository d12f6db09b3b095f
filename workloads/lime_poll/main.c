// The first thread reads a table for all; the others look at a flag until it is there, and then all do as much as each
// other. Looking at the flag takes far more instructions than reading the table, and is no work.
#include "../lime.h"

#include <stdatomic.h>

#define TABLE 4096
#define LOOKS 20000
#define ROUNDS 3

static uint64_t table[TABLE];
static uint64_t sums[MOST_THREADS];

#ifdef PAUSE
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() ((void)0)
#endif

static void read_part(long from, long to, long round)
{
    for (long i = from; i < to; i++) {
        uint64_t value = scattered((uint64_t)(round * TABLE + i));
        for (int j = 0; j < 24; j++)
            value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9u;
        table[i] = value;
    }
}

#ifndef FIXED
static atomic_long tables_read;

static void wait_for_table(long round)
{
    while (atomic_load_explicit(&tables_read, memory_order_acquire) <= round) // WAITS
        RELAX(); // WAITS
}
#endif

static void *look_up(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
#ifndef FIXED
        if (me == 0) { // PLANTED: one thread reads all of the table
            read_part(0, TABLE, round);
            atomic_store_explicit(&tables_read, round + 1, memory_order_release);
        }
        wait_for_table(round);
#else
        read_part(me * TABLE / threads, (me + 1) * TABLE / threads, round); // FIX: each reads a part
        MEET();
#endif
        uint64_t sum = 0;
        for (long i = 0; i < LOOKS; i++)
            sum += table[(uint64_t)(i * 31 + me) % TABLE];
        sums[me] = sum;
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_team(look_up);
    uint64_t got[MOST_THREADS], checksum = 0;
    memcpy(got, sums, sizeof got);
    int right = 1;
    read_part(0, TABLE, ROUNDS * scale - 1);
    for (long t = 0; t < threads; t++) {
        uint64_t sum = 0;
        for (long i = 0; i < LOOKS; i++)
            sum += table[(uint64_t)(i * 31 + t) % TABLE];
        right &= got[t] == sum;
    }
    for (long i = 0; i < TABLE; i++)
        checksum = checksum * 31 + table[i];
    return finish("lime_poll", checksum, right);
}
