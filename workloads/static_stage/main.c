// A pipeline of three stages, one of them slow, linked statically: nothing can be loaded into it.
#include "../work.h"

#define FRAMES 340
#define DECODE_US 700
#define FILTER_US 3000
#define ENCODE_US 700
#define SLOTS 6

#ifndef FIXED
#define FILTERS 1 // PLANTED: one thread for the stage that takes two thirds of the work
#else
#define FILTERS 3 // FIX: three threads, so that the other stages never starve
#endif

// A bounded queue of frames. It is closed when all who fill it have ended.
struct channel {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long fillers;
    long head, tail;
    uint64_t slots[SLOTS];
};

static struct channel decoded = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1, 0, 0, {0}};
static struct channel filtered = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, {0}};
static uint64_t checksum;
static long scale;

NAMED static void channel_send(struct channel *channel, uint64_t frame)
{
    check(pthread_mutex_lock(&channel->lock), "pthread_mutex_lock");
    while (channel->tail - channel->head == SLOTS)
        check(pthread_cond_wait(&channel->changed, &channel->lock), "pthread_cond_wait");
    channel->slots[channel->tail++ % SLOTS] = frame;
    check(pthread_cond_broadcast(&channel->changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&channel->lock), "pthread_mutex_unlock");
}

// Gives 0 where no frame will come any more.
NAMED static int channel_receive(struct channel *channel, uint64_t *frame)
{
    check(pthread_mutex_lock(&channel->lock), "pthread_mutex_lock");
    while (channel->tail == channel->head && channel->fillers > 0)
        check(pthread_cond_wait(&channel->changed, &channel->lock), "pthread_cond_wait");
    int received = channel->tail != channel->head;
    if (received)
        *frame = channel->slots[channel->head++ % SLOTS];
    check(pthread_cond_broadcast(&channel->changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&channel->lock), "pthread_mutex_unlock");
    return received;
}

NAMED static void channel_leave(struct channel *channel)
{
    check(pthread_mutex_lock(&channel->lock), "pthread_mutex_lock");
    channel->fillers--;
    check(pthread_cond_broadcast(&channel->changed), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&channel->lock), "pthread_mutex_unlock");
}

static void *decode_stage(void *argument)
{
    (void)argument;
    for (long frame = 0; frame < FRAMES * scale; frame++)
        channel_send(&decoded, compute((uint64_t)frame + 1, DECODE_US));
    channel_leave(&decoded);
    return NULL;
}

NAMED static uint64_t filter_frame(uint64_t frame)
{
    return compute(frame, FILTER_US); // the line that most of the run waits for
}

static void *filter_stage(void *argument)
{
    uint64_t frame;
    (void)argument;
    while (channel_receive(&decoded, &frame))
        channel_send(&filtered, filter_frame(frame));
    channel_leave(&filtered);
    return NULL;
}

static void *encode_stage(void *argument)
{
    uint64_t frame;
    (void)argument;
    while (channel_receive(&filtered, &frame))
        checksum += compute(frame, ENCODE_US);
    return NULL;
}

// The first argument is the number of threads of the filter stage.
int main(int argc, char **argv)
{
    long filters = argument(argc, argv, 1, FILTERS);
    scale = argument(argc, argv, 2, 1);
    filtered.fillers = filters;
    pthread_t decoder, encoder, filter[filters];
    start_thread(&decoder, decode_stage, NULL);
    for (long t = 0; t < filters; t++)
        start_thread(&filter[t], filter_stage, NULL);
    start_thread(&encoder, encode_stage, NULL);
    join_thread(decoder);
    for (long t = 0; t < filters; t++)
        join_thread(filter[t]);
    join_thread(encoder);
    printf("static_stage checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
