// A pipeline: one thread cuts the input into chunks, a pool compresses them, one thread writes them down. Only the pool has
// work for most of its time (paper 3, section 2.3: the others do not count).
#include "../sim.h"

#define CHUNKS 240
#define CHUNK 2048
#define PLACES 256

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long items[PLACES];
    long first, count;
    long room;
};

// Each member of the pool has a queue, so that who compresses what does not depend on the run.
static struct queue raw[MOST_THREADS];
static struct queue done = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .room = PLACES};
static uint8_t *input;
static uint64_t written;

static void put(struct queue *queue, long item)
{
    check(pthread_mutex_lock(&queue->lock), "pthread_mutex_lock");
    while (queue->count == queue->room)
        check(pthread_cond_wait(&queue->changed, &queue->lock), "pthread_cond_wait");
    queue->items[(queue->first + queue->count++) % PLACES] = item;
    check(pthread_cond_broadcast(&queue->changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&queue->lock), "pthread_mutex_unlock");
}

static long take(struct queue *queue)
{
    check(pthread_mutex_lock(&queue->lock), "pthread_mutex_lock");
    while (queue->count == 0)
        check(pthread_cond_wait(&queue->changed, &queue->lock), "pthread_cond_wait");
    long item = queue->items[queue->first];
    queue->first = (queue->first + 1) % PLACES;
    queue->count--;
    check(pthread_cond_broadcast(&queue->changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&queue->lock), "pthread_mutex_unlock");
    return item;
}

static void *fragment(void *argument)
{
    for (long chunk = 0; chunk < CHUNKS * scale; chunk++)
        put(&raw[chunk % threads], chunk % CHUNKS);
    for (long t = 0; t < threads; t++)
        put(&raw[t], -1);
    return argument;
}

static void *compress(void *argument)
{
    for (long chunk; (chunk = take(&raw[(intptr_t)argument])) >= 0;) {
        uint64_t hash = (uint64_t)chunk;
        for (int round = 0; round < 8; round++)
            for (long i = 0; i < CHUNK; i++)
                hash = (hash ^ input[chunk * CHUNK + i]) * 0x100000001B3u; // PLANTED: the pool's work
        put(&done, (long)(hash >> 1));
    }
    return argument;
}

static void *reorder(void *argument)
{
    for (long chunk = 0; chunk < CHUNKS * scale; chunk++)
        written += (uint64_t)take(&done);
    return argument;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    input = fresh(CHUNKS * CHUNK);
    for (long i = 0; i < CHUNKS * CHUNK; i++)
        input[i] = (uint8_t)scattered((uint64_t)i);
    pthread_t ends[2], pool[MOST_THREADS];
    for (long t = 0; t < threads; t++) {
        check(pthread_mutex_init(&raw[t].lock, NULL), "pthread_mutex_init");
        check(pthread_cond_init(&raw[t].changed, NULL), "pthread_cond_init");
        raw[t].room = 8;
    }
    start_thread(&ends[0], fragment, NULL);
    for (long t = 0; t < threads; t++)
        start_thread(&pool[t], compress, (void *)(intptr_t)t);
    start_thread(&ends[1], reorder, NULL);
    join_thread(ends[0]);
    for (long t = 0; t < threads; t++)
        join_thread(pool[t]);
    join_thread(ends[1]);
    return finish("sim_dedup", written, written != 0);
}
