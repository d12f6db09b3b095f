// Each thread works through rows of its own, some threads through more; who has done so looks in the queues of all for what is left,
// until nobody works any more. Looking takes more instructions than the rows, and is no work.
#include "../lime.h"

#include <stdatomic.h>

#define ROWS 60
#define ROW 40
#define ROUNDS 4

struct task {
    struct task *next;
    long row;
};

struct queue {
    pthread_mutex_t lock;
    struct task *_Atomic first;
};

static struct queue queues[MOST_THREADS];
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long done;
static uint64_t sums[MOST_THREADS];

static uint64_t read_row(long row)
{
    uint64_t value = scattered((uint64_t)row);
    for (int i = 0; i < ROW; i++)
        value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9u;
    return value;
}

// What is left in a queue; the own one is the first that is looked at.
static struct task *take(long me)
{
    long at = me;
    for (long left = threads; left > 0; left--) { // WAITS
        struct queue *queue = &queues[at]; // WAITS
        if (atomic_load_explicit(&queue->first, memory_order_relaxed)) { // WAITS
            pthread_mutex_lock(&queue->lock);
            struct task *task = queue->first;
            if (task)
                queue->first = task->next;
            pthread_mutex_unlock(&queue->lock);
            if (task)
                return task;
        }
        if (++at >= threads) // WAITS
            at = 0; // WAITS
    }
    return NULL;
}

static void count_done(long change)
{
    pthread_mutex_lock(&done_lock);
    done += change;
    pthread_mutex_unlock(&done_lock);
}

static void look_for_work(long me, long all)
{
    count_done(1);
    while (atomic_load_explicit(&done, memory_order_acquire) < all) { // WAITS
        struct task *task = take(me); // WAITS
        if (task) { // WAITS
            count_done(-1);
            sums[me] += read_row(task->row);
            count_done(1);
        }
    }
}

static void *work(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        long rows = ROWS;
#ifndef FIXED
        if (me % 4 == 1)
            rows = 3 * ROWS;
#endif
        for (long row = 0; row < rows; row++) // PLANTED: some threads have more rows
            sums[me] += read_row(row);
        look_for_work(me, threads * (round + 1));
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long t = 0; t < threads; t++)
        check(pthread_mutex_init(&queues[t].lock, NULL), "pthread_mutex_init");
    run_team(work);
    uint64_t sum = 0, more = 0;
    for (long row = 0; row < 3 * ROWS; row++) {
        sum += row < ROWS ? read_row(row) : 0;
        more += read_row(row);
    }
    int right = 1;
    for (long t = 0; t < threads; t++) {
        uint64_t once = sum;
#ifndef FIXED
        once = t % 4 == 1 ? more : sum;
#endif
        right &= sums[t] == once * (uint64_t)(ROUNDS * scale);
    }
    return finish("lime_look", sum, right);
}
