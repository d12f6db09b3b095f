// Threads that the C library makes by itself: a timer's notification thread and asynchronous I/O.
#include "harm.h"

#include <aio.h>
#include <semaphore.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t notified;
static long notifications;

static void notify(union sigval value)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    notifications += value.sival_int;
    RETURNS(0, pthread_mutex_unlock(&lock));
    CHECK(sem_post(&notified) == 0);
}

int main(void)
{
    timer_t timer;
    int ends[2];
    char received[6] = {0};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify,
                             .sigev_value.sival_int = 3};
    struct itimerspec every_2_ms = {{0, 2000000}, {0, 2000000}};
    CHECK(sem_init(&notified, 0, 0) == 0);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &every_2_ms, NULL) == 0);
    for (int i = 0; i < 20; i++)
        while (sem_wait(&notified) != 0)
            CHECK(errno == EINTR);
    CHECK(timer_delete(timer) == 0);
    RETURNS(0, pthread_mutex_lock(&lock));
    printf("at least 20 notifications: %s\n", notifications >= 60 && notifications % 3 == 0 ? "yes" : "no");
    RETURNS(0, pthread_mutex_unlock(&lock));
    CHECK(pipe(ends) == 0);
    struct aiocb in = {.aio_fildes = ends[0], .aio_buf = received, .aio_nbytes = 5};
    struct aiocb out = {.aio_fildes = ends[1], .aio_buf = "hello", .aio_nbytes = 5};
    const struct aiocb *both[] = {&in, &out};
    CHECK(aio_read(&in) == 0 && aio_write(&out) == 0);
    while (aio_error(&in) == EINPROGRESS || aio_error(&out) == EINPROGRESS)
        CHECK(aio_suspend(both, 2, NULL) == 0 || errno == EINTR || errno == EAGAIN);
    printf("asynchronous: %ld %ld %s\n", (long)aio_return(&in), (long)aio_return(&out), received);
    return 0;
}
