// Eight threads, of which the first never comes to the barrier that the others meet at. Their shares grow with their
// numbers.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS 8

static pthread_barrier_t barrier;
static volatile uint64_t sums[THREADS];

static void *work(void *argument)
{
    long me = (intptr_t)argument;
    if (me == 0) {
        sums[0] = 1;
        return NULL;
    }
    for (int round = 0; round < 3; round++) {
        uint64_t x = (uint64_t)me;
        for (long i = 0; i < 2000 * me; i++) // PLANTED
            x = x * 6364136223846793005u + 1442695040888963407u;
        sums[me] += x;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t team[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS - 1);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&team[t], NULL, work, (void *)(intptr_t)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(team[t], NULL);
    printf("%llx\n", (unsigned long long)sums[THREADS - 1]);
    return 0;
}
