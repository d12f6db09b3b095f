/* Two threads and one lock, with long (about 50 us) or short (about 0.4 us) critical sections, and a
 * quarter of that outside of it. Prints the wall time per iteration. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static long rounds, iterations;
static uint64_t shared = 1;

static void *run(void *seed)
{
    uint64_t own = (uint64_t)(uintptr_t)seed + 1;
    pthread_barrier_wait(&start);
    for (long i = 0; i < iterations; i++) {
        own = work(own, rounds / 4);
        pthread_mutex_lock(&lock);
        shared = work(shared ^ own, rounds);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int is_long = count == 2 && strcmp(arguments[1], "long") == 0;
    if (!is_long && !(count == 2 && strcmp(arguments[1], "short") == 0)) {
        fprintf(stderr, "usage: %s long|short\n", arguments[0]);
        return 2;
    }
    rounds = is_long ? 20000 : 160;
    iterations = is_long ? 10000 : 1000000;
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 3);
    for (uintptr_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return EXIT_FAILURE;
    pthread_barrier_wait(&start);
    double begin = now_ns();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("iteration_ns %.1f\n", (now_ns() - begin) / (2.0 * (double)iterations));
    return shared == 0;
}
