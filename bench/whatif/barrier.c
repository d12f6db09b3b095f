/* Rounds that end at a barrier. One thread works longer than the others: always the first, or with random=1 a
 * different one each time. Really changed by: balanced (1: the same work in equal shares), late (us of the one). */
#include "case.h"

static pthread_barrier_t round_barrier;
static long threads, rounds, late, others, balanced, random_one;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t late_work(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

NAMED static uint64_t other_work(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    long mean = (late + (threads - 1) * others) / threads;
    for (long round = 0; round < rounds; round++) {
        long latest = random_one ? (long)(mixed((uint64_t)round) % (uint64_t)threads) : 0;
        uint64_t state = (uint64_t)(round * threads + me) + 1;
        if (balanced)
            results[me * 8] += other_work(state, mean);
        else if (me == latest)
            results[me * 8] += late_work(state, late);
        else
            results[me * 8] += other_work(state, others);
        int result = pthread_barrier_wait(&round_barrier);
        if (result != PTHREAD_BARRIER_SERIAL_THREAD)
            check(result, "pthread_barrier_wait");
        if (me == 0)
            PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 100);
    late = number("late", 6000);
    others = number("others", 2000);
    balanced = number("balanced", 0);
    random_one = number("random", 0);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    check(pthread_barrier_init(&round_barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start(i == 0 ? "first" : "other", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(results[0]);
}
