/* Threads that update something shared under one lock. Really changed by: hold (us in the critical section), locks
 * (1: hot_lock; more: the same updates spread over so many locks; 0: none at all), threads (the rounds are divided
 * among them), quick (the first thread's speed in per cent). */
#include "case.h"

static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t split_locks[MOST_THREADS];
static long threads, rounds, hold, outside, locks, quick;
static uint64_t shared[MOST_THREADS * 8];

NAMED static uint64_t prepare(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

NAMED static void update(uint64_t state, long us)
{
    long part = locks > 1 ? (long)(mixed(state) % (uint64_t)locks) : 0;
    pthread_mutex_t *lock = locks > 1 ? &split_locks[part] : &hot_lock;
    if (locks > 0)
        pthread_mutex_lock(lock);
    WORK(state, us);
    shared[part * 8] += state;
    if (locks > 0)
        pthread_mutex_unlock(lock);
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    long speed = me == 0 ? quick : 100;
    for (long round = me; round < rounds; round += threads) {
        uint64_t state = prepare((uint64_t)round + 1, outside * 100 / speed);
        update(state, hold * 100 / speed);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 2000);
    hold = number("hold", 300);
    outside = number("outside", 200);
    locks = number("locks", 1);
    quick = number("quick", 100);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS || locks > MOST_THREADS || quick == 0)
        return 2;
    for (int i = 0; i < MOST_THREADS; i++)
        pthread_mutex_init(&split_locks[i], NULL);
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start(i == 0 ? "first" : "other", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(shared[0]);
}
