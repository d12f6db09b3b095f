// What the workloads of `holdup stack` share: a team that main only starts and waits for, as the programs of paper 1 do, and
// memory of its own for each member.
//
// All the work is dealt out evenly among the threads: with N of them each has the N-th part. `-DNO_SYNC` leaves locks and
// barriers out; the results stay right, since nothing that is computed is shared.
#ifndef STACK_H
#define STACK_H

#include "lime.h"

#define LINE 64 // bytes of a line of the caches
#define WORDS (LINE / (long)sizeof(uint64_t))

// A line of a member's own memory.
typedef uint64_t line_t[LINE / sizeof(uint64_t)];

#ifdef NO_SYNC
#define LOCK(lock) ((void)(lock))
#define UNLOCK(lock) ((void)(lock))
#define ALL_MEET() ((void)0)
#else
#define LOCK(lock) check(pthread_mutex_lock(lock), "pthread_mutex_lock")
#define UNLOCK(lock) check(pthread_mutex_unlock(lock), "pthread_mutex_unlock")
#define ALL_MEET() MEET()
#endif

// What each member keeps for itself, on lines of its own.
static struct {
    uint64_t done; // units of work
    uint64_t sum;
    line_t apart[2];
} members[MOST_THREADS] __attribute__((aligned(LINE)));

// `bytes` of memory, each page touched by who asks for it.
static inline line_t *own_memory(long bytes)
{
    line_t *memory = aligned_alloc(4096, ((size_t)bytes + 4095) / 4096 * 4096);
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(99);
    }
    for (long line = 0; line < bytes / LINE; line++)
        memory[line][0] = (uint64_t)line;
    return memory;
}

// The first of `count` things that member `me` has; that of `me + 1` is the end.
static inline long first_of(long count, long me)
{
    return count * me / threads;
}

// All units that the members have done.
static inline uint64_t all_done(void)
{
    uint64_t done = 0;
    for (long t = 0; t < threads; t++)
        done += members[t].done;
    return done;
}

#endif
