// Eight threads that read memory of their own, as much each, by the same instructions.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#define THREADS 8
#define CELLS (1 << 15)
static pthread_barrier_t meeting;
static volatile struct { uint64_t value; char pad[56]; } cells[THREADS][CELLS];
static uint64_t sums[THREADS][8];
static void *walk(void *argument)
{
    long me = (intptr_t)argument;
    for (int round = 0; round < 4; round++) {
        uint64_t sum = 0;
        for (long i = 0; i < CELLS; i++)
            sum += cells[me][i].value; // LOAD
        sums[me][0] += sum;
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, walk, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%llu\n", (unsigned long long)sums[0][0]);
}
