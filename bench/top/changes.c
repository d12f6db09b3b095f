// Changes of activity at a controlled rate: what `holdup top` is to keep up with.
//
// changes [ROUNDS] [MICROSECONDS] [PAIRS]
//
// The two threads of a pair hand a byte to each other through two pipes, and compute in between. Each reading and each writing is
// a system call that can block: a thread stops being active with it and goes on after it, whether it had to wait or not. So a round
// of a pair is eight changes, always, and the end of a thread is one. It prints how many there were, and how many of them in a second.
#include <time.h>
#include <unistd.h>

#include "../../workloads/work.h"

#define MOST_PAIRS 64

struct pair {
    int there[2], back[2];
    uint64_t sums[2];
};

static struct pair pairs[MOST_PAIRS];
static long rounds, us;

static void passes(int from, int to, int first, uint64_t *sum)
{
    char byte = 0;
    for (long round = 0; round < rounds; round++) {
        if (first && write(to, &byte, 1) != 1)
            exit(97);
        if (read(from, &byte, 1) != 1)
            exit(97);
        *sum ^= compute((uint64_t)round, us);
        if (!first && write(to, &byte, 1) != 1)
            exit(97);
    }
}

static void *begins(void *argument)
{
    struct pair *pair = argument;
    passes(pair->back[0], pair->there[1], 1, &pair->sums[0]);
    return NULL;
}

static void *answers(void *argument)
{
    struct pair *pair = argument;
    passes(pair->there[0], pair->back[1], 0, &pair->sums[1]);
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argument(argc, argv, 1, 15000);
    us = argument(argc, argv, 2, 50);
    long count = argument(argc, argv, 3, 4);
    if (count > MOST_PAIRS)
        return 98;
    for (long i = 0; i < count; i++)
        if (pipe(pairs[i].there) || pipe(pairs[i].back))
            return 97;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_t threads[2 * MOST_PAIRS];
    for (long i = 0; i < count; i++) {
        start_thread(&threads[2 * i], begins, &pairs[i]);
        start_thread(&threads[2 * i + 1], answers, &pairs[i]);
    }
    for (long i = 0; i < 2 * count; i++)
        join_thread(threads[i]);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    double changes = (8.0 * (double)rounds + 2.0) * (double)count;
    printf("seconds %.6f\nchanges %.0f\nrate %.0f\n", seconds, changes, changes / seconds);
    fflush(stdout);
    // Who looks once in a while is to see the end.
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 300000000};
    nanosleep(&pause, NULL);
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum ^= pairs[i].sums[0] ^ pairs[i].sums[1];
    return sum == 1;
}
