/* Two threads on one CPU that hand a turn to each other through futexes: each round is two context switches, both
 * of a thread that blocks. By default each turn computes for so long that there are about 100,000 switches a second;
 * with no work there are as many as the machine can make. Prints the wall time per switch, and how many. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

enum { ROUNDS = 100000, WORK = 7300 };

static _Atomic uint32_t turn; /* whose it is, 0 or 1 */
static long rounds = ROUNDS, work_rounds = WORK;
static uint64_t results[2];

static void stop(const char *call)
{
    fprintf(stderr, "switch_storm: %s: %s\n", call, strerror(errno));
    exit(EXIT_FAILURE);
}

static void *run(void *number)
{
    uint32_t own = (uint32_t)(uintptr_t)number, other = 1 - own;
    uint64_t result = own + 1;
    for (long i = 0; i < rounds; i++) {
        while (atomic_load(&turn) != own)
            if (syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, other, NULL, NULL, 0) != 0 && errno != EAGAIN
                && errno != EINTR)
                stop("FUTEX_WAIT");
        result = work(result, work_rounds);
        atomic_store(&turn, other);
        if (syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
            stop("FUTEX_WAKE");
    }
    results[own] = result;
    return NULL;
}

int main(int count, char **arguments)
{
    if (count > 3) {
        fprintf(stderr, "usage: %s [rounds] [rounds of work in a turn]\n", arguments[0]);
        return 2;
    }
    if (count > 1)
        rounds = strtol(arguments[1], NULL, 10);
    if (count > 2)
        work_rounds = strtol(arguments[2], NULL, 10);
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        stop("sched_getaffinity");
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        stop("sched_setaffinity");

    pthread_t threads[2];
    double begin = now_ns();
    for (uintptr_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    double ns = now_ns() - begin;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        stop("getrusage");
    long switches = usage.ru_nvcsw + usage.ru_nivcsw;
    printf("switch_ns %.1f\n", ns / (double)switches);
    printf("switches %ld\n", switches);
    return results[0] == 0 || results[1] == 0;
}
