// Threads that map, fill and unmap a buffer for every task: they share one address space, and its lock.
#define _GNU_SOURCE
#include "../work.h"

#include <sys/mman.h>

#define TASKS 90000
#define BUFFER (8 * 1024)
#define PAGE 4096
#define TASK_US 2

static long threads, scale;

NAMED static uint64_t fill_buffer(unsigned char *buffer, long task)
{
    for (size_t at = 0; at < BUFFER; at += PAGE)
        buffer[at] = (unsigned char)((uint64_t)task + at / PAGE);
    uint64_t sum = 0;
    for (size_t at = 0; at < BUFFER; at += PAGE)
        sum = sum * 31 + buffer[at];
    return compute(sum, TASK_US);
}

NAMED static unsigned char *map_buffer(void)
{
    void *buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        exit(97);
    return buffer;
}

NAMED static void unmap_buffer(unsigned char *buffer)
{
    if (munmap(buffer, BUFFER) != 0)
        exit(96);
}

static void *buffer_worker(void *argument)
{
    uint64_t sum = 0;
#ifdef FIXED
    unsigned char *buffer = map_buffer(); // FIX: one buffer for all tasks of the thread
#endif
    for (long task = (long)(intptr_t)argument; task < TASKS * scale; task += threads) {
#ifndef FIXED
        unsigned char *buffer = map_buffer(); // PLANTED: a new mapping, new pages and an unmapping for each task
        sum += fill_buffer(buffer, task);
        unmap_buffer(buffer);
#else
        sum += fill_buffer(buffer, task);
#endif
    }
#ifdef FIXED
    unmap_buffer(buffer);
#endif
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], buffer_worker, (void *)(intptr_t)t);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++) {
        void *sum;
        check(pthread_join(workers[t], &sum), "pthread_join");
        checksum += (uintptr_t)sum;
    }
    printf("mmap_lock checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
