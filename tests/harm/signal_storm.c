// A 10 kHz timer whose handler posts a semaphore (and waits for nothing), while threads lock, wait and sleep:
// about half a second. The argument chooses setitimer (the default) or timer (timer_create).
#include "harm.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t ticks;
static volatile long handled;
static volatile int stop;
static long turn;

static void tick(int signal)
{
    int saved = errno;
    (void)signal;
    sem_post(&ticks);
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
    errno = saved;
}

static void *locker(void *argument)
{
    while (!stop) {
        errno = 1234;
        RETURNS(0, pthread_mutex_lock(&lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
        CHECK(errno == 1234);
    }
    return argument;
}

// Two threads take turns by a condition variable: 8,000 turns in all.
static void *turner(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (int i = 0; i < 4000; i++) {
        RETURNS(0, pthread_mutex_lock(&lock));
        while (turn % 2 != me)
            RETURNS(0, pthread_cond_wait(&changed, &lock));
        turn++;
        RETURNS(0, pthread_cond_signal(&changed));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct itimerspec every_100_us = {{0, 100000}, {0, 100000}}, off = {{0, 0}, {0, 0}};
    struct itimerval every_100_us_too = {{0, 100}, {0, 100}}, off_too = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    int posix = argc > 1 && strcmp(argv[1], "timer") == 0;
    pthread_t threads[4];
    timer_t timer;
    CHECK(sem_init(&ticks, 0, 0) == 0);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    if (posix) {
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
        CHECK(timer_settime(timer, 0, &every_100_us, NULL) == 0);
    } else {
        CHECK(setitimer(ITIMER_REAL, &every_100_us_too, NULL) == 0);
    }
    for (intptr_t t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, t < 2 ? turner : locker, (void *)t));
    long taken = 0;
    struct timespec end = in_ms(CLOCK_REALTIME, 400);
    for (;;) {
        if (sem_timedwait(&ticks, &end) == 0) {
            taken++;
        } else {
            CHECK(errno == EINTR || errno == ETIMEDOUT);
            if (errno == ETIMEDOUT)
                break;
        }
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec))
            break;
    }
    stop = 1;
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    CHECK(posix ? timer_settime(timer, 0, &off, NULL) == 0 : setitimer(ITIMER_REAL, &off_too, NULL) == 0);
    int left;
    CHECK(sem_getvalue(&ticks, &left) == 0);
    CHECK(taken + left == handled);
    CHECK(handled > 100);
    printf("%ld turns; every tick posted and taken or left\n", turn);
    return 0;
}
