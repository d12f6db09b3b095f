// exit from a thread that is not the main one, while main waits in join and others wait for a lock and a
// condition.
#include "harm.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void goodbye(void)
{
    printf("atexit runs\n");
}

static void *wait_for_lock(void *argument)
{
    RETURNS(0, pthread_mutex_lock(&held));
    return argument;
}

static void *wait_for_condition(void *argument)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    for (;;)
        RETURNS(0, pthread_cond_wait(&never, &lock));
    return argument;
}

static void *leave(void *argument)
{
    (void)argument;
    sleep_ms(20);
    printf("leaving\n");
    exit(7);
}

int main(void)
{
    pthread_t threads[3];
    CHECK(atexit(goodbye) == 0);
    RETURNS(0, pthread_mutex_lock(&held));
    RETURNS(0, pthread_create(&threads[0], NULL, wait_for_lock, NULL));
    RETURNS(0, pthread_create(&threads[1], NULL, wait_for_condition, NULL));
    RETURNS(0, pthread_create(&threads[2], NULL, leave, NULL));
    pthread_join(threads[0], NULL);
    printf("not reached\n");
    return 0;
}
