// A table with a lock for each of its buckets, most of which are never used: all keys fall into a few.
#include "../work.h"

#define BUCKETS 64
#define UPDATES 1000
#define UPDATE_US 1000
#define BLOCK 16

static struct bucket {
    pthread_mutex_t lock;
    uint64_t sum;
} table[BUCKETS];
static long threads, scale;

// Keys are addresses of blocks, as those that a program keeps things by often are.
static uint64_t key_of(long update)
{
    uint64_t mixed = ((uint64_t)update + 1) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return (mixed >> 40) * BLOCK;
}

NAMED static struct bucket *bucket_of(uint64_t key)
{
#ifndef FIXED
    return &table[key % BUCKETS]; // PLANTED: all keys are multiples of 16, so that 4 buckets of 64 have them all
#else
    return &table[key / BLOCK % BUCKETS]; // FIX: without what all keys have in common
#endif
}

NAMED static void update_bucket(struct bucket *bucket, uint64_t input)
{
    check(pthread_mutex_lock(&bucket->lock), "pthread_mutex_lock");
    bucket->sum += compute(input, UPDATE_US);
    check(pthread_mutex_unlock(&bucket->lock), "pthread_mutex_unlock");
}

static void *table_worker(void *argument)
{
    long first = (long)(intptr_t)argument, updates = UPDATES * scale;
    for (long update = first; update < updates; update += threads)
        update_bucket(bucket_of(key_of(update)), (uint64_t)update + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 1);
    for (int i = 0; i < BUCKETS; i++)
        check(pthread_mutex_init(&table[i].lock, NULL), "pthread_mutex_init");
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], table_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    // Which bucket has what is not the same in both forms; all of it is.
    uint64_t checksum = 0;
    for (int i = 0; i < BUCKETS; i++)
        checksum += table[i].sum;
    printf("lock_array checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
