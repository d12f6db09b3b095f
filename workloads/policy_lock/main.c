// A lock that is always wanted: whoever holds it is what the others wait for, and that is another thread again and again
// (paper 4, section 7.2: programs with many heavily contended critical sections). `[threads] [scale]`
#include "../sim.h"

#ifndef HOLDS
#define HOLDS 40
#endif
#define ROWS 64

static struct {
    pthread_mutex_t lock;
    char between[LINE];
    uint64_t table[ROWS];
} shared __attribute__((aligned(4096))) = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t results[MOST_THREADS][LINE / sizeof(uint64_t)] __attribute__((aligned(4096)));

NAMED static uint64_t draw(uint64_t x, long times)
{
    for (long i = 0; i < times; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

NAMED static void enter(uint64_t key)
{
#ifdef FIXED
    uint64_t drawn = draw(key, 3000); // FIX: only what is shared is done under the lock
#endif
    check(pthread_mutex_lock(&shared.lock), "pthread_mutex_lock");
#ifndef FIXED
    uint64_t drawn = draw(key, 3000); // PLANTED
#endif
    shared.table[drawn % ROWS]++;
    check(pthread_mutex_unlock(&shared.lock), "pthread_mutex_unlock");
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    for (long hold = 0; hold < HOLDS * scale; hold++) {
        uint64_t own = draw((uint64_t)(me * HOLDS + hold + 1), 4000 + 400 * ((hold + me) % 5));
        results[me][0] += own;
        enter(own);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_with_main(run);
    uint64_t sum = 0;
    for (long row = 0; row < ROWS; row++)
        sum += shared.table[row];
    return finish("policy_lock", HOLDS, sum == (uint64_t)(HOLDS * scale * threads));
}
