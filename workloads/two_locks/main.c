// Two contended locks, of which one is on the critical path.
//
// Two ledger threads queue for ledger_lock until the program ends. The others queue for stats_lock, longer in
// all, but end half-way: fixing stats_lock (-DFIXED_OTHER) gives nothing, fixing ledger_lock does.
#include "../work.h"

#define LEDGER_THREADS 2
#define POSTINGS 400
#define POSTING_US 2500
#define SAMPLES 200
#define SAMPLE_US 2500
#define GAP_US 100 // outside both locks

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ledger, stats;
static long threads, scale;

#ifndef FIXED
NAMED static void post_to_ledger(uint64_t entry)
{
    check(pthread_mutex_lock(&ledger_lock), "pthread_mutex_lock");
    ledger += compute(entry, POSTING_US); // PLANTED: 2.5 ms with ledger_lock held
    check(pthread_mutex_unlock(&ledger_lock), "pthread_mutex_unlock");
}
#else
NAMED static void post_to_ledger(uint64_t entry)
{
    uint64_t value = compute(entry, POSTING_US); // FIX: compute before ledger_lock is taken
    check(pthread_mutex_lock(&ledger_lock), "pthread_mutex_lock");
    ledger += value;
    check(pthread_mutex_unlock(&ledger_lock), "pthread_mutex_unlock");
}
#endif

#ifndef FIXED_OTHER
NAMED static void record_stats(uint64_t sample)
{
    check(pthread_mutex_lock(&stats_lock), "pthread_mutex_lock");
    stats += compute(sample, SAMPLE_US); // waited for more, but not on the critical path
    check(pthread_mutex_unlock(&stats_lock), "pthread_mutex_unlock");
}
#else
NAMED static void record_stats(uint64_t sample)
{
    uint64_t value = compute(sample, SAMPLE_US);
    check(pthread_mutex_lock(&stats_lock), "pthread_mutex_lock");
    stats += value;
    check(pthread_mutex_unlock(&stats_lock), "pthread_mutex_unlock");
}
#endif

NAMED static void *ledger_worker(void *argument)
{
    for (long posting = (long)(intptr_t)argument; posting < POSTINGS * scale; posting += LEDGER_THREADS)
        post_to_ledger(compute((uint64_t)posting + 1, GAP_US));
    return NULL;
}

NAMED static void *stats_worker(void *argument)
{
    for (long sample = (long)(intptr_t)argument; sample < SAMPLES * scale; sample += threads - LEDGER_THREADS)
        record_stats(compute((uint64_t)sample + 1000001, GAP_US));
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 7);
    scale = argument(argc, argv, 2, 1);
    if (threads <= LEDGER_THREADS) {
        fprintf(stderr, "two_locks needs at least %d threads\n", LEDGER_THREADS + 1);
        return 98;
    }
    pthread_t workers[threads];
    for (long t = 0; t < LEDGER_THREADS; t++)
        start_thread(&workers[t], ledger_worker, (void *)(intptr_t)t);
    for (long t = LEDGER_THREADS; t < threads; t++)
        start_thread(&workers[t], stats_worker, (void *)(intptr_t)(t - LEDGER_THREADS));
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    printf("two_locks checksum %016llx\n", (unsigned long long)(ledger * 31 + stats));
    return 0;
}
