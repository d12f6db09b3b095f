// Condition variables: signal, broadcast, timeouts on either clock (never early), bad times, error-checking
// mutexes, and a queue whose items must all arrive in order.
#include "harm.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, monotonic, drained = PTHREAD_COND_INITIALIZER;
static int waiting, go;
static long queue[16], in, out, sum;

static void *wait_to_go(void *argument)
{
    RETURNS(0, pthread_mutex_lock(&mutex));
    waiting++;
    while (!go)
        RETURNS(0, pthread_cond_wait(&changed, &mutex));
    waiting--;
    RETURNS(0, pthread_mutex_unlock(&mutex));
    return argument;
}

static void *produce(void *argument)
{
    for (long i = 0; i < 20000; i++) {
        RETURNS(0, pthread_mutex_lock(&mutex));
        while (in - out == 16)
            RETURNS(0, pthread_cond_wait(&drained, &mutex));
        queue[in++ % 16] = i;
        RETURNS(0, pthread_mutex_unlock(&mutex));
        RETURNS(0, pthread_cond_signal(&changed)); // outside the mutex, as programs also do
    }
    return argument;
}

static void *consume(void *argument)
{
    for (long i = 0; i < 20000; i++) {
        struct timespec late = in_ms(CLOCK_REALTIME, 60000);
        RETURNS(0, pthread_mutex_lock(&mutex));
        while (in == out)
            RETURNS(0, pthread_cond_timedwait(&changed, &mutex, &late));
        CHECK(queue[out % 16] == i);
        sum += queue[out++ % 16];
        RETURNS(0, pthread_cond_signal(&drained));
        RETURNS(0, pthread_mutex_unlock(&mutex));
    }
    return argument;
}

static void timeouts(const char *name, pthread_cond_t *condition, clockid_t clock, int by_clockwait)
{
    struct timespec past = {1, 0}, bad = {1, -1}, now, end = in_ms(clock, 15);
    RETURNS(0, pthread_mutex_lock(&mutex));
    RETURNS(ETIMEDOUT, pthread_cond_timedwait(condition, &mutex, &past));
    RETURNS(EINVAL, pthread_cond_timedwait(condition, &mutex, &bad));
    int result = 0;
    while (result == 0)
        result = by_clockwait ? pthread_cond_clockwait(condition, &mutex, clock, &end)
                              : pthread_cond_timedwait(condition, &mutex, &end);
    RETURNS(ETIMEDOUT, result);
    clock_gettime(clock, &now);
    CHECK(now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec));
    RETURNS(0, pthread_mutex_unlock(&mutex)); // it came back held
    printf("%s\n", name);
}

int main(void)
{
    pthread_t threads[6];
    pthread_condattr_t attributes;
    RETURNS(0, pthread_condattr_init(&attributes));
    RETURNS(0, pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    RETURNS(0, pthread_cond_init(&monotonic, &attributes));
    for (int t = 0; t < 6; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, wait_to_go, NULL));
    int all = 0;
    while (!all) {
        RETURNS(0, pthread_mutex_lock(&mutex));
        all = waiting == 6;
        RETURNS(0, pthread_mutex_unlock(&mutex));
        sleep_ms(1);
    }
    RETURNS(0, pthread_mutex_lock(&mutex));
    go = 1;
    RETURNS(0, pthread_cond_broadcast(&changed));
    RETURNS(0, pthread_mutex_unlock(&mutex));
    for (int t = 0; t < 6; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("broadcast: %d left\n", waiting);
    timeouts("realtime", &changed, CLOCK_REALTIME, 0);
    timeouts("monotonic", &monotonic, CLOCK_MONOTONIC, 0);
    timeouts("clockwait monotonic", &changed, CLOCK_MONOTONIC, 1);
    timeouts("clockwait realtime", &monotonic, CLOCK_REALTIME, 1);
    struct timespec zero = {0, 0};
    RETURNS(EINVAL, pthread_cond_clockwait(&changed, &mutex, CLOCK_PROCESS_CPUTIME_ID, &zero));
    RETURNS(EPERM, pthread_cond_wait(&changed, &checking)); // not its owner
    RETURNS(0, pthread_create(&threads[0], NULL, produce, NULL));
    RETURNS(0, pthread_create(&threads[1], NULL, consume, NULL));
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("queue: %ld\n", sum);
    RETURNS(0, pthread_cond_destroy(&changed));
    RETURNS(0, pthread_cond_destroy(&monotonic));
    RETURNS(0, pthread_cond_destroy(&drained));
    return 0;
}
