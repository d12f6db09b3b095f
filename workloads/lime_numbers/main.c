// Threads draw their numbers when they begin, and count words of a text of their own in a table with a lock for each part: who
// is which thread is chance, and locks are taken unequally often, but who does what is not dealt out while the program runs.
#include "../lime.h"

#define WORDS 6000
#define PARTS 16
#define STEPS 3

static pthread_mutex_t draw = PTHREAD_MUTEX_INITIALIZER;
static long drawn;
static struct {
    pthread_mutex_t lock;
    uint64_t sum;
} parts[PARTS];

static uint64_t hashed(uint64_t word)
{
    uint64_t sum = word;
    for (int turn = 0; turn < 60; turn++)
        sum = scattered(sum);
    return sum;
}

static void *count(void *unused)
{
    (void)unused;
    check(pthread_mutex_lock(&draw), "pthread_mutex_lock");
    long me = drawn++;
    check(pthread_mutex_unlock(&draw), "pthread_mutex_unlock");
    long from = me * WORDS / threads, to = (me + 1) * WORDS / threads;
    for (long step = 0; step < STEPS * scale; step++) {
        for (long word = from; word < to; word++) {
            // Of the first text each word counts, of the others one of eight.
#ifndef FIXED
            if (me == 0 || word % 8 == 0) { // PLANTED: the first text has more words that count
#else
            if (word % 8 == 0) { // FIX: all texts are alike
#endif
                uint64_t sum = hashed((uint64_t)word);
                check(pthread_mutex_lock(&parts[sum % PARTS].lock), "pthread_mutex_lock");
                parts[sum % PARTS].sum += sum;
                check(pthread_mutex_unlock(&parts[sum % PARTS].lock), "pthread_mutex_unlock");
            }
        }
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (int part = 0; part < PARTS; part++)
        check(pthread_mutex_init(&parts[part].lock, NULL), "pthread_mutex_init");
    run_team(count);
    uint64_t all = 0, wanted = 0;
#ifndef FIXED
    long first = WORDS / threads;
#else
    long first = 0;
#endif
    for (long word = 0; word < WORDS; word++)
        if (word < first || word % 8 == 0)
            wanted += hashed((uint64_t)word) * (uint64_t)(STEPS * scale);
    for (int part = 0; part < PARTS; part++)
        all += parts[part].sum;
    // Of words that count in every form.
    uint64_t checksum = 0;
    for (long word = 0; word < WORDS; word += 8)
        checksum = checksum * 31 + hashed((uint64_t)word);
    return finish("lime_numbers", checksum, all == wanted);
}
