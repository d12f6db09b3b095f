// Workers poll for the next job and call sched_yield() between two looks: all cores are busy, and one thread works.
#include "../work.h"

#include <sched.h>
#include <stdatomic.h>

#define JOBS 750
#define SCAN_US 1000 // by main, which hands out the jobs
#define MATCH_US 300 // by the worker that gets one
#define SLOTS 8

static _Atomic uint64_t slots[SLOTS]; // 0: free
static atomic_long taken;
static atomic_int closed;
static uint64_t sums[64];
static long threads, scale;

#ifdef FIXED
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slots_changed = PTHREAD_COND_INITIALIZER;
#endif

// Takes a job out of the slots, or gives 0 where there is none.
static uint64_t try_take(void)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t job = atomic_load(&slots[i]);
        if (job != 0 && atomic_compare_exchange_strong(&slots[i], &job, 0)) {
            atomic_fetch_add(&taken, 1);
            return job;
        }
    }
    return 0;
}

static int try_put(uint64_t job)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&slots[i], &none, job))
            return 1;
    }
    return 0;
}

#ifndef FIXED
NAMED static uint64_t wait_for_job(void)
{
    uint64_t job;
    while ((job = try_take()) == 0 && !atomic_load(&closed))
        sched_yield(); // PLANTED: polls
    return job != 0 ? job : try_take();
}

NAMED static void hand_out(uint64_t job)
{
    while (!try_put(job))
        sched_yield(); // PLANTED: polls, where all slots are taken
}

static void close_slots(void)
{
    atomic_store(&closed, 1);
}
#else
NAMED static uint64_t wait_for_job(void)
{
    uint64_t job;
    check(pthread_mutex_lock(&slots_lock), "pthread_mutex_lock");
    while ((job = try_take()) == 0 && !atomic_load(&closed))
        check(pthread_cond_wait(&slots_changed, &slots_lock), "pthread_cond_wait"); // FIX: sleeps
    check(pthread_cond_broadcast(&slots_changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&slots_lock), "pthread_mutex_unlock");
    return job;
}

NAMED static void hand_out(uint64_t job)
{
    check(pthread_mutex_lock(&slots_lock), "pthread_mutex_lock");
    while (!try_put(job))
        check(pthread_cond_wait(&slots_changed, &slots_lock), "pthread_cond_wait");
    check(pthread_cond_broadcast(&slots_changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&slots_lock), "pthread_mutex_unlock");
}

static void close_slots(void)
{
    check(pthread_mutex_lock(&slots_lock), "pthread_mutex_lock");
    atomic_store(&closed, 1);
    check(pthread_cond_broadcast(&slots_changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&slots_lock), "pthread_mutex_unlock");
}
#endif

NAMED static uint64_t scan_record(long record)
{
    return compute((uint64_t)record + 1, SCAN_US) | 1;
}

NAMED static uint64_t match_job(uint64_t job)
{
    return compute(job, MATCH_US);
}

static void *match_worker(void *argument)
{
    long number = (long)(intptr_t)argument;
    uint64_t job;
    while ((job = wait_for_job()) != 0)
        sums[number] += match_job(job);
    return NULL;
}

// The first argument is the number of workers; main, which hands out the jobs, comes on top.
int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 3);
    scale = argument(argc, argv, 2, 1);
    if (threads > 64)
        threads = 64;
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], match_worker, (void *)(intptr_t)t);
    for (long job = 0; job < JOBS * scale; job++)
        hand_out(scan_record(job));
    close_slots();
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++) {
        join_thread(workers[t]);
        checksum += sums[t];
    }
    printf("spin_yield checksum %016llx, jobs %ld\n", (unsigned long long)checksum, atomic_load(&taken));
    return 0;
}
