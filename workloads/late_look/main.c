// A thread that gives out work looks every two milliseconds what has been done.
#include "../work.h"

#include <time.h>

#define ROUNDS 400
#define PIECE_US 1000
#define THREADS 2

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    long pieces, done;
#ifdef FIXED
    pthread_cond_t finished;
#endif
    uint64_t checksum;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};

NAMED static void *crawl_pages(void *argument)
{
    (void)argument;
    check(pthread_mutex_lock(&jobs.lock), "pthread_mutex_lock");
    for (;;) {
        while (jobs.pieces == 0)
            check(pthread_cond_wait(&jobs.given, &jobs.lock), "pthread_cond_wait");
        if (jobs.pieces < 0)
            break;
        long piece = jobs.pieces--;
        check(pthread_mutex_unlock(&jobs.lock), "pthread_mutex_unlock");
        uint64_t page = compute((uint64_t)piece, PIECE_US);
        check(pthread_mutex_lock(&jobs.lock), "pthread_mutex_lock");
        jobs.checksum += page;
        jobs.done++;
#ifdef FIXED
        check(pthread_cond_signal(&jobs.finished), "pthread_cond_signal");
#endif
    }
    check(pthread_mutex_unlock(&jobs.lock), "pthread_mutex_unlock");
    return NULL;
}

NAMED static void give_out(long pieces)
{
    jobs.pieces = pieces;
    jobs.done = 0;
    check(pthread_cond_broadcast(&jobs.given), "pthread_cond_broadcast");
}

NAMED static void wait_for_pages(void)
{
    while (jobs.done < THREADS) {
#ifndef FIXED
        check(pthread_mutex_unlock(&jobs.lock), "pthread_mutex_unlock");
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); // PLANTED: until the next look
        check(pthread_mutex_lock(&jobs.lock), "pthread_mutex_lock");
#else
        check(pthread_cond_wait(&jobs.finished, &jobs.lock), "pthread_cond_wait"); // FIX: until they are done
#endif
    }
}

int main(int argc, char **argv)
{
    long rounds = ROUNDS * argument(argc, argv, 1, 1);
    pthread_t crawler[THREADS];
#ifdef FIXED
    check(pthread_cond_init(&jobs.finished, NULL), "pthread_cond_init");
#endif
    for (int t = 0; t < THREADS; t++)
        start_thread(&crawler[t], crawl_pages, NULL);
    check(pthread_mutex_lock(&jobs.lock), "pthread_mutex_lock");
    for (long round = 0; round < rounds; round++) {
        give_out(THREADS);
        wait_for_pages();
    }
    give_out(-1);
    check(pthread_mutex_unlock(&jobs.lock), "pthread_mutex_unlock");
    for (int t = 0; t < THREADS; t++)
        join_thread(crawler[t]);
    printf("late_look checksum %016llx\n", (unsigned long long)jobs.checksum);
    return 0;
}
