// More compute threads than cores, which meet at a barrier after each short round: three threads on two cores
// need two turns for a round, and in the second turn one core has nothing to do.
#define _GNU_SOURCE
#include "../work.h"

#include <sched.h>

#define ROUNDS 900
#define PIECES 240 // of each round, dealt out in equal blocks
#define PIECE_US 8

static pthread_barrier_t round_barrier;
static long threads, scale;
static uint64_t *results;

static long usable_cores(void)
{
    cpu_set_t cores;
    check(sched_getaffinity(0, sizeof cores, &cores) == 0 ? 0 : errno, "sched_getaffinity");
    return CPU_COUNT(&cores);
}

NAMED static uint64_t do_round(long me, long round)
{
    uint64_t sum = 0;
    for (long piece = PIECES * me / threads; piece < PIECES * (me + 1) / threads; piece++)
        sum += compute((uint64_t)(round * PIECES + piece + 1), PIECE_US);
    return sum;
}

NAMED static void wait_for_round(void)
{
    int result = pthread_barrier_wait(&round_barrier);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD)
        check(result, "pthread_barrier_wait");
}

NAMED static void *crowd_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        results[me * 8] += do_round(me, round);
        wait_for_round();
    }
    return NULL;
}

int main(int argc, char **argv)
{
#ifndef FIXED
    long cores = usable_cores();
    threads = argument(argc, argv, 1, cores + (cores + 1) / 2); // PLANTED: three threads for every two cores
#else
    threads = usable_cores(); // FIX: one thread for each core, whatever the first argument says
#endif
    scale = argument(argc, argv, 2, 1);
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
    check(pthread_barrier_init(&round_barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], crowd_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("oversubscribed checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
