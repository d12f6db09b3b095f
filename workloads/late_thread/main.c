// One thread late at a barrier: in each of many rounds the first thread has twenty times the others' work.
#include "../work.h"

#define ROUNDS 90
#define LATE_US 10000
#define OTHERS_US 500

static pthread_barrier_t round_barrier;
static long threads, scale;
static uint64_t *results;

NAMED static void wait_for_round(void)
{
    int result = pthread_barrier_wait(&round_barrier);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD)
        check(result, "pthread_barrier_wait");
}

// A round's work is LATE_US + (threads - 1) * OTHERS_US microseconds in all, in pieces of OTHERS_US / 10.
// Which thread does a piece does not change the sum of the results.
#define PIECE_US (OTHERS_US / 10)
#define LATE_PIECES (LATE_US / PIECE_US)
#define OTHERS_PIECES (OTHERS_US / PIECE_US)

NAMED static uint64_t do_pieces(long round, long first, long end)
{
    uint64_t sum = 0;
    for (long piece = first; piece < end; piece++)
        sum += compute((uint64_t)(round * 100003 + piece), PIECE_US);
    return sum;
}

static void *late_worker(void *argument)
{
    (void)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
#ifndef FIXED
        results[0] += do_pieces(round, 0, LATE_PIECES); // PLANTED: twenty times the others' share
#else
        long pieces = LATE_PIECES + (threads - 1) * OTHERS_PIECES;
        results[0] += do_pieces(round, 0, pieces / threads); // FIX: equal shares
#endif
        wait_for_round();
    }
    return NULL;
}

static void *prompt_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
#ifndef FIXED
        long first = LATE_PIECES + (me - 1) * OTHERS_PIECES;
        results[me * 8] += do_pieces(round, first, first + OTHERS_PIECES);
#else
        long pieces = LATE_PIECES + (threads - 1) * OTHERS_PIECES;
        results[me * 8] += do_pieces(round, pieces * me / threads, pieces * (me + 1) / threads);
#endif
        wait_for_round();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
    check(pthread_barrier_init(&round_barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    pthread_t workers[threads];
    start_thread(&workers[0], late_worker, NULL);
    for (long t = 1; t < threads; t++)
        start_thread(&workers[t], prompt_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("late_thread checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
