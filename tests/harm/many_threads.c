// 5,000 short threads, four at a time, joined and detached; then 300 at once, which all want one lock.
#include "harm.h"

#include <limits.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_here;
static long count, ended;

static void *brief(void *argument)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    count++;
    if (argument != NULL) {
        ended++;
        RETURNS(0, pthread_cond_signal(&changed));
    }
    RETURNS(0, pthread_mutex_unlock(&lock));
    return argument;
}

static void *one_of_many(void *argument)
{
    int met = pthread_barrier_wait(&all_here);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    for (int i = 0; i < 50; i++)
        brief(NULL);
    return argument;
}

// With fewer (-DSHORT=400) the recording is shorter.
#ifndef SHORT
#define SHORT 4000
#endif

int main(void)
{
    enum { DETACHED = SHORT / 4, MANY = 300 };
    pthread_t threads[MANY];
    pthread_attr_t detached, small;
    for (int i = 0; i < SHORT / 4; i++) {
        for (int t = 0; t < 4; t++)
            RETURNS(0, pthread_create(&threads[t], NULL, brief, NULL));
        for (int t = 0; t < 4; t++)
            RETURNS(0, pthread_join(threads[t], NULL));
    }
    RETURNS(0, pthread_attr_init(&detached));
    RETURNS(0, pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    for (long i = 0; i < DETACHED; i++) {
        pthread_t thread;
        RETURNS(0, pthread_create(&thread, &detached, brief, &lock));
        RETURNS(0, pthread_mutex_lock(&lock));
        while (ended < i - 20)
            RETURNS(0, pthread_cond_wait(&changed, &lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    RETURNS(0, pthread_mutex_lock(&lock));
    while (ended < DETACHED)
        RETURNS(0, pthread_cond_wait(&changed, &lock));
    printf("short threads: %ld\n", count);
    RETURNS(0, pthread_mutex_unlock(&lock));
    RETURNS(0, pthread_barrier_init(&all_here, NULL, MANY));
    RETURNS(0, pthread_attr_init(&small));
    RETURNS(0, pthread_attr_setstacksize(&small, 65536));
    count = 0;
    for (int t = 0; t < MANY; t++)
        RETURNS(0, pthread_create(&threads[t], &small, one_of_many, NULL));
    for (int t = 0; t < MANY; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("many at once: %ld\n", count);
    return 0;
}
