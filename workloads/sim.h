// What the workloads of the simulator share beyond `lime.h`: a team to which main belongs, so that member 3 is thread 3 of
// the process and has core 3; and memory that begins at a line of the caches.
//
// Where cycles are lost is marked PLANTED.
#ifndef SIM_H
#define SIM_H

#include "lime.h"

#define LINE 64 // bytes of a line of the caches

// Runs `member` in main, as number 0, and in the other threads, and waits for all.
static inline void run_with_main(void *(*member)(void *))
{
    pthread_t team[MOST_THREADS];
    check(pthread_barrier_init(&barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    for (long t = 1; t < threads; t++)
        start_thread(&team[t], member, (void *)(intptr_t)t);
    member((void *)0);
    for (long t = 1; t < threads; t++)
        join_thread(team[t]);
}

// Memory that nobody has touched.
static inline void *fresh(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(99);
    }
    return memory;
}

// Reads so much else that no cache has anything of before, nor anything that it would have to write back.
static inline void empty_caches(void)
{
    enum { BYTES = 32 << 20 };
    volatile char *other = calloc(BYTES, 1);
    for (long at = 0; other != NULL && at < BYTES; at += LINE)
        (void)other[at];
    free((void *)other);
}

// The first of `count` things that member `me` has, if they are dealt out evenly; that of `me + 1` is the end.
static inline long share(long count, long me)
{
    return count * me / threads;
}

#endif
