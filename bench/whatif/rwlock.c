/* Threads that read a table under a read-write lock, and rewrite it now and then. Really changed by: rewriting (us of a
 * rewrite), reading (us of a look-up), locked (0: no lock at all). */
#include "case.h"

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static long threads, rounds, reading, rewriting, outside, each, locked;
static uint64_t table[8], results[MOST_THREADS * 8];

NAMED static uint64_t find(uint64_t state)
{
    WORK(state, reading);
    return state + table[0];
}

NAMED static void rewrite(uint64_t state)
{
    WORK(state, rewriting);
    table[0] = state & 1;
}

NAMED static uint64_t use(uint64_t state)
{
    WORK(state, outside);
    return state;
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long round = 0; round < rounds / threads; round++) {
        uint64_t state = (uint64_t)(round * threads + me) + 1;
        int writes = (round + me) % each == 0;
        if (locked)
            check(writes ? pthread_rwlock_wrlock(&table_lock) : pthread_rwlock_rdlock(&table_lock), "pthread_rwlock");
        if (writes)
            rewrite(state);
        else
            state = find(state);
        if (locked)
            check(pthread_rwlock_unlock(&table_lock), "pthread_rwlock_unlock");
        results[me * 8] += use(state);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 1200);
    reading = number("reading", 300);
    rewriting = number("rewriting", 2000);
    outside = number("outside", 300);
    each = number("each", 4);
    locked = number("locked", 1);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS || each < 1)
        return 2;
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start("worker", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(results[0]);
}
