// One thread late at a barrier that the program makes of a mutex and a condition variable, with functions of its own. The barrier
// is met twice in a row in each round, as programs do that reuse what was computed, and its condition is signalled once more at the
// end, for nobody.
#include "../work.h"

#ifndef ROUNDS // else a short one, of which all instructions are recorded
#define ROUNDS 60
#define LATE_US 10000
#define OTHERS_US 1000
#endif
#define PIECE_US (OTHERS_US / 10)
#define LATE_PIECES (LATE_US / PIECE_US)
#define OTHERS_PIECES (OTHERS_US / PIECE_US)

struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t all_are_here;
    long parties, missing;
    unsigned long generation;
};

static struct meeting row_done;
static long threads, scale;
static uint64_t *results;

static void meeting_init(struct meeting *meeting, long parties)
{
    check(pthread_mutex_init(&meeting->mutex, NULL), "pthread_mutex_init");
    check(pthread_cond_init(&meeting->all_are_here, NULL), "pthread_cond_init");
    meeting->parties = meeting->missing = parties;
}

NAMED static void meeting_wait(struct meeting *meeting)
{
    check(pthread_mutex_lock(&meeting->mutex), "pthread_mutex_lock");
    unsigned long generation = meeting->generation;
    if (--meeting->missing == 0) {
        meeting->missing = meeting->parties;
        meeting->generation++;
        check(pthread_cond_broadcast(&meeting->all_are_here), "pthread_cond_broadcast");
    } else {
        while (generation == meeting->generation)
            check(pthread_cond_wait(&meeting->all_are_here, &meeting->mutex), "pthread_cond_wait");
    }
    check(pthread_mutex_unlock(&meeting->mutex), "pthread_mutex_unlock");
}

// A round's pieces; which thread does one does not change the sum of the results.
NAMED static uint64_t do_pieces(long round, long first, long end)
{
    uint64_t sum = 0;
    for (long piece = first; piece < end; piece++)
        sum += compute((uint64_t)(round * 100003 + piece), PIECE_US);
    return sum;
}

static void *row_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
#ifndef FIXED
        // PLANTED: ten times the others' share for the thread whose turn it is
        long before = (me - round % threads + threads) % threads;
        long first = before == 0 ? 0 : LATE_PIECES + (before - 1) * OTHERS_PIECES;
        results[me * 8] += do_pieces(round, first, before == 0 ? LATE_PIECES : first + OTHERS_PIECES);
#else
        long pieces = LATE_PIECES + (threads - 1) * OTHERS_PIECES;
        results[me * 8] += do_pieces(round, pieces * me / threads, pieces * (me + 1) / threads); // FIX: equal shares
#endif
        meeting_wait(&row_done);
        meeting_wait(&row_done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
    meeting_init(&row_done, threads);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], row_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    check(pthread_cond_signal(&row_done.all_are_here), "pthread_cond_signal");
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("condition_barrier checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
