/* compute THREADS MILLIONS [CPU]: threads that each compute a fixed amount and share nothing; with CPU, all pinned to
   that one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t steps;
static int cpu = -1;

static void *worker(void *start) {
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
            exit(3);
    }
    uint64_t x = (uint64_t)(uintptr_t)start;
    for (uint64_t step = 0; step < steps; step++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return (void *)(uintptr_t)x;
}

int main(int count, char **words) {
    int threads = count > 1 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > 256 || count < 3)
        return 2;
    steps = strtoull(words[2], NULL, 10) * 1000000;
    if (count > 3)
        cpu = atoi(words[3]);
    pthread_t ids[256];
    for (uintptr_t index = 0; index < (uintptr_t)threads; index++)
        if (pthread_create(&ids[index], NULL, worker, (void *)(index + 1)) != 0)
            return 3;
    uint64_t sum = 0;
    for (int index = 0; index < threads; index++) {
        void *result;
        if (pthread_join(ids[index], &result) != 0)
            return 3;
        sum ^= (uint64_t)(uintptr_t)result;
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
