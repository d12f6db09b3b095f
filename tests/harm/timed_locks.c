// Timed and clock variants of mutexes and read-write locks: success, timeout (not early), and bad times.
#include "harm.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t held, release;

static void meet(pthread_barrier_t *barrier)
{
    int met = pthread_barrier_wait(barrier);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *hold_both(void *argument)
{
    RETURNS(0, pthread_mutex_lock(&mutex));
    RETURNS(0, pthread_rwlock_wrlock(&rwlock));
    meet(&held);
    meet(&release);
    RETURNS(0, pthread_mutex_unlock(&mutex));
    RETURNS(0, pthread_rwlock_unlock(&rwlock));
    return argument;
}

static int passed(clockid_t clock, struct timespec end)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

static int mutex_timed(clockid_t clock, const struct timespec *end)
{
    (void)clock;
    return pthread_mutex_timedlock(&mutex, end);
}
static int mutex_clock(clockid_t clock, const struct timespec *end)
{
    return pthread_mutex_clocklock(&mutex, clock, end);
}
static int read_timed(clockid_t clock, const struct timespec *end)
{
    (void)clock;
    return pthread_rwlock_timedrdlock(&rwlock, end);
}
static int write_timed(clockid_t clock, const struct timespec *end)
{
    (void)clock;
    return pthread_rwlock_timedwrlock(&rwlock, end);
}
static int read_clock(clockid_t clock, const struct timespec *end)
{
    return pthread_rwlock_clockrdlock(&rwlock, clock, end);
}
static int write_clock(clockid_t clock, const struct timespec *end)
{
    return pthread_rwlock_clockwrlock(&rwlock, clock, end);
}

static const struct {
    const char *name;
    int (*lock)(clockid_t, const struct timespec *);
    clockid_t clock;
    int is_mutex;
} calls[] = {
    {"mutex_timedlock", mutex_timed, CLOCK_REALTIME, 1},
    {"mutex_clocklock monotonic", mutex_clock, CLOCK_MONOTONIC, 1},
    {"mutex_clocklock realtime", mutex_clock, CLOCK_REALTIME, 1},
    {"rwlock_timedrdlock", read_timed, CLOCK_REALTIME, 0},
    {"rwlock_timedwrlock", write_timed, CLOCK_REALTIME, 0},
    {"rwlock_clockrdlock monotonic", read_clock, CLOCK_MONOTONIC, 0},
    {"rwlock_clockwrlock monotonic", write_clock, CLOCK_MONOTONIC, 0},
};

int main(void)
{
    RETURNS(0, pthread_barrier_init(&held, NULL, 2));
    RETURNS(0, pthread_barrier_init(&release, NULL, 2));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pthread_t holder;
        clockid_t clock = calls[i].clock;
        struct timespec past = {1, 0}, bad = {in_ms(clock, 1000).tv_sec, 1000000000}, negative = {-1, 0};
        RETURNS(0, calls[i].lock(clock, &past)); // free: the time does not matter
        RETURNS(0, calls[i].is_mutex ? pthread_mutex_unlock(&mutex) : pthread_rwlock_unlock(&rwlock));
        RETURNS(0, pthread_create(&holder, NULL, hold_both, NULL));
        meet(&held);
        errno = 77;
        RETURNS(ETIMEDOUT, calls[i].lock(clock, &past));
        RETURNS(ETIMEDOUT, calls[i].lock(clock, &negative));
        struct timespec soon = in_ms(clock, 15);
        RETURNS(ETIMEDOUT, calls[i].lock(clock, &soon));
        CHECK(passed(clock, soon));
        RETURNS(EINVAL, calls[i].lock(clock, &bad));
        CHECK(errno == 77);
        meet(&release);
        struct timespec late = in_ms(clock, 60000);
        RETURNS(0, calls[i].lock(clock, &late));
        RETURNS(0, calls[i].is_mutex ? pthread_mutex_unlock(&mutex) : pthread_rwlock_unlock(&rwlock));
        RETURNS(0, pthread_join(holder, NULL));
        printf("%s\n", calls[i].name);
    }
    RETURNS(EINVAL, pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &(struct timespec){0, 0}));
    RETURNS(EINVAL, pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &(struct timespec){0, 0}));
    printf("other clocks are refused\n");
    return 0;
}
