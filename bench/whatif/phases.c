/* A serial phase by the main thread, then a parallel one by threads that it starts and joins, in turn. Really changed by:
 * serial (us of the serial phase), shared (1: the threads do its work, in equal shares). */
#include "case.h"

static long threads, rounds, serial, parallel, shared;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t prepare_frame(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

NAMED static uint64_t draw_part(uint64_t state)
{
    WORK(state, parallel / threads);
    return state;
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    if (shared)
        results[me * 8] += prepare_frame((uint64_t)me + 1, serial / threads);
    results[me * 8] += draw_part((uint64_t)me + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 60);
    serial = number("serial", 6000);
    parallel = number("parallel", 10000);
    shared = number("shared", 0);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    uint64_t sum = 0;
    for (long round = 0; round < rounds; round++) {
        if (!shared)
            sum += prepare_frame((uint64_t)round + 1, serial);
        pthread_t workers[MOST_THREADS];
        for (long i = 0; i < threads; i++)
            workers[i] = start("drawing", work, i);
        for (long i = 0; i < threads; i++)
            join(workers[i]);
        PROGRESS;
    }
    return finish(sum);
}
