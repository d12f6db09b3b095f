// A pool that is too small: eight threads share two connections, which a semaphore counts.
#include "../work.h"

#include <semaphore.h>
#include <time.h>

#define QUERIES 360
#define QUERY_NS 4000000L // a query is a wait for a server, so it sleeps
#define USE_US 200

static sem_t connection_slots;
static long threads, scale;
static uint64_t *results;

NAMED static void acquire_connection(void)
{
    while (sem_wait(&connection_slots) != 0)
        check(errno == EINTR ? 0 : errno, "sem_wait");
}

NAMED static void release_connection(void)
{
    if (sem_post(&connection_slots) != 0)
        check(errno, "sem_post");
}

NAMED static void run_query(void)
{
    struct timespec duration = {0, QUERY_NS};
    check(clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL), "clock_nanosleep");
}

NAMED static void *query_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long query = me; query < QUERIES * scale; query += threads) {
        acquire_connection();
        run_query();
        release_connection();
        results[me * 8] += compute((uint64_t)query + 1, USE_US);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 8);
    scale = argument(argc, argv, 2, 1);
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
#ifndef FIXED
    unsigned connections = threads < 8 ? 1 : 2; // PLANTED: a connection for every fourth thread
#else
    unsigned connections = (unsigned)threads; // FIX: a connection for every thread
#endif
    if (sem_init(&connection_slots, 0, connections) != 0)
        check(errno, "sem_init");
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], query_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("semaphore checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
