/* Threads with unequal shares of work, which are joined. Really changed by: balanced (1: the same work in equal shares). */
#include "case.h"

enum { PIECE = 1000 }; /* us */

static long threads, pieces, balanced;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t do_piece(uint64_t state)
{
    WORK(state, PIECE);
    return state;
}

/* The shares are in the ratio of 1 : 2 : 3 : ... */
static long first_of(long thread)
{
    return balanced ? pieces * thread / threads : pieces * thread * (thread + 1) / (threads * (threads + 1));
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long piece = first_of(me); piece < first_of(me + 1); piece++) {
        results[me * 8] += do_piece((uint64_t)piece + 1);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    pieces = number("pieces", 1000);
    balanced = number("balanced", 0);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start("worker", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(results[0]);
}
