// A lock convoy: many threads take one lock for a moment, so often that they queue for it all the time.
// -DHANDOVER makes it a priority-inheritance mutex, which the kernel hands over in turn: every event then
// costs a sleep and a wake-up, as with the fair locks that convoys are named for.
#include "../work.h"

#define BUCKETS 256
#define EVENT_STEPS 60  // about 0.1 microseconds, outside the lock
#define COUNT_STEPS 600 // about 1 microsecond, inside
#ifdef HANDOVER
#define EVENTS 60000
#else
#define EVENTS 600000
#endif

static pthread_mutex_t counter_lock;
static uint64_t counters[BUCKETS];
static long threads, scale;

static inline uint64_t steps(uint64_t x, int count)
{
    for (int i = 0; i < count; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static inline void add(uint64_t *table, uint64_t event)
{
    table[event % BUCKETS] += steps(event, COUNT_STEPS) >> 32;
}

#ifndef FIXED
NAMED static void count_event(uint64_t *own, uint64_t event)
{
    (void)own;
    check(pthread_mutex_lock(&counter_lock), "pthread_mutex_lock"); // PLANTED: one lock for every event
    add(counters, event);
    check(pthread_mutex_unlock(&counter_lock), "pthread_mutex_unlock");
}
#else
NAMED static void count_event(uint64_t *own, uint64_t event)
{
    add(own, event); // FIX: count in the thread's own table, add up once at the end
}
#endif

NAMED static void merge_counters(const uint64_t *own)
{
    check(pthread_mutex_lock(&counter_lock), "pthread_mutex_lock");
    for (int i = 0; i < BUCKETS; i++)
        counters[i] += own[i];
    check(pthread_mutex_unlock(&counter_lock), "pthread_mutex_unlock");
}

static void *event_worker(void *argument)
{
    uint64_t state = (uint64_t)(intptr_t)argument * 0x9E3779B97F4A7C15u + 1;
    uint64_t own[BUCKETS] = {0};
    for (long event = 0; event < EVENTS * scale / threads; event++)
        count_event(own, state = steps(state, EVENT_STEPS));
    merge_counters(own);
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 8);
    scale = argument(argc, argv, 2, 1);
    pthread_mutexattr_t attributes;
    check(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
#ifdef HANDOVER
    check(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT), "pthread_mutexattr_setprotocol");
#endif
    check(pthread_mutex_init(&counter_lock, &attributes), "pthread_mutex_init");
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], event_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    uint64_t checksum = 0;
    for (int i = 0; i < BUCKETS; i++)
        checksum = checksum * 31 + counters[i];
    printf("convoy checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
