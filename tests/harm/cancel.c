// Cancellation at every wait that holdup interposes (the wait unwinds through its frames), with cleanup
// handlers, and asynchronous cancellation of a compute loop.
#include "harm.h"

#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty, started;
static int silent[2], pair[2];
static pthread_t sleeper;
static volatile int cleaned;

static void unlock(void *argument)
{
    cleaned += 10;
    RETURNS(0, pthread_mutex_unlock((pthread_mutex_t *)argument));
}

static void count(void *argument)
{
    (void)argument;
    cleaned++;
}

static void in_cond_wait(void)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    pthread_cleanup_push(unlock, &lock);
    for (;;)
        RETURNS(0, pthread_cond_wait(&never, &lock));
    pthread_cleanup_pop(1);
}

static void in_cond_timedwait(void)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 60000);
    RETURNS(0, pthread_mutex_lock(&lock));
    pthread_cleanup_push(unlock, &lock);
    for (;;)
        RETURNS(0, pthread_cond_timedwait(&never, &lock, &late));
    pthread_cleanup_pop(1);
}

static void in_sem_wait(void) { sem_wait(&empty); }
static void in_sem_timedwait(void)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 60000);
    sem_timedwait(&empty, &late);
}
static void in_join(void) { pthread_join(sleeper, NULL); }
static void in_read(void)
{
    char byte;
    CHECK(read(silent[0], &byte, 1) == 1);
}
static void in_recv(void)
{
    char byte;
    recv(pair[0], &byte, 1, 0);
}
static void in_poll(void)
{
    struct pollfd wait = {silent[0], POLLIN, 0};
    poll(&wait, 1, 60000);
}
static void in_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(silent[0], &set);
    select(silent[0] + 1, &set, NULL, NULL, NULL);
}
static void in_epoll(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll >= 0);
    epoll_wait(epoll, &event, 1, 60000);
}
static void in_nanosleep(void)
{
    struct timespec minute = {60, 0};
    nanosleep(&minute, NULL);
}
static void in_clock_nanosleep(void)
{
    struct timespec minute = {60, 0};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, NULL);
}
static void in_sleep(void) { sleep(60); }
static void in_usleep(void) { usleep(60000000); }
static void in_pause(void) { pause(); }
static void in_testcancel(void)
{
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
}
static void in_compute(void)
{
    volatile uint64_t x = 1;
    RETURNS(0, pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (;;)
        x = x * 3 + 1;
}

static const struct {
    const char *name;
    void (*run)(void);
} waits[] = {
    {"pthread_cond_wait", in_cond_wait},   {"pthread_cond_timedwait", in_cond_timedwait},
    {"sem_wait", in_sem_wait},             {"sem_timedwait", in_sem_timedwait},
    {"pthread_join", in_join},             {"read", in_read},
    {"recv", in_recv},                     {"poll", in_poll},
    {"select", in_select},                 {"epoll_wait", in_epoll},
    {"nanosleep", in_nanosleep},           {"clock_nanosleep", in_clock_nanosleep},
    {"sleep", in_sleep},                   {"usleep", in_usleep},
    {"pause", in_pause},                   {"pthread_testcancel", in_testcancel},
    {"asynchronous, computing", in_compute},
};

static void *victim(void *argument)
{
    int wait = (int)(intptr_t)argument;
    pthread_cleanup_push(count, NULL);
    CHECK(sem_post(&started) == 0);
    waits[wait].run();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *sleep_on(void *argument)
{
    (void)argument;
    sem_wait(&empty);
    return NULL;
}

static void *never_cancelled(void *argument)
{
    int state;
    RETURNS(0, pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
    CHECK(state == PTHREAD_CANCEL_ENABLE);
    CHECK(sem_post(&started) == 0);
    sleep_ms(20);
    RETURNS(0, pthread_mutex_lock(&lock));
    RETURNS(0, pthread_mutex_unlock(&lock));
    return argument;
}

int main(void)
{
    pthread_t thread;
    void *result;
    CHECK(sem_init(&empty, 0, 0) == 0 && sem_init(&started, 0, 0) == 0);
    CHECK(pipe(silent) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    RETURNS(0, pthread_create(&sleeper, NULL, sleep_on, NULL));
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        for (int early = 0; early < 2; early++) { // cancelled while it waits, and before
            cleaned = 0;
            RETURNS(0, pthread_create(&thread, NULL, victim, (void *)(intptr_t)i));
            CHECK(sem_wait(&started) == 0);
            if (!early)
                sleep_ms(5);
            RETURNS(0, pthread_cancel(thread));
            RETURNS(0, pthread_join(thread, &result));
            CHECK(result == PTHREAD_CANCELED);
            printf("%s: cleanup %d\n", waits[i].name, cleaned);
        }
        RETURNS(0, pthread_mutex_trylock(&lock)); // the cleanup handler has given it back
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    RETURNS(0, pthread_create(&thread, NULL, never_cancelled, &lock));
    CHECK(sem_wait(&started) == 0);
    RETURNS(0, pthread_cancel(thread));
    RETURNS(0, pthread_join(thread, &result));
    CHECK(result == &lock);
    CHECK(sem_post(&empty) == 0);
    RETURNS(0, pthread_join(sleeper, &result));
    CHECK(result == NULL);
    printf("the sleeper was not disturbed\n");
    return 0;
}
