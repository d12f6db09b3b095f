// Writers starve the readers: two threads compute with the write lock held, and the lock prefers writers.
#define _GNU_SOURCE
#include "../work.h"

#define WRITERS 2
#define RELOADS 160
#define RELOAD_US 5000
#define PACKETS 3200
#define PACKET_US 150
#define ROUTES 64

static pthread_rwlock_t routes_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static uint64_t routes[ROUTES];
static uint64_t *results;
static long threads, scale;

#ifndef FIXED
NAMED static void reload_routes(long reload)
{
    check(pthread_rwlock_wrlock(&routes_lock), "pthread_rwlock_wrlock");
    uint64_t route = compute((uint64_t)reload + 1, RELOAD_US); // PLANTED: 5 ms with the write lock held
    routes[reload % ROUTES] += route;
    check(pthread_rwlock_unlock(&routes_lock), "pthread_rwlock_unlock");
}
#else
NAMED static void reload_routes(long reload)
{
    uint64_t route = compute((uint64_t)reload + 1, RELOAD_US); // FIX: compute before the write lock is taken
    check(pthread_rwlock_wrlock(&routes_lock), "pthread_rwlock_wrlock");
    routes[reload % ROUTES] += route;
    check(pthread_rwlock_unlock(&routes_lock), "pthread_rwlock_unlock");
}
#endif

// Whether the packet has a route. Any entry of the table will do, so the answer does not depend on the order.
NAMED static uint64_t find_route(uint64_t packet)
{
    check(pthread_rwlock_rdlock(&routes_lock), "pthread_rwlock_rdlock");
    uint64_t found = routes[packet % ROUTES] | 1;
    check(pthread_rwlock_unlock(&routes_lock), "pthread_rwlock_unlock");
    return found & 1;
}

NAMED static void *route_writer(void *argument)
{
    for (long reload = (long)(intptr_t)argument; reload < RELOADS * scale; reload += WRITERS)
        reload_routes(reload);
    return NULL;
}

NAMED static void *packet_reader(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long packet = me; packet < PACKETS * scale; packet += threads) {
        uint64_t header = compute((uint64_t)packet + 1, PACKET_US);
        results[me * 8] += header * find_route(header);
    }
    return NULL;
}

// The first argument is the number of readers; the two writers come on top.
int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
    pthread_t writers[WRITERS], readers[threads];
    for (long t = 0; t < WRITERS; t++)
        start_thread(&writers[t], route_writer, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        start_thread(&readers[t], packet_reader, (void *)(intptr_t)t);
    for (long t = 0; t < WRITERS; t++)
        join_thread(writers[t]);
    for (long t = 0; t < threads; t++)
        join_thread(readers[t]);
    uint64_t checksum = 0;
    for (int i = 0; i < ROUTES; i++)
        checksum = checksum * 31 + routes[i];
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("rwlock checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
