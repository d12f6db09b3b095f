// What the harm programs share. Each exercises one hazard, checks every return code, and prints the same
// bytes with and without holdup.
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

// Ends the program with status 1 and a line on stdout that says what came instead.
static inline void not_so(int line, const char *what, long came)
{
    printf("line %d: not so: %s (came %ld, errno %d)\n", line, what, came, errno);
    fflush(stdout);
    _exit(1);
}

// Demands that the condition holds.
#define CHECK(condition) ((condition) ? (void)0 : not_so(__LINE__, #condition, 0))

static inline void returns(int line, const char *what, int expected, int came)
{
    if (came != expected)
        not_so(line, what, came);
}

// Demands that a call of the pthread kind returns `expected`: 0 or an error number.
#define RETURNS(expected, call) returns(__LINE__, #call " returns " #expected, expected, call)

static inline void fails_with(int line, const char *what, int expected, long came)
{
    if (came != -1 || errno != expected)
        not_so(line, what, came);
}

// Demands that a call of the system-call kind returns -1 with this errno.
#define FAILS_WITH(expected, call)                                                                           \
    fails_with(__LINE__, #call " fails with " #expected, expected, (errno = 0, (long)(call)))

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
