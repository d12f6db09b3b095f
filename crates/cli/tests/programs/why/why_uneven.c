// Threads whose share grows with their number; one section for each round. Arguments: threads, rounds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static long rounds;
static uint64_t sums[64];

static void *work(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < rounds; round++) {
        uint64_t x = 88172645463325252u;
        for (long i = 0; i < 2000 * (me + 1); i++) { // PLANTED
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        sums[me] += x;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 3;
    pthread_t team[64];
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (long t = 0; t < threads; t++)
        pthread_create(&team[t], NULL, work, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        pthread_join(team[t], NULL);
    printf("%llx\n", (unsigned long long)sums[threads - 1]);
    return 0;
}
