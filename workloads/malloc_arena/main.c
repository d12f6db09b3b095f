// Threads that allocate and free all the time, and only one arena of glibc's malloc for all of them.
#include "../work.h"

#include <malloc.h>

#define BATCHES 200000
#define BATCH 48
#define SMALLEST 1100 // glibc keeps smaller blocks in caches of the threads, which need no lock
#define SPREAD 2400

struct batch {
    unsigned char *messages[BATCH];
    size_t lengths[BATCH];
};

static long threads, scale;
static uint64_t sums[64];

// The source of lengths and contents: the same sequence for the same batch, whoever handles it.
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

NAMED static void receive_messages(struct batch *batch, uint64_t *state)
{
    for (int i = 0; i < BATCH; i++) {
        size_t length = SMALLEST + next(state) % SPREAD;
        batch->messages[i] = malloc(length); // all threads want the lock of the one arena
        if (batch->messages[i] == NULL)
            abort();
        batch->lengths[i] = length;
        batch->messages[i][0] = (unsigned char)*state;
        batch->messages[i][length - 1] = (unsigned char)length;
    }
}

NAMED static uint64_t release_messages(struct batch *batch, uint64_t *state)
{
    uint64_t sum = 0;
    for (int i = BATCH - 1; i > 0; i--) { // in another order than they came, as messages are done with
        int other = (int)(next(state) % (uint64_t)(i + 1));
        unsigned char *message = batch->messages[i];
        size_t length = batch->lengths[i];
        batch->messages[i] = batch->messages[other];
        batch->lengths[i] = batch->lengths[other];
        batch->messages[other] = message;
        batch->lengths[other] = length;
    }
    for (int i = 0; i < BATCH; i++) {
        sum = sum * 31 + batch->messages[i][0] + batch->messages[i][batch->lengths[i] - 1];
        free(batch->messages[i]);
    }
    return sum;
}

static void *message_worker(void *argument)
{
    long number = (long)(intptr_t)argument;
    struct batch batch;
    for (long at = number; at < BATCHES * scale; at += threads) {
        uint64_t state = (uint64_t)at * 0x9E3779B97F4A7C15u + 1;
        receive_messages(&batch, &state);
        sums[number % 64] += release_messages(&batch, &state);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    if (threads > 64)
        threads = 64;
#ifndef FIXED
    mallopt(M_ARENA_MAX, 1); // PLANTED: one arena for all threads
#endif // FIX: glibc's own limit, eight arenas for each core
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], message_worker, (void *)(intptr_t)t);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++) {
        join_thread(workers[t]);
        checksum += sums[t];
    }
    printf("malloc_arena checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
