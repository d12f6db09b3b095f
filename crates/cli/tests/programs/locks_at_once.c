// More locks than there are counts for, each taken by three threads: one that ends, one that still lives at the end, and main.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t *locks;
static long many, taken;
static sem_t done;

static void take_all(void)
{
    for (int round = 0; round < 2; round++)
        for (long i = 0; i < many; i++) {
            pthread_mutex_lock(&locks[i]);
            __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
            pthread_mutex_unlock(&locks[i]);
        }
}

static void *ends(void *nothing)
{
    take_all();
    return nothing;
}

static void *stays(void *nothing)
{
    take_all();
    sem_post(&done);
    for (;;)
        pause();
    return nothing;
}

int main(int argc, char **argv)
{
    many = argc > 1 ? atol(argv[1]) : 10;
    locks = calloc((size_t)many, sizeof *locks);
    sem_init(&done, 0, 0);
    for (long i = 0; i < many; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_t first, second;
    pthread_create(&first, NULL, ends, NULL);
    pthread_create(&second, NULL, stays, NULL);
    take_all();
    pthread_join(first, NULL);
    sem_wait(&done);
    printf("%ld\n", taken);
    return 0;
}
