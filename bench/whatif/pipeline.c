/* Reader, filter, writer, with bounded queues between them. Really changed by: filter (us for an item), filters (threads
 * of that stage), capacity (of both queues). With unsteady=1 the filter's items come in bursts of long and short
 * ones of the same mean. */
#include "case.h"

enum { MOST_ITEMS = 1024, BURST = 16 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    long producers; /* that have not finished */
    long first, length;
    uint64_t items[MOST_ITEMS];
};

#define QUEUE { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 1, 0, 0, { 0 } }

static struct queue to_filter = QUEUE, to_write = QUEUE;
static long items, reading, filter, writing, capacity, filters, unsteady;
static uint64_t written;

NAMED static void put(struct queue *queue, uint64_t item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == capacity)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->items[(queue->first + queue->length++) % MOST_ITEMS] = item;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

/* Takes the oldest item; 0 where there is none and all producers have finished. */
NAMED static int take(struct queue *queue, uint64_t *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0 && queue->producers > 0)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    int took = queue->length > 0;
    if (took) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % MOST_ITEMS;
        queue->length--;
        pthread_cond_signal(&queue->not_full);
    }
    pthread_mutex_unlock(&queue->lock);
    return took;
}

NAMED static void end_of(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->producers--;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

NAMED static uint64_t read_item(uint64_t state)
{
    WORK(state, reading);
    return state;
}

NAMED static uint64_t filter_item(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

NAMED static uint64_t write_item(uint64_t state)
{
    WORK(state, writing);
    return state;
}

/* The low bits of an item are its number, so that its cost does not depend on who takes it. */
static long cost_of(uint64_t item)
{
    if (!unsteady)
        return filter;
    return item % (2 * BURST) < BURST ? filter * 7 / 4 : filter / 4;
}

NAMED static void *read_stage(void *unused)
{
    for (long item = 0; item < items; item++)
        put(&to_filter, (read_item((uint64_t)item + 1) & ~(uint64_t)(MOST_ITEMS - 1)) | (uint64_t)item);
    end_of(&to_filter);
    return unused;
}

NAMED static void *filter_stage(void *unused)
{
    uint64_t item;
    while (take(&to_filter, &item))
        put(&to_write, filter_item(item | 1, cost_of(item)));
    end_of(&to_write);
    return unused;
}

NAMED static void *write_stage(void *unused)
{
    uint64_t item;
    while (take(&to_write, &item)) {
        written += write_item(item);
        PROGRESS;
    }
    return unused;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    items = number("items", 180);
    reading = number("reading", 1000);
    filter = number("filter", 4000);
    writing = number("writing", 500);
    capacity = number("capacity", 4);
    filters = number("filters", 1);
    unsteady = number("unsteady", 0);
    switches_end();
    if (items > MOST_ITEMS || capacity < 1 || capacity > MOST_ITEMS || filters < 1 || filters > MOST_THREADS)
        return 2;
    to_write.producers = filters;
    pthread_t reader = start("reader", read_stage, 0), filtering[MOST_THREADS];
    for (long i = 0; i < filters; i++)
        filtering[i] = start("filter", filter_stage, 0);
    pthread_t writer = start("writer", write_stage, 0);
    join(reader);
    for (long i = 0; i < filters; i++)
        join(filtering[i]);
    join(writer);
    return finish(written);
}
