/* Blocks for 50 ms in calls, and then reads for long what costs the kernel work and no wait. Prints in how many of the reads
 * it can seem to have lost its core: in those in which the kernel counts a switch, and in one each 100 ms, as often as the kernel
 * stops a thread on its way back for work of its own (MM_CID_SCAN_DELAY, linux/mm_types.h), which restartable sequences show alike. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 50, READS = 500, LENGTH = 1 << 20, SCAN_MS = 100 };

static void *nothing(void *arg) { return arg; }

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < SLEEPS; i++)
        usleep(1000);
    int zeros = open("/dev/zero", O_RDONLY), lost = 0;
    long begin = milliseconds();
    char *buffer = malloc(LENGTH);
    for (int i = 0; i < READS; i++) {
        long before = switches();
        if (read(zeros, buffer, LENGTH) != LENGTH)
            return 1;
        lost += switches() != before;
    }
    printf("%ld\n", lost + (milliseconds() - begin) / SCAN_MS + 1);
    return 0;
}
