// Threads take tasks from each other's queues. One task of each round is as much as all others together and is begun late: who finds
// nothing goes on looking, in the queues and at how many have nothing to do; with a third argument of 2 it takes each queue's lock to look.
#include "../work.h"

#include <stdatomic.h>

#define MOST_THREADS 64
#define TASKS 24
#define LARGE (2 * TASKS)
#define TASK_US 400
#define ROUNDS 25

struct task {
    struct task *next;
    long from, count;
};

struct queue {
    pthread_mutex_t lock;
    struct task *_Atomic first;
    char apart[64];
};

static long threads, rounds;
static int locks_to_look;
static struct queue queues[MOST_THREADS];
static pthread_barrier_t round_begins;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long idle;
static uint64_t results[MOST_THREADS * 8]; // 8: a cache line each

static void put(long to, long from, long count)
{
    struct task *task = malloc(sizeof *task);
    check(task ? 0 : ENOMEM, "malloc");
    *task = (struct task){.from = from, .count = count};
    pthread_mutex_lock(&queues[to].lock);
    task->next = queues[to].first;
    queues[to].first = task;
    pthread_mutex_unlock(&queues[to].lock);
}

NAMED static struct task *take_task(long me)
{
    long at = me;
    for (long left = threads; left > 0; left--) {
        struct queue *queue = &queues[at];
        if (locks_to_look || atomic_load_explicit(&queue->first, memory_order_relaxed)) {
            pthread_mutex_lock(&queue->lock);
            struct task *task = queue->first;
            if (task)
                queue->first = task->next;
            pthread_mutex_unlock(&queue->lock);
            if (task)
                return task;
        }
        if (++at >= threads)
            at = 0;
    }
    return NULL;
}

static void count_idle(long change)
{
    pthread_mutex_lock(&idle_lock);
    idle += change;
    pthread_mutex_unlock(&idle_lock);
}

NAMED static void run_task(struct task *task, long me)
{
    for (long i = task->from; i < task->from + task->count; i++)
        results[me * 8] += compute((uint64_t)i + 1, TASK_US);
    free(task);
}

NAMED static void work_until_idle(long me)
{
    struct task *task;
    for (;;) {
        while ((task = take_task(me)))
            run_task(task, me);
        count_idle(1);
        for (;;) {
            if (atomic_load_explicit(&idle, memory_order_acquire) >= threads)
                return;
            task = take_task(me);
            if (task)
                break;
        }
        count_idle(-1);
        run_task(task, me);
    }
}

NAMED static void *worker(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < rounds; round++) {
        if (me == 0)
            idle = 0;
        if (me == 0) {
#ifdef FIXED
            for (long i = 0; i < LARGE; i++)
                put(me, i, 1); // FIX: tasks of one size
#else
            put(me, 0, LARGE); // PLANTED: the first that is put is the last that is taken
#endif
        }
        for (long i = 0; i < TASKS; i++)
            put(me, LARGE + me * TASKS + i, 1);
        pthread_barrier_wait(&round_begins);
        work_until_idle(me);
        pthread_barrier_wait(&round_begins);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 2);
    rounds = ROUNDS * argument(argc, argv, 2, 1);
    locks_to_look = argument(argc, argv, 3, 1) == 2;
    if (threads > MOST_THREADS) {
        fprintf(stderr, "%s: at most %d threads\n", argv[0], MOST_THREADS);
        return 98;
    }
    check(pthread_barrier_init(&round_begins, NULL, (unsigned)threads), "pthread_barrier_init");
    pthread_t team[MOST_THREADS];
    for (long t = 0; t < threads; t++)
        check(pthread_mutex_init(&queues[t].lock, NULL), "pthread_mutex_init");
    for (long t = 0; t < threads; t++)
        start_thread(&team[t], worker, (void *)(intptr_t)t);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++) {
        join_thread(team[t]);
        checksum += results[t * 8];
    }
    printf("idle_thieves checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
