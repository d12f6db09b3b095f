// A thread pool with tasks so small that its workers are busy with the queue: they fight for its lock.
#include "../pool_idle/pool.h"

#define STREAMS 60
#define ITEMS 140000 // of each stream

#ifndef FIXED
#define ITEMS_OF_A_TASK 1 // PLANTED: the queue's lock is taken twice for 25 ns of work
#else
#define ITEMS_OF_A_TASK 1000 // FIX: tasks worth the way to the queue
#endif

static uint64_t sums[64][8]; // a cache line for each worker

NAMED static uint64_t count_item(long item)
{
    uint64_t x = (uint64_t)item * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < (int)ITERATIONS_PER_US / 40; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

// Does the first items of a stream and submits the rest of it again, so that all streams get on.
static void run_task(struct task task, long worker)
{
    long last = task.first + ITEMS_OF_A_TASK;
    if (last >= task.last)
        last = task.last;
    else
        pool_submit((struct task){last, task.last});
    for (long item = task.first; item < last; item++)
        sums[worker][0] += count_item(item);
}

int main(int argc, char **argv)
{
    long threads = argument(argc, argv, 1, 4);
    long items = ITEMS * argument(argc, argv, 2, 1);
    if (threads > 64)
        threads = 64;
    pool_create(STREAMS);
    for (long stream = 0; stream < STREAMS; stream++)
        pool_submit((struct task){stream * items, (stream + 1) * items});
    pool_start(threads);
    pool_finish();
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += sums[t][0];
    printf("pool_contended checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
