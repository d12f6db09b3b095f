// A little of everything that holdup records, for the programs whose hazard lies elsewhere.
#ifndef USE_THREADS_H
#define USE_THREADS_H

#include "harm.h"

#include <semaphore.h>

struct crowd {
    pthread_mutex_t lock;
    pthread_cond_t turn_changed;
    pthread_barrier_t meeting;
    sem_t finished;
    long acquisitions, rounds;
    int threads, turn, next;
};

static void *crowd_member(void *argument)
{
    struct crowd *crowd = (struct crowd *)argument;
    RETURNS(0, pthread_mutex_lock(&crowd->lock));
    int me = crowd->next++;
    RETURNS(0, pthread_mutex_unlock(&crowd->lock));
    for (long round = 0; round < crowd->rounds; round++) {
        RETURNS(0, pthread_mutex_lock(&crowd->lock));
        crowd->acquisitions++;
        RETURNS(0, pthread_mutex_unlock(&crowd->lock));
    }
    int met = pthread_barrier_wait(&crowd->meeting);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    RETURNS(0, pthread_mutex_lock(&crowd->lock));
    while (crowd->turn != me)
        RETURNS(0, pthread_cond_wait(&crowd->turn_changed, &crowd->lock));
    crowd->turn++;
    RETURNS(0, pthread_cond_broadcast(&crowd->turn_changed));
    RETURNS(0, pthread_mutex_unlock(&crowd->lock));
    CHECK(sem_post(&crowd->finished) == 0);
    return NULL;
}

// `threads` threads take a mutex `rounds` times each, meet at a barrier, and pass a turn on by a condition
// variable and a semaphore. Returns the number of acquisitions.
static long use_threads(int threads, long rounds)
{
    // Static and used by one caller at a time, so that programs whose malloc is under test can call it too.
    static struct crowd crowd;
    static pthread_t members[1024];
    memset(&crowd, 0, sizeof crowd);
    crowd.threads = threads;
    crowd.rounds = rounds;
    RETURNS(0, pthread_mutex_init(&crowd.lock, NULL));
    RETURNS(0, pthread_cond_init(&crowd.turn_changed, NULL));
    RETURNS(0, pthread_barrier_init(&crowd.meeting, NULL, (unsigned)threads));
    CHECK(sem_init(&crowd.finished, 0, 0) == 0);
    for (int t = 0; t < threads; t++)
        RETURNS(0, pthread_create(&members[t], NULL, crowd_member, &crowd));
    for (int t = 0; t < threads; t++)
        while (sem_wait(&crowd.finished) != 0)
            CHECK(errno == EINTR);
    for (int t = 0; t < threads; t++)
        RETURNS(0, pthread_join(members[t], NULL));
    CHECK(crowd.turn == threads);
    RETURNS(0, pthread_mutex_destroy(&crowd.lock));
    RETURNS(0, pthread_cond_destroy(&crowd.turn_changed));
    RETURNS(0, pthread_barrier_destroy(&crowd.meeting));
    CHECK(sem_destroy(&crowd.finished) == 0);
    return crowd.acquisitions;
}

#endif
