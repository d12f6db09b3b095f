// What the harm programs share. Each exercises one hazard, checks every return code, and prints the same bytes
// with and without holdup.
#ifndef HARM_H
#define HARM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Ends the program with status 1 and a line on stdout unless `condition` holds.
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: not so: %s (errno %d)\n", __LINE__, #condition, errno);                         \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

// Demands that a call of the pthread kind returns `expected` (0 or an error number).
#define RETURNS(expected, call)                                                                              \
    do {                                                                                                     \
        int returned_ = (call);                                                                              \
        if (returned_ != (expected)) {                                                                       \
            printf("line %d: %s returned %d, not %s\n", __LINE__, #call, returned_, #expected);              \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

// Demands that a call of the system-call kind returns -1 with this errno.
#define FAILS_WITH(expected, call)                                                                           \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        long returned_ = (long)(call);                                                                       \
        if (returned_ != -1 || errno != (expected)) {                                                        \
            printf("line %d: %s returned %ld, errno %d, not %s\n", __LINE__, #call, returned_, errno,        \
                   #expected);                                                                               \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

// The time `ms` milliseconds from now on `clock`.
static inline struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static inline void sleep_ms(long ms)
{
    struct timespec duration = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&duration, &duration) != 0 && errno == EINTR) {
    }
}

// Waits for `child` and returns its exit status, or 128 + signal.
static inline int status_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}


#endif
