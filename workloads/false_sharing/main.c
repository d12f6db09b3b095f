// Threads sort the records of a log into classes and count each class: a row of counters for each thread, one behind the other.
#include "../work.h"

#include <stdalign.h>

#define RECORDS 4096
#define ROUNDS 90000
#define CLASSES 4
#define MOST_THREADS 64

#ifndef FIXED
struct row { // PLANTED: the rows of two threads are in one cache line
    uint64_t counts[CLASSES];
};
#else
struct row { // FIXED: each row has cache lines of its own
    alignas(128) uint64_t counts[CLASSES];
};
#endif

static alignas(128) struct row rows[MOST_THREADS];
static uint32_t records[RECORDS];
static long threads, scale;

NAMED static void count_records(struct row *row, long rounds)
{
    for (long round = 0; round < rounds; round++)
        for (long i = 0; i < RECORDS; i++)
            row->counts[records[i] % CLASSES]++;
}

static void *counter(void *argument)
{
    count_records(&rows[(intptr_t)argument], ROUNDS * scale);
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 1);
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    uint64_t seed = 1;
    for (long i = 0; i < RECORDS; i++) {
        seed = compute(seed, 0) * 6364136223846793005u + 1442695040888963407u;
        records[i] = (uint32_t)(seed >> 40);
    }
    pthread_t others[MOST_THREADS];
    for (long i = 1; i < threads; i++)
        check(pthread_create(&others[i], NULL, counter, (void *)(intptr_t)i), "pthread_create");
    counter(NULL);
    for (long i = 1; i < threads; i++)
        check(pthread_join(others[i], NULL), "pthread_join");
    for (long class = 0; class < CLASSES; class++) {
        uint64_t sum = 0;
        for (long i = 0; i < threads; i++)
            sum += rows[i].counts[class];
        printf("class %ld: %llu\n", class, (unsigned long long)sum);
    }
    return 0;
}
