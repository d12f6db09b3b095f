// Eight threads that meet at a barrier; then one of them dies of a signal. Argument: segv, abort or kill.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8

static pthread_barrier_t barrier;
static volatile uint64_t sums[THREADS];
static const char *how = "segv";

static void *work(void *argument)
{
    long me = (intptr_t)argument;
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < 2000 * (me + 1); i++) // PLANTED
            sums[me] += (uint64_t)i;
        pthread_barrier_wait(&barrier);
    }
    if (me == 3) {
        if (strcmp(how, "segv") == 0)
            *(volatile int *)(uintptr_t)me = 0;
        if (strcmp(how, "abort") == 0)
            abort();
        raise(SIGKILL);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        how = argv[1];
    pthread_t team[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&team[t], NULL, work, (void *)(intptr_t)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(team[t], NULL);
    return 0;
}
