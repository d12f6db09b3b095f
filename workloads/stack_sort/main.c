// In kind after IS (integer sort): each thread counts its part of the keys into a histogram of its own. The keys are read once,
// in order, and take bandwidth; the histograms, which do not shrink with more threads, take cache.
#include "../stack.h"

#ifndef MILLION
#define MILLION (1L << 20)
#endif

static long keys, buckets;
static uint32_t *key;

NAMED static void count(uint32_t *histogram, long first, long end)
{
    for (long i = first; i < end; i++)
        histogram[key[i]]++;
}

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    uint32_t *histogram = (uint32_t *)own_memory(buckets * (long)sizeof *histogram);
    memset(histogram, 0, (size_t)buckets * sizeof *histogram);
    for (long round = 0; round < scale; round++)
        count(histogram, first_of(keys, me), first_of(keys, me + 1));
    for (long i = 0; i < buckets; i++)
        members[me].done += histogram[i];
    free(histogram);
    return NULL;
}

// `[threads] [scale] [millions of keys] [KiB of each histogram]`
int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 4);
    keys = argument(argc, argv, 3, 16) * MILLION;
    buckets = argument(argc, argv, 4, 16 * 1024) * 1024 / (long)sizeof(uint32_t);
    key = (uint32_t *)own_memory(keys * (long)sizeof *key);
    for (long i = 0; i < keys; i++)
        key[i] = (uint32_t)(scattered((uint64_t)i) % (uint64_t)buckets);
    run_team(member);
    return finish("stack_sort", all_done(), all_done() == (uint64_t)(keys * scale));
}
