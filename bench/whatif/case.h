/* What the programs of the what-if benchmark share: switches on the command line that really make the changes that
 * are predicted, and work of a fixed amount. A run does the same work everywhere and always: its amount is counted
 * in iterations, never by the clock. */
#ifndef HOLDUP_WHATIF_CASE_H
#define HOLDUP_WHATIF_CASE_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_COZ
#include <coz.h>
#define PROGRESS COZ_PROGRESS_NAMED("progress")
#else
#define PROGRESS ((void)0)
#endif

/* A function that keeps its own symbol and stack frame. */
#if defined(__clang__)
#define NAMED __attribute__((noinline))
#else
#define NAMED __attribute__((noipa))
#endif

enum { MOST_THREADS = 64, MOST_SWITCHES = 32, ITERATIONS_PER_US = 600 };

/* About `us` microseconds of a dependent chain (xorshift64), all of it on the line where it is used: a profiler that
 * asks about lines can be asked about this one. */
#define WORK(state, us) do { for (long left_ = (us) * ITERATIONS_PER_US; left_ > 0; left_--) { (state) ^= (state) << 13; (state) ^= (state) >> 7; (state) ^= (state) << 17; } } while (0)

static int switch_count;
static char **switches;
static int switch_is_known[MOST_SWITCHES];

static inline void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static inline void check(int error, const char *call)
{
    if (error != 0)
        fail(call, strerror(error));
}

static inline void read_switches(int argc, char **argv)
{
    if (argc > MOST_SWITCHES)
        fail(argv[0], "too many switches");
    switch_count = argc;
    switches = argv;
}

/* The value of the last `name=value` on the command line, else `otherwise`. */
static inline long number(const char *name, long otherwise)
{
    size_t length = strlen(name);
    long value = otherwise;
    for (int i = 1; i < switch_count; i++)
        if (strncmp(switches[i], name, length) == 0 && switches[i][length] == '=') {
            char *end;
            value = strtol(switches[i] + length + 1, &end, 10);
            if (*end != '\0' || value < 0)
                fail(switches[i], "no number");
            switch_is_known[i] = 1;
        }
    return value;
}

/* After the last `number`: a switch that changes nothing would be a comparison of nothing. With cpus=N the program
 * runs on the first N CPUs that it may use. */
static inline void switches_end(void)
{
    long cpus = number("cpus", 0);
    for (int i = 1; i < switch_count; i++)
        if (!switch_is_known[i])
            fail(switches[i], "no such switch");
    if (cpus == 0)
        return;
    cpu_set_t allowed, few;
    CPU_ZERO(&few);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail("sched_getaffinity", strerror(errno));
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < cpus; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &few);
    if (CPU_COUNT(&few) < cpus || sched_setaffinity(0, sizeof few, &few) != 0)
        fail("cpus", "there are not as many");
}

static inline pthread_t start(const char *name, void *(*function)(void *), long argument)
{
    pthread_t thread;
    check(pthread_create(&thread, NULL, function, (void *)(intptr_t)argument), "pthread_create");
    pthread_setname_np(thread, name); /* fails where the thread has ended already */
    return thread;
}

static inline void join(pthread_t thread)
{
    check(pthread_join(thread, NULL), "pthread_join");
}

/* A number that looks random and is the same in every run (splitmix64). */
static inline uint64_t mixed(uint64_t number)
{
    number += 0x9E3779B97F4A7C15u;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

/* Printed, so that no compiler removes the work. */
static inline int finish(uint64_t result)
{
    printf("result %016llx\n", (unsigned long long)result);
    return 0;
}

#endif
