// The synchronization pattern of paper 1, Listing 1: in each of N rounds M times some computing and a short critical section,
// then a barrier. What `visit` does in an iteration is up to who includes this.
//
// `[threads] [rounds] [M] [iterations] [KiB of memory for each thread]`; the M of a round are dealt out among the threads, and
// with DEALT defined the memory too.
#ifndef STACK_UB_H
#define STACK_UB_H

#include "stack.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long rounds, visits, iterations, kib;

// One call of `compute` of the listing: `iterations` steps through the member's own memory from `state` on; the state after it.
static uint64_t visit(line_t *memory, long lines, uint64_t state, uint64_t *sum);

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    long lines = kib * 1024 / LINE;
    long first = first_of(visits, me), end = first_of(visits, me + 1);
    line_t *memory = own_memory(kib * 1024);
    uint64_t state = (uint64_t)me + 1, sum = 0;
    ALL_MEET();
    for (long round = 0; round < rounds; round++) {
        for (long unit = first; unit < end; unit++) {
            state = visit(memory, lines, state, &sum);
            LOCK(&mutex);
            members[me].done++;
            UNLOCK(&mutex);
        }
        ALL_MEET();
    }
    members[me].sum = sum;
    free(memory);
    return NULL;
}

static inline int run(const char *name, int argc, char **argv, long of_visits, long of_iterations, long of_kib)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    rounds = argument(argc, argv, 2, 20);
    visits = argument(argc, argv, 3, of_visits);
    iterations = argument(argc, argv, 4, of_iterations);
    kib = argument(argc, argv, 5, of_kib);
#ifdef DEALT
    kib = kib / threads > 0 ? kib / threads : 1;
#endif
    run_team(member);
    uint64_t done = all_done();
    return finish(name, done, done == (uint64_t)(rounds * visits));
}

#endif
