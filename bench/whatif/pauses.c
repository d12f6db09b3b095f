/* Threads that compute and then wait for nothing but time: asleep, or with io=1 in a read of a timer. Really changed by:
 * pause (us of each wait). */
#include "case.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long threads, rounds, working, pause_us, io;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t compute_round(uint64_t state)
{
    WORK(state, working);
    return state;
}

static struct timespec pause_time(void)
{
    return (struct timespec){ .tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000 };
}

NAMED static void read_timer(int timer)
{
    struct itimerspec once = { .it_value = pause_time() };
    uint64_t times;
    if (timerfd_settime(timer, 0, &once, NULL) != 0 || read(timer, &times, sizeof times) != sizeof times)
        fail("timerfd", strerror(errno));
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    struct timespec nap = pause_time();
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    for (long round = 0; round < rounds; round++) {
        results[me * 8] += compute_round((uint64_t)(round * threads + me) + 1);
        if (pause_us > 0 && io)
            read_timer(timer);
        else if (pause_us > 0)
            nanosleep(&nap, NULL);
        PROGRESS;
    }
    close(timer);
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    threads = number("threads", 2);
    rounds = number("rounds", 200);
    working = number("working", 1500);
    pause_us = number("pause", 2000);
    io = number("io", 0);
    switches_end();
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    pthread_t workers[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        workers[i] = start("worker", work, i);
    for (long i = 0; i < threads; i++)
        join(workers[i]);
    return finish(results[0]);
}
