// A lock chain: threads wait for outer_lock, its holder for inner_lock, whose holder does the long work.
#include "../work.h"

#define INDEXERS 2
#define REBUILDS 120
#define REBUILD_US 7000
#define LOOKUPS 3000
#define LOOKUP_US 20
#define GAP_US 150 // outside both locks

static pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER; // of the catalogue: taken first
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER; // of the index: taken inside, or alone
static uint64_t catalogue, index_state;
static long threads, scale;

#ifndef FIXED
NAMED static void rebuild_index(uint64_t changes)
{
    check(pthread_mutex_lock(&inner_lock), "pthread_mutex_lock");
    index_state += compute(changes, REBUILD_US); // PLANTED: 7 ms with inner_lock held
    check(pthread_mutex_unlock(&inner_lock), "pthread_mutex_unlock");
}
#else
NAMED static void rebuild_index(uint64_t changes)
{
    uint64_t value = compute(changes, REBUILD_US); // FIX: compute before inner_lock is taken
    check(pthread_mutex_lock(&inner_lock), "pthread_mutex_lock");
    index_state += value;
    check(pthread_mutex_unlock(&inner_lock), "pthread_mutex_unlock");
}
#endif

NAMED static uint64_t read_index(uint64_t key)
{
    check(pthread_mutex_lock(&inner_lock), "pthread_mutex_lock");
    uint64_t value = compute(key, LOOKUP_US);
    check(pthread_mutex_unlock(&inner_lock), "pthread_mutex_unlock");
    return value;
}

NAMED static void look_up(uint64_t key)
{
    check(pthread_mutex_lock(&outer_lock), "pthread_mutex_lock");
    catalogue += read_index(key); // waits for inner_lock with outer_lock held
    check(pthread_mutex_unlock(&outer_lock), "pthread_mutex_unlock");
}

NAMED static void *index_worker(void *argument)
{
    for (long rebuild = (long)(intptr_t)argument; rebuild < REBUILDS * scale; rebuild += INDEXERS)
        rebuild_index(compute((uint64_t)rebuild + 1, GAP_US));
    return NULL;
}

NAMED static void *lookup_worker(void *argument)
{
    for (long lookup = (long)(intptr_t)argument; lookup < LOOKUPS * scale; lookup += threads)
        look_up(compute((uint64_t)lookup + 1, GAP_US));
    return NULL;
}

// The first argument is the number of threads that look up; the two that rebuild the index come on top.
int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pthread_t indexers[INDEXERS], workers[threads];
    for (long t = 0; t < INDEXERS; t++)
        start_thread(&indexers[t], index_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], lookup_worker, (void *)(intptr_t)t);
    for (long t = 0; t < INDEXERS; t++)
        join_thread(indexers[t]);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    printf("lock_chain checksum %016llx\n", (unsigned long long)(catalogue * 31 + index_state));
    return 0;
}
