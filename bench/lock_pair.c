/* What an uncontended lock and unlock cost, one thread.
 *
 * tight_ns: a loop of nothing else. busy_ns: the same pair amid real work (hashing and scattered memory
 * accesses), where out-of-order execution has less to hide it behind; this figure includes the work, so
 * compare two runs. Each is the least of many batches, per pair. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { BATCHES = 400, TIGHT_PAIRS = 20000, BUSY_PAIRS = 4000, TABLE = 1 << 15 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t counter;
static uint64_t table[TABLE];

static double tight(void)
{
    double begin = now_ns();
    for (int i = 0; i < TIGHT_PAIRS; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return (now_ns() - begin) / TIGHT_PAIRS;
}

static double busy(void)
{
    static uint64_t state = 88172645463325252u;
    double begin = now_ns();
    for (int i = 0; i < BUSY_PAIRS; i++) {
        for (int step = 0; step < 16; step++) {
            state = work(state, 3);
            table[state % TABLE] += state;
        }
        pthread_mutex_lock(&lock);
        counter += table[state % TABLE];
        pthread_mutex_unlock(&lock);
    }
    return (now_ns() - begin) / BUSY_PAIRS;
}

static double least(double (*batch)(void))
{
    double least = batch();
    for (int i = 1; i < BATCHES; i++) {
        double time = batch();
        if (time < least)
            least = time;
    }
    return least;
}

static void *idle(void *unused)
{
    return unused;
}

int main(void)
{
    /* glibc leaves atomics out as long as a process never had a second thread. */
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) != 0)
        return EXIT_FAILURE;
    pthread_join(thread, NULL);
    printf("tight_ns %.3f\n", least(tight));
    printf("busy_ns %.3f\n", least(busy));
    return EXIT_SUCCESS;
}
