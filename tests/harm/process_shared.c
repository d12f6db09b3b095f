// A mutex, a condition variable, a barrier, a read-write lock and a semaphore in memory shared by forked
// processes.
#include "harm.h"

#include <semaphore.h>
#include <sys/mman.h>

enum { PROCESSES = 4, ROUNDS = 500 };

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_barrier_t barrier;
    pthread_rwlock_t rwlock;
    sem_t semaphore;
    long count, turn, serial, written;
};

static struct shared *shared;

static void member(int me)
{
    for (int round = 0; round < ROUNDS; round++) {
        RETURNS(0, pthread_mutex_lock(&shared->mutex));
        shared->count++;
        RETURNS(0, pthread_mutex_unlock(&shared->mutex));
        RETURNS(0, pthread_rwlock_wrlock(&shared->rwlock));
        shared->written++;
        RETURNS(0, pthread_rwlock_unlock(&shared->rwlock));
    }
    for (int round = 0; round < 50; round++) {
        int met = pthread_barrier_wait(&shared->barrier);
        CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
        if (met != 0)
            __atomic_add_fetch(&shared->serial, 1, __ATOMIC_RELAXED);
        RETURNS(0, pthread_mutex_lock(&shared->mutex));
        while (shared->turn % PROCESSES != me)
            RETURNS(0, pthread_cond_wait(&shared->changed, &shared->mutex));
        shared->turn++;
        RETURNS(0, pthread_cond_broadcast(&shared->changed));
        RETURNS(0, pthread_mutex_unlock(&shared->mutex));
    }
    CHECK(sem_post(&shared->semaphore) == 0);
}

int main(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_barrierattr_t barrier;
    pthread_rwlockattr_t rwlock;
    pid_t children[PROCESSES];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    RETURNS(0, pthread_mutexattr_init(&mutex));
    RETURNS(0, pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    RETURNS(0, pthread_mutex_init(&shared->mutex, &mutex));
    RETURNS(0, pthread_condattr_init(&condition));
    RETURNS(0, pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED));
    RETURNS(0, pthread_cond_init(&shared->changed, &condition));
    RETURNS(0, pthread_barrierattr_init(&barrier));
    RETURNS(0, pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED));
    RETURNS(0, pthread_barrier_init(&shared->barrier, &barrier, PROCESSES));
    RETURNS(0, pthread_rwlockattr_init(&rwlock));
    RETURNS(0, pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED));
    RETURNS(0, pthread_rwlock_init(&shared->rwlock, &rwlock));
    CHECK(sem_init(&shared->semaphore, 1, 0) == 0);
    fflush(stdout);
    for (int me = 0; me < PROCESSES; me++) {
        children[me] = fork();
        CHECK(children[me] >= 0);
        if (children[me] == 0) {
            member(me);
            _exit(10 + me);
        }
    }
    for (int me = 0; me < PROCESSES; me++)
        CHECK(sem_wait(&shared->semaphore) == 0);
    for (int me = 0; me < PROCESSES; me++)
        printf("process %d ended with %d\n", me, status_of(children[me]));
    printf("count %ld, written %ld, turns %ld, serial %ld\n", shared->count, shared->written, shared->turn,
           shared->serial);
    return 0;
}
