// Three threads that each hold one lock and want the next one's, while a fourth waits for a signal that none of them gives.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { RING = 3 };

static pthread_mutex_t forks[RING] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t plates_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t plate_empty = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_have_one;

static void *philosopher(void *at)
{
    intptr_t own = (intptr_t)at;
    pthread_mutex_lock(&forks[own]);
    pthread_barrier_wait(&all_have_one);
    pthread_mutex_lock(&forks[(own + 1) % RING]);
    pthread_cond_signal(&plate_empty);
    return NULL;
}

static void *waiter(void *nothing)
{
    pthread_mutex_lock(&plates_lock);
    pthread_cond_wait(&plate_empty, &plates_lock);
    pthread_mutex_unlock(&plates_lock);
    return nothing;
}

int main(void)
{
    pthread_t threads[RING + 1];
    pthread_barrier_init(&all_have_one, NULL, RING);
    pthread_create(&threads[RING], NULL, waiter, NULL);
    for (intptr_t i = 0; i < RING; i++)
        pthread_create(&threads[i], NULL, philosopher, (void *)i);
    for (int i = 0; i <= RING; i++)
        pthread_join(threads[i], NULL);
    puts("this is never printed");
    return 0;
}
