/* Many threads that do the same, independently of each other. Arguments: threads, thousands of steps of each. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long steps;

static void *work(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument + 1;
    for (long step = 0; step < steps; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 4;
    steps = (argc > 2 ? atol(argv[2]) : 10) * 1000;
    pthread_t *all = calloc((size_t)threads, sizeof *all);
    pthread_attr_t small;
    if (all == NULL || pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 1 << 16) != 0)
        return 1;
    for (long t = 0; t < threads; t++)
        if (pthread_create(&all[t], &small, work, (void *)(uintptr_t)t) != 0)
            return 1;
    uintptr_t sum = 0;
    for (long t = 0; t < threads; t++) {
        void *result;
        pthread_join(all[t], &result);
        sum ^= (uintptr_t)result;
    }
    printf("%lx\n", (unsigned long)sum);
    return 0;
}
