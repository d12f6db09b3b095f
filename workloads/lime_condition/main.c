// Sets of numbers, kept as bits, that are walked member by member; the last threads' sets have more members. The threads
// meet at a barrier of the program's own, made of a mutex and a condition variable.
#include "../lime.h"

#define WORDS 4096
#define ROUNDS 4

static uint64_t set[WORDS];
static uint64_t sums[MOST_THREADS];

static pthread_mutex_t meeting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER;
static long came, meetings;

static void meet(void)
{
    check(pthread_mutex_lock(&meeting), "pthread_mutex_lock");
    long this_one = meetings;
    if (++came == threads) {
        came = 0;
        meetings++;
        check(pthread_cond_broadcast(&all_came), "pthread_cond_broadcast");
    } else {
        while (meetings == this_one)
            check(pthread_cond_wait(&all_came, &meeting), "pthread_cond_wait");
    }
    check(pthread_mutex_unlock(&meeting), "pthread_mutex_unlock");
}

static uint64_t sum_members(uint64_t word, uint64_t first)
{
    uint64_t sum = 0;
    while (word != 0) { // PLANTED: sets have between none and 64 members
        sum += (first + (uint64_t)__builtin_ctzll(word)) * 0x9E3779B97F4A7C15u >> 20;
        word &= word - 1;
    }
    return sum;
}

static void *walk(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        uint64_t sum = 0;
#ifndef FIXED
        for (long i = me * WORDS / threads; i < (me + 1) * WORDS / threads; i++)
            sum += sum_members(set[i], (uint64_t)i * 64);
#else
        for (long i = me; i < WORDS; i += threads) // FIX: words are dealt out like cards
            sum += sum_members(set[i], (uint64_t)i * 64);
#endif
        sums[me] = sum;
        meet();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint64_t wanted = 0, got = 0;
    for (uint64_t i = 0; i < WORDS; i++) {
        for (int bit = 0; bit < 64; bit++)
            set[i] |= (uint64_t)(scattered(i * 64 + (uint64_t)bit) % WORDS < i) << bit;
        wanted += sum_members(set[i], i * 64);
    }
    run_team(walk);
    for (long t = 0; t < threads; t++)
        got += sums[t];
    return finish("lime_condition", got, got == wanted);
}
