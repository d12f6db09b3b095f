// Threads take as many turns through a loop as their number says, the first one none: the test before the first turn and the
// one after each are one decision, though compilers make two of them.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 6, ROUNDS = 6 };
static pthread_barrier_t barrier;
static volatile double sink[THREADS];

__attribute__((noinline)) static void compute(int id, int turns)
{
    double x = id;
    for (int i = 0; i < turns; i++)
        x = x * 1.0000001 + 0.5;
    sink[id] = x;
}

static void *body(void *argument)
{
    int id = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (int turn = 0; turn < id; turn++) // PLANTED
            compute(id, 20000);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) != 0)
            return 90;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%g\n", sink[1]);
    return 0;
}
