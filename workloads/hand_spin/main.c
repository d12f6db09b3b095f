// Threads encode blocks of uneven size and write them in order: who is early waits for its turn in a loop of the
// program's own making, on a core that the thread waited for could use.
#include "../work.h"

#include <stdatomic.h>

#define BLOCKS 480
#define LIGHT_US 2000
#define HEAVY_US 6000 // one block of every four, each time another thread's where there are four threads

static atomic_long next_to_write;
static uint64_t written;
static long threads, scale, pauses;

#ifndef FIXED
NAMED static void wait_in_a_loop(long block)
{
    while (atomic_load(&next_to_write) != block) // PLANTED: looks again and again, without even a PAUSE
        ;
}

NAMED static void wait_with_pauses(long block)
{
    while (atomic_load(&next_to_write) != block) // PLANTED: the same loop with a PAUSE
        __builtin_ia32_pause();
}

static void wait_for_turn(long block)
{
    if (pauses)
        wait_with_pauses(block);
    else
        wait_in_a_loop(block);
}

static void end_turn(long block)
{
    atomic_store(&next_to_write, block + 1);
}
#else
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_ended = PTHREAD_COND_INITIALIZER;

NAMED static void wait_for_turn(long block)
{
    check(pthread_mutex_lock(&turn_lock), "pthread_mutex_lock");
    while (atomic_load(&next_to_write) != block) // FIX: sleeps until a turn has ended
        check(pthread_cond_wait(&turn_ended, &turn_lock), "pthread_cond_wait");
    check(pthread_mutex_unlock(&turn_lock), "pthread_mutex_unlock");
}

static void end_turn(long block)
{
    check(pthread_mutex_lock(&turn_lock), "pthread_mutex_lock");
    atomic_store(&next_to_write, block + 1);
    check(pthread_cond_broadcast(&turn_ended), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&turn_lock), "pthread_mutex_unlock");
}
#endif

NAMED static uint64_t encode_block(long block)
{
    int heavy = block % 4 == (block / 4) % 4;
    return compute((uint64_t)block + 1, heavy ? HEAVY_US : LIGHT_US);
}

static void *encoder(void *argument)
{
    for (long block = (long)(intptr_t)argument; block < BLOCKS * scale; block += threads) {
        uint64_t code = encode_block(block);
        wait_for_turn(block);
        written = written * 31 + code;
        end_turn(block);
    }
    return NULL;
}

// A third argument of 2 asks for the loop with PAUSE.
int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pauses = argument(argc, argv, 3, 1) > 1;
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], encoder, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    printf("hand_spin checksum %016llx\n", (unsigned long long)written);
    return 0;
}
