// Nothing holds this up: one thread for each core, equal shares, and a lock that is free when it is wanted.
#define _GNU_SOURCE
#include "../work.h"

#include <sched.h>

#define PIECES 480
#define PIECE_US 4000

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;
static long threads, scale;

static long usable_cores(void)
{
    cpu_set_t cores;
    check(sched_getaffinity(0, sizeof cores, &cores) == 0 ? 0 : errno, "sched_getaffinity");
    return CPU_COUNT(&cores);
}

NAMED static uint64_t do_piece(long piece)
{
    return compute((uint64_t)piece + 1, PIECE_US);
}

NAMED static void add_to_total(uint64_t value)
{
    check(pthread_mutex_lock(&total_lock), "pthread_mutex_lock");
    total += value;
    check(pthread_mutex_unlock(&total_lock), "pthread_mutex_unlock");
}

NAMED static void *even_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long piece = PIECES * scale * me / threads; piece < PIECES * scale * (me + 1) / threads; piece++)
        add_to_total(do_piece(piece));
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, usable_cores());
    scale = argument(argc, argv, 2, 1);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], even_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    printf("balanced checksum %016llx\n", (unsigned long long)total);
    return 0;
}
