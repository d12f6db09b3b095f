/* Threads that count words in a table with many locks, and add to sums under one lock each time: the lock is held for nanoseconds,
 * and goes from core to core all the time. Really changed by: sums (1: under sums_lock; 0: of each thread, added at its end). */
#include "case.h"

enum { WORDS = 4096, LOCKS = 32 };

static pthread_mutex_t sums_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table_locks[LOCKS];
static long threads, turns, sums;
static uint64_t table[WORDS], total, squares;

NAMED static void add_to_sums(uint64_t times)
{
    pthread_mutex_lock(&sums_lock);
    total += 1;
    squares += times;
    pthread_mutex_unlock(&sums_lock);
}

static void *work(void *argument)
{
    uint64_t state = (uint64_t)(intptr_t)argument + 1, own = 0, own_squares = 0;
    for (long turn = 0; turn < turns; turn++) {
        WORK(state, 1.0 / 60);
        uint64_t word = state % WORDS;
        pthread_mutex_lock(&table_locks[word % LOCKS]);
        uint64_t times = ++table[word];
        pthread_mutex_unlock(&table_locks[word % LOCKS]);
        if (sums) {
            add_to_sums(times);
        } else {
            own += 1;
            own_squares += times;
        }
        PROGRESS;
    }
    pthread_mutex_lock(&sums_lock);
    total += own;
    squares += own_squares;
    pthread_mutex_unlock(&sums_lock);
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    turns = number("turns", 3000000);
    sums = number("sums", 1);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&table_locks[i], NULL);
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start("counts", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(total);
}
