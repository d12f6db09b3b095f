// Frames that workers code side by side, each a share of it: main gives each its share, and waits until all have done theirs.
#include "../work.h"

#include <pthread.h>

#define FRAMES 120
#define SHARE_US 1500

enum state { IDLE, CODING, ENDING };

// One condition variable for both ways: for work, and until it is done.
struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum state state;
    long microseconds;
    uint64_t sum;
};

NAMED static uint64_t code_share(uint64_t seed, long microseconds)
{
    return compute(seed, microseconds);
}

NAMED static void *coder(void *argument)
{
    struct worker *worker = argument;
    pthread_mutex_lock(&worker->mutex);
    for (;;) {
        while (worker->state == IDLE)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        if (worker->state == ENDING)
            break;
        pthread_mutex_unlock(&worker->mutex);
        uint64_t sum = code_share(worker->sum + 1, worker->microseconds);
        pthread_mutex_lock(&worker->mutex);
        worker->sum += sum;
        worker->state = IDLE;
        pthread_cond_signal(&worker->changed);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

NAMED static void start_share(struct worker *worker, enum state state)
{
    pthread_mutex_lock(&worker->mutex);
    worker->state = state;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

NAMED static void wait_for_share(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->state != IDLE)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
}

static long share_of(long worker, long workers)
{
#ifndef FIXED
    return worker == workers - 1 ? SHARE_US * (workers + 2) : SHARE_US; // PLANTED: the last share has most of the frame
#else
    return SHARE_US * (2 * workers + 1) / workers; // FIX: all shares are equal
#endif
}

int main(int argc, char **argv)
{
    long workers = argument(argc, argv, 1, 2);
    long frames = FRAMES * argument(argc, argv, 2, 1);
    static struct worker all[64];
    if (workers > 64)
        workers = 64;
    for (long i = 0; i < workers; i++) {
        pthread_mutex_init(&all[i].mutex, NULL);
        pthread_cond_init(&all[i].changed, NULL);
        all[i].microseconds = share_of(i, workers);
        pthread_create(&all[i].thread, NULL, coder, &all[i]);
    }
    for (long frame = 0; frame < frames; frame++) {
        for (long i = 0; i < workers; i++)
            start_share(&all[i], CODING);
        for (long i = 0; i < workers; i++)
            wait_for_share(&all[i]);
    }
    uint64_t checksum = 0;
    for (long i = 0; i < workers; i++) {
        start_share(&all[i], ENDING);
        pthread_join(all[i].thread, NULL);
        checksum += all[i].sum;
    }
    printf("pool_rounds checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
