// Two stages that have as much to do in all, but by turns: runs of pieces are dear for the one and cheap for the other.
#include "../work.h"

#define RUNS 20
#define LENGTH 24
#define DEAR_US 1500
#define CHEAP_US 100

#ifndef FIXED
#define ROOM 2 // PLANTED: room for less than a run of pieces
#else
#define ROOM 64 // FIX: for more than one
#endif

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    size_t first, length;
    uint64_t pieces[ROOM];
} unpacked = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER};

static long runs;

NAMED static void ring_put(uint64_t piece)
{
    check(pthread_mutex_lock(&unpacked.lock), "pthread_mutex_lock");
    while (unpacked.length == ROOM)
        check(pthread_cond_wait(&unpacked.not_full, &unpacked.lock), "pthread_cond_wait");
    unpacked.pieces[(unpacked.first + unpacked.length++) % ROOM] = piece;
    check(pthread_cond_signal(&unpacked.not_empty), "pthread_cond_signal");
    check(pthread_mutex_unlock(&unpacked.lock), "pthread_mutex_unlock");
}

NAMED static uint64_t ring_get(void)
{
    check(pthread_mutex_lock(&unpacked.lock), "pthread_mutex_lock");
    while (unpacked.length == 0)
        check(pthread_cond_wait(&unpacked.not_empty, &unpacked.lock), "pthread_cond_wait");
    uint64_t piece = unpacked.pieces[unpacked.first];
    unpacked.first = (unpacked.first + 1) % ROOM;
    unpacked.length--;
    check(pthread_cond_signal(&unpacked.not_full), "pthread_cond_signal");
    check(pthread_mutex_unlock(&unpacked.lock), "pthread_mutex_unlock");
    return piece;
}

NAMED static void *unpack_stage(void *argument)
{
    (void)argument;
    for (long piece = 0; piece < runs * LENGTH; piece++)
        ring_put(compute((uint64_t)piece + 1, piece / LENGTH % 2 == 0 ? DEAR_US : CHEAP_US));
    return NULL;
}

NAMED static void *index_stage(void *argument)
{
    uint64_t *checksum = argument;
    for (long piece = 0; piece < runs * LENGTH; piece++)
        *checksum += compute(ring_get(), piece / LENGTH % 2 == 0 ? CHEAP_US : DEAR_US);
    return NULL;
}

int main(int argc, char **argv)
{
    runs = RUNS * argument(argc, argv, 1, 1);
    uint64_t checksum = 0;
    pthread_t unpacker, indexer;
    start_thread(&unpacker, unpack_stage, NULL);
    start_thread(&indexer, index_stage, &checksum);
    join_thread(unpacker);
    join_thread(indexer);
    printf("short_queue checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
