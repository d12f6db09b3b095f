// A lock of the program's own, made of a futex, as many libraries have: every update of a shared table computes its value with it held.
#define _GNU_SOURCE
#include "../work.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_SIZE 64
#define UPDATES 480
#define UPDATE_US 2000
#define PREPARE_US 200

// 0: free, 1: taken, 2: taken, and others may wait for it (Drepper, "Futexes are tricky", 2011, mutex2).
typedef struct {
    atomic_int state;
} latch;

static latch table_latch;
static uint64_t table[TABLE_SIZE];
static long threads, scale;

NAMED static void latch_enter(latch *own)
{
    int state = 0;
    if (atomic_compare_exchange_strong(&own->state, &state, 1))
        return;
    if (state != 2)
        state = atomic_exchange(&own->state, 2);
    while (state != 0) {
        syscall(SYS_futex, &own->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        state = atomic_exchange(&own->state, 2);
    }
}

NAMED static void latch_leave(latch *own)
{
    if (atomic_exchange(&own->state, 0) == 2)
        syscall(SYS_futex, &own->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#ifndef FIXED
NAMED static void update_table(long update, uint64_t input)
{
    latch_enter(&table_latch);
    uint64_t value = compute(input, UPDATE_US); // PLANTED: 2 ms of computing with table_latch held
    table[update % TABLE_SIZE] += value;
    latch_leave(&table_latch);
}
#else
NAMED static void update_table(long update, uint64_t input)
{
    uint64_t value = compute(input, UPDATE_US); // FIX: compute first, hold table_latch for the addition alone
    latch_enter(&table_latch);
    table[update % TABLE_SIZE] += value;
    latch_leave(&table_latch);
}
#endif

static void *table_worker(void *argument)
{
    long first = (long)(intptr_t)argument;
    for (long update = first; update < UPDATES * scale; update += threads)
        update_table(update, compute((uint64_t)update + 1, PREPARE_US));
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], table_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    uint64_t checksum = 0;
    for (int i = 0; i < TABLE_SIZE; i++)
        checksum = checksum * 31 + table[i];
    printf("own_lock checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
