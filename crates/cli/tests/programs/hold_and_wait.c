// Some threads that want one lock, each a fixed number of times; prints one line at the start and one at the end.
// Arguments: how many times (default 200), and what each hold computes in thousands of steps (default 50).
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;
static long times = 200, steps = 50;

__attribute__((noipa)) static void hold(uint64_t seed)
{
    pthread_mutex_lock(&the_lock);
    for (long i = 0; i < steps * 1000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
    sum += seed;
    pthread_mutex_unlock(&the_lock);
}

__attribute__((noipa)) static void *worker(void *argument)
{
    for (long i = 0; i < times; i++)
        hold((uint64_t)(intptr_t)argument * 1000003 + (uint64_t)i + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1)
        times = atol(argv[1]);
    if (argc > 2)
        steps = atol(argv[2]);
    printf("ready\n");
    fflush(stdout);
    for (intptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, worker, (void *)(t + 1)) != 0)
            return 90;
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("sum %016llx\n", (unsigned long long)sum);
    return 6;
}
