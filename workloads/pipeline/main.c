// A pipeline with one slow stage: read, parse, compress and write, with a bounded queue between each two.
// The queues and their locks are on the heap; queue_create makes them.
#include "../work.h"

#define ITEMS 220
#define READ_US 300
#define PARSE_US 500
#define COMPRESS_US 4000
#define WRITE_US 200
#define CAPACITY 8

#ifndef FIXED
#define COMPRESSORS 1 // PLANTED: one thread for the stage that takes four fifths of the work
#else
#define COMPRESSORS 2 // FIX: a second thread for the slow stage
#endif

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    long producers; // that have not finished
    size_t first, length;
    uint64_t items[CAPACITY];
};

static struct queue *to_parse, *to_compress, *to_write;
static uint64_t checksum;
static long compressors, scale;

NAMED static struct queue *queue_create(long producers)
{
    struct queue *queue = calloc(1, sizeof *queue);
    check(pthread_mutex_init(&queue->lock, NULL), "pthread_mutex_init");
    check(pthread_cond_init(&queue->not_empty, NULL), "pthread_cond_init");
    check(pthread_cond_init(&queue->not_full, NULL), "pthread_cond_init");
    queue->producers = producers;
    return queue;
}

NAMED static void queue_put(struct queue *queue, uint64_t item)
{
    check(pthread_mutex_lock(&queue->lock), "pthread_mutex_lock");
    while (queue->length == CAPACITY)
        check(pthread_cond_wait(&queue->not_full, &queue->lock), "pthread_cond_wait");
    queue->items[(queue->first + queue->length++) % CAPACITY] = item;
    check(pthread_cond_signal(&queue->not_empty), "pthread_cond_signal");
    check(pthread_mutex_unlock(&queue->lock), "pthread_mutex_unlock");
}

// Takes the oldest item into `item`; 0 where the queue is empty and every producer has finished.
NAMED static int queue_get(struct queue *queue, uint64_t *item)
{
    check(pthread_mutex_lock(&queue->lock), "pthread_mutex_lock");
    while (queue->length == 0 && queue->producers > 0)
        check(pthread_cond_wait(&queue->not_empty, &queue->lock), "pthread_cond_wait");
    int got = queue->length > 0;
    if (got) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % CAPACITY;
        queue->length--;
        check(pthread_cond_signal(&queue->not_full), "pthread_cond_signal");
    }
    check(pthread_mutex_unlock(&queue->lock), "pthread_mutex_unlock");
    return got;
}

NAMED static void queue_finish(struct queue *queue)
{
    check(pthread_mutex_lock(&queue->lock), "pthread_mutex_lock");
    queue->producers--;
    check(pthread_cond_broadcast(&queue->not_empty), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&queue->lock), "pthread_mutex_unlock");
}

NAMED static void *read_stage(void *argument)
{
    (void)argument;
    for (long item = 0; item < ITEMS * scale; item++)
        queue_put(to_parse, compute((uint64_t)item + 1, READ_US));
    queue_finish(to_parse);
    return NULL;
}

NAMED static void *parse_stage(void *argument)
{
    uint64_t item;
    (void)argument;
    while (queue_get(to_parse, &item))
        queue_put(to_compress, compute(item, PARSE_US));
    queue_finish(to_compress);
    return NULL;
}

NAMED static uint64_t compress_item(uint64_t item)
{
    return compute(item, COMPRESS_US);
}

NAMED static void *compress_stage(void *argument)
{
    uint64_t item;
    (void)argument;
    while (queue_get(to_compress, &item))
        queue_put(to_write, compress_item(item));
    queue_finish(to_write);
    return NULL;
}

NAMED static void *write_stage(void *argument)
{
    uint64_t item;
    (void)argument;
    while (queue_get(to_write, &item))
        checksum += compute(item, WRITE_US);
    return NULL;
}

// The first argument is the number of threads of the compress stage.
int main(int argc, char **argv)
{
    compressors = argument(argc, argv, 1, COMPRESSORS);
    scale = argument(argc, argv, 2, 1);
    to_parse = queue_create(1);
    to_compress = queue_create(1);
    to_write = queue_create(compressors);
    pthread_t reader, parser, writer, compressor[compressors];
    start_thread(&reader, read_stage, NULL);
    start_thread(&parser, parse_stage, NULL);
    for (long t = 0; t < compressors; t++)
        start_thread(&compressor[t], compress_stage, NULL);
    start_thread(&writer, write_stage, NULL);
    join_thread(reader);
    join_thread(parser);
    for (long t = 0; t < compressors; t++)
        join_thread(compressor[t]);
    join_thread(writer);
    printf("pipeline checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
