// Six programs at once, each with two threads that compute and meet at a barrier of their own.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 6, THREADS = 2, ROUNDS = 6, WORK = 4000000 };

static pthread_barrier_t all_done;
static uint64_t results[THREADS * 8];

static void *compute(void *at)
{
    intptr_t own = (intptr_t)at;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORK; i++)
            results[own * 8] = results[own * 8] * 6364136223846793005u + 1;
        pthread_barrier_wait(&all_done);
    }
    return NULL;
}

static int team(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_done, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, compute, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 1)
        return team();
    for (int child = 0; child < PROCESSES; child++) {
        if (fork() != 0)
            continue;
        execl("/proc/self/exe", arguments[0], "team", (char *)NULL);
        _exit(1);
    }
    while (wait(NULL) > 0)
        ;
    puts("all done");
    return 0;
}
