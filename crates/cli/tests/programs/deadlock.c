// Two threads take two locks in opposite order, and meet in between: they wait for each other for ever.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

__attribute__((noipa)) static void take_in_order(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(one);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

__attribute__((noipa)) static void *forwards(void *argument)
{
    take_in_order(&first_lock, &second_lock);
    return argument;
}

__attribute__((noipa)) static void *backwards(void *argument)
{
    take_in_order(&second_lock, &first_lock);
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both_hold_one, NULL, 3);
    if (pthread_create(&threads[0], NULL, forwards, NULL) != 0 || pthread_create(&threads[1], NULL, backwards, NULL) != 0)
        return 90;
    pthread_barrier_wait(&both_hold_one);
    printf("ready\n");
    fflush(stdout);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    return 0;
}
