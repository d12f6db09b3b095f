// Four threads that walk through memory of their own, count under a lock, and meet. What is read, and the status, are those
// of the arguments.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define CELLS 65536

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static uint32_t cells[THREADS][CELLS];
static uint64_t sum;

static void *walk(void *argument)
{
    long me = (intptr_t)argument;
    for (int round = 0; round < 3; round++) {
        uint32_t at = (uint32_t)me;
        for (int step = 0; step < 8000; step++) {
            at = (at * 1664525u + 1013904223u) % CELLS;
            cells[me][at] += at & 1 ? 3 : 1; // CELL
        }
        pthread_mutex_lock(&sum_lock);
        for (int i = 0; i < 500; i++)
            sum += cells[me][i];
        pthread_mutex_unlock(&sum_lock);
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, walk, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("sum %llu\n", (unsigned long long)sum);
    fprintf(stderr, "done\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
