// Eight threads of which one is critical, in one of several ways: what `holdup steer` is to find and help.
//
// critical MODE [ROUNDS] [THREADS]
//
//   barrier   one thread has seven times the work of each other, and all meet at a barrier
//   moving    the same, but which thread that is changes every 16 rounds
//   lock      one thread computes for long under a lock that each of the others needs once a round
//   pipeline  all but one make items; that one does the last stage of each, in order
//   balanced  all have the same work: nothing to help
//
// The work is counted in iterations, so a run does the same work always; it prints a checksum.
#include "../../workloads/work.h"

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long rounds, threads;
static const char *mode;
static uint64_t sums[64];

// Microseconds of work of a thread that is not critical.
enum { PIECE = 4000, TIMES = 7, PHASE = 16, ROOM = 32 };

static uint64_t queue[ROOM];
static long put, taken;

static long work_of(long thread, long round)
{
    if (!strcmp(mode, "balanced"))
        return PIECE;
    long critical = !strcmp(mode, "moving") ? round / PHASE * 3 % threads : 2 % threads;
    return thread == critical ? PIECE * TIMES : PIECE;
}

static void *meets(void *argument)
{
    long thread = (long)argument;
    for (long round = 0; round < rounds; round++) {
        sums[thread] ^= compute((uint64_t)(thread + round * threads), work_of(thread, round));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *locks(void *argument)
{
    long thread = (long)argument;
    for (long round = 0; round < rounds; round++) {
        if (thread == 0) {
            pthread_mutex_lock(&mutex);
            sums[thread] ^= compute((uint64_t)round, PIECE * 3);
            pthread_mutex_unlock(&mutex);
            sums[thread] ^= compute((uint64_t)round, PIECE);
        } else {
            sums[thread] ^= compute((uint64_t)(thread + round * threads), PIECE);
            pthread_mutex_lock(&mutex);
            sums[0] ^= 1;
            pthread_mutex_unlock(&mutex);
        }
    }
    return NULL;
}

static void *makes(void *argument)
{
    long thread = (long)argument;
    for (long round = 0; round < rounds; round++) {
        uint64_t item = compute((uint64_t)(thread + round * threads), PIECE / 2);
        pthread_mutex_lock(&mutex);
        while (put - taken == ROOM)
            pthread_cond_wait(&emptied, &mutex);
        queue[put++ % ROOM] = item;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *finishes(void *argument)
{
    (void)argument;
    for (long left = rounds * (threads - 1); left > 0; left--) {
        pthread_mutex_lock(&mutex);
        while (put == taken)
            pthread_cond_wait(&filled, &mutex);
        uint64_t item = queue[taken++ % ROOM];
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
        sums[0] += compute(item & 1, PIECE / 2) ^ (item & 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "barrier";
    rounds = argument(argc, argv, 2, 60);
    threads = argument(argc, argv, 3, 8);
    if (threads > 64)
        return 98;
    check(pthread_barrier_init(&barrier, NULL, (unsigned)threads), "pthread_barrier_init");
    pthread_t all[64];
    for (long thread = 0; thread < threads; thread++) {
        void *(*function)(void *) = meets;
        if (!strcmp(mode, "lock"))
            function = locks;
        if (!strcmp(mode, "pipeline"))
            function = thread == 0 ? finishes : makes;
        start_thread(&all[thread], function, (void *)thread);
    }
    uint64_t sum = 0;
    for (long thread = 0; thread < threads; thread++)
        join_thread(all[thread]);
    for (long thread = 0; thread < threads; thread++)
        sum ^= sums[thread] + (uint64_t)thread;
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
