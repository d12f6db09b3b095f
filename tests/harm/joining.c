// Joining in every way: tryjoin, timedjoin, clockjoin, of itself, of a detached thread, with results and
// detaching.
#include "harm.h"

static pthread_barrier_t end;

static void *stay(void *argument)
{
    int met = pthread_barrier_wait(&end);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    return argument;
}

static void let_go(void)
{
    int met = pthread_barrier_wait(&end);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
}

int main(void)
{
    pthread_t thread;
    void *result = NULL;
    struct timespec past = {1, 0}, soon, late;
    RETURNS(0, pthread_barrier_init(&end, NULL, 2));
    RETURNS(0, pthread_create(&thread, NULL, stay, (void *)1));
    RETURNS(EBUSY, pthread_tryjoin_np(thread, &result));
    RETURNS(ETIMEDOUT, pthread_timedjoin_np(thread, &result, &past));
    soon = in_ms(CLOCK_REALTIME, 10);
    RETURNS(ETIMEDOUT, pthread_timedjoin_np(thread, &result, &soon));
    soon = in_ms(CLOCK_MONOTONIC, 10);
    RETURNS(ETIMEDOUT, pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &soon));
    let_go();
    late = in_ms(CLOCK_MONOTONIC, 60000);
    RETURNS(0, pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &late));
    printf("clockjoin: %d\n", (int)(intptr_t)result);
    RETURNS(0, pthread_create(&thread, NULL, stay, (void *)2));
    let_go();
    int tried;
    while ((tried = pthread_tryjoin_np(thread, &result)) == EBUSY)
        sleep_ms(1);
    printf("tryjoin: %d, %d\n", tried, (int)(intptr_t)result);
    RETURNS(0, pthread_create(&thread, NULL, stay, (void *)3));
    let_go();
    late = in_ms(CLOCK_REALTIME, 60000);
    RETURNS(0, pthread_timedjoin_np(thread, &result, &late));
    printf("timedjoin: %d\n", (int)(intptr_t)result);
    RETURNS(EDEADLK, pthread_join(pthread_self(), NULL));
    printf("joining oneself is refused\n");
    RETURNS(0, pthread_create(&thread, NULL, stay, NULL));
    RETURNS(0, pthread_detach(thread));
    RETURNS(EINVAL, pthread_join(thread, NULL));
    RETURNS(EINVAL, pthread_detach(thread));
    let_go();
    pthread_attr_t attributes;
    RETURNS(0, pthread_attr_init(&attributes));
    RETURNS(0, pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    RETURNS(0, pthread_create(&thread, &attributes, stay, NULL));
    RETURNS(EINVAL, pthread_join(thread, NULL));
    let_go();
    printf("detached threads cannot be joined\n");
    return 0;
}
