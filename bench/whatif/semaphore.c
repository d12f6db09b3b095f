/* Threads that need one of a few slots. Really changed by: query (us with the slot), slots. */
#include "case.h"

static sem_t connection_slots;
static long threads, rounds, slots, query, outside;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t run_query(uint64_t state)
{
    WORK(state, query);
    return state;
}

NAMED static uint64_t use_answer(uint64_t state)
{
    WORK(state, outside);
    return state;
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long round = me; round < rounds; round += threads) {
        sem_wait(&connection_slots);
        uint64_t state = run_query((uint64_t)round + 1);
        sem_post(&connection_slots);
        results[me * 8] += use_answer(state);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 400);
    slots = number("slots", 1);
    query = number("query", 2000);
    outside = number("outside", 600);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    sem_init(&connection_slots, 0, (unsigned)slots);
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start("worker", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(results[0]);
}
