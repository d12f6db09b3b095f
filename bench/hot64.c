/* Sixty-four threads and one lock that all of them want all the time: as many waits as a machine can make.
 * Prints the wall time per iteration and the number of iterations. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { THREADS = 64, ITERATIONS = 30000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static uint64_t shared = 1;

static void *run(void *seed)
{
    uint64_t own = (uint64_t)(uintptr_t)seed + 1;
    pthread_barrier_wait(&start);
    for (int i = 0; i < ITERATIONS; i++) {
        own = work(own, 40);
        pthread_mutex_lock(&lock);
        shared = work(shared ^ own, 160);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return EXIT_FAILURE;
    pthread_barrier_wait(&start);
    double begin = now_ns();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("iteration_ns %.1f\n", (now_ns() - begin) / ((double)THREADS * ITERATIONS));
    printf("iterations %d\n", THREADS * ITERATIONS);
    return shared == 0;
}
