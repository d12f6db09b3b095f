// Destructors of thread-specific data that lock, wait and post after the thread's function has returned, in
// all the four rounds that the C library allows; and keys made after holdup's own.
#include "harm.h"

#include <limits.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static pthread_key_t key, other;
static long destroyed, rounds;

static void again_and_again(void *value)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    rounds++;
    RETURNS(0, pthread_cond_signal(&changed));
    RETURNS(0, pthread_mutex_unlock(&lock));
    RETURNS(0, pthread_setspecific(key, value)); // asks for another round
}

static void once_is_enough(void *value)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    destroyed += (long)(intptr_t)value;
    RETURNS(0, pthread_mutex_unlock(&lock));
    sleep_ms(1);
    CHECK(sem_post(&posted) == 0);
}

static void *worker(void *argument)
{
    RETURNS(0, pthread_setspecific(key, &lock));
    RETURNS(0, pthread_setspecific(other, argument));
    return NULL;
}

int main(void)
{
    enum { THREADS = 20 };
    pthread_t threads[THREADS];
    CHECK(sem_init(&posted, 0, 0) == 0);
    RETURNS(0, pthread_key_create(&key, again_and_again));
    RETURNS(0, pthread_key_create(&other, once_is_enough));
    for (intptr_t t = 0; t < THREADS; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, worker, (void *)(t + 1)));
    for (int t = 0; t < THREADS; t++)
        CHECK(sem_wait(&posted) == 0);
    for (int t = 0; t < THREADS; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("destroyed %ld, rounds %ld of %d\n", destroyed, rounds, THREADS * PTHREAD_DESTRUCTOR_ITERATIONS);
    int keys = 0;
    pthread_key_t more;
    while (keys < 1000 && pthread_key_create(&more, NULL) == 0)
        keys++;
    printf("at least 1000 keys: %s\n", keys >= 1000 ? "yes" : "no");
    return 0;
}
