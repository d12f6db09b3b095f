// Changes of activity at a controlled rate: what `holdup top` is to keep up with.
//
// changes [ROUNDS] [MICROSECONDS]
//
// Two threads hand a byte to each other through two pipes, and compute in between. Each reading and each writing is a system
// call that can block: a thread stops being active with it and goes on after it, whether it had to wait or not. So a round is
// eight changes, always. It prints how many there were, and how many of them in a second.
#include <time.h>
#include <unistd.h>

#include "../../workloads/work.h"

static int there[2], back[2];
static long rounds, us;
static uint64_t sums[2];

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

static void *begins(void *unused)
{
    (void)unused;
    passes(back[0], there[1], 1, &sums[0]);
    return NULL;
}

static void *answers(void *unused)
{
    (void)unused;
    passes(there[0], back[1], 0, &sums[1]);
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argument(argc, argv, 1, 40000);
    us = argument(argc, argv, 2, 25);
    if (pipe(there) || pipe(back))
        return 97;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_t one, other;
    start_thread(&one, begins, NULL);
    start_thread(&other, answers, NULL);
    join_thread(one);
    join_thread(other);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("seconds %.6f\nchanges %ld\nrate %.0f\n", seconds, 8 * rounds, (double)(8 * rounds) / seconds);
    fflush(stdout);
    // Who looks once in a while is to see the end.
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 300000000};
    nanosleep(&pause, NULL);
    return (sums[0] ^ sums[1]) == 1;
}
