// A thread pool without enough work: main computes before each task that it submits, and the workers wait for it.
#include "pool.h"

#define ITEMS 560
#define PREPARE_US 1500
#define RENDER_US 700

static uint64_t sums[64][8]; // a cache line for each worker

NAMED static uint64_t prepare_item(long item)
{
    return compute((uint64_t)item + 1, PREPARE_US);
}

NAMED static uint64_t render_item(uint64_t prepared)
{
    return compute(prepared, RENDER_US);
}

#ifndef FIXED
static uint64_t *prepared;

static void run_task(struct task task, long worker)
{
    for (long item = task.first; item < task.last; item++)
        sums[worker][0] += render_item(prepared[item]);
}

NAMED static void submit_all(long items)
{
    for (long item = 0; item < items; item++) {
        prepared[item] = prepare_item(item); // PLANTED: main alone computes what each task needs
        pool_submit((struct task){item, item + 1});
    }
}
#else
static void run_task(struct task task, long worker)
{
    for (long item = task.first; item < task.last; item++)
        sums[worker][0] += render_item(prepare_item(item)); // FIX: a task begins with its own preparation
}

NAMED static void submit_all(long items)
{
    for (long item = 0; item < items; item++)
        pool_submit((struct task){item, item + 1});
}
#endif

int main(int argc, char **argv)
{
    long threads = argument(argc, argv, 1, 4);
    long items = ITEMS * argument(argc, argv, 2, 1);
    if (threads > 64)
        threads = 64;
#ifndef FIXED
    prepared = calloc((size_t)items, sizeof *prepared);
    if (prepared == NULL)
        abort();
#endif
    pool_create(items);
    pool_start(threads);
    submit_all(items);
    pool_finish();
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += sums[t][0];
    printf("pool_idle checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
