// Between two barriers one thread works; which one is decided at a branch before the first of them, and compilers give each way
// out of that branch a call of the barrier of its own.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 6, ROUNDS = 8 };
static pthread_barrier_t barrier;
static volatile double sink[THREADS];
static volatile long noted;

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
        compute(id, 20000);
        if (id == 0) // PLANTED
            noted = round;
        pthread_barrier_wait(&barrier);
        if (id == 0) // OR HERE
            compute(id, 100000);
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
    printf("%ld\n", noted);
    return 0;
}
