// errno is the same after every call of the pthread kind, whether it succeeds, waits or fails, and after
// successful semaphore calls.
#include "harm.h"

#include <sched.h>
#include <semaphore.h>

enum { MARK = 9876 };

#define KEEPS(expected, call)                                                                                \
    do {                                                                                                     \
        errno = MARK;                                                                                        \
        int returned_ = (call);                                                                              \
        int errno_after = errno;                                                                             \
        RETURNS(expected, returned_);                                                                        \
        if (errno_after != MARK) {                                                                           \
            printf("errno is %d after %s\n", errno_after, #call);                                            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static pthread_mutex_t mutex, checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t one, two;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore, reply;
static int go;

static void nothing(void) {}

static void *partner(void *argument)
{
    for (int i = 0; i < 200; i++) {
        KEEPS(0, pthread_mutex_lock(&mutex));
        sched_yield();
        KEEPS(0, pthread_mutex_unlock(&mutex));
        KEEPS(0, pthread_rwlock_rdlock(&rwlock));
        KEEPS(0, pthread_rwlock_unlock(&rwlock));
    }
    errno = MARK;
    int met = pthread_barrier_wait(&two);
    CHECK(errno == MARK && (met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD));
    KEEPS(0, pthread_mutex_lock(&mutex));
    while (!go)
        KEEPS(0, pthread_cond_wait(&condition, &mutex));
    KEEPS(0, pthread_mutex_unlock(&mutex));
    KEEPS(0, sem_wait(&semaphore));
    KEEPS(0, sem_post(&reply));
    errno = MARK;
    return argument;
}

int main(void)
{
    struct timespec past = {1, 0};
    pthread_t thread;
    KEEPS(0, pthread_mutex_init(&mutex, NULL));
    KEEPS(0, pthread_spin_init(&spin, 0));
    KEEPS(0, pthread_barrier_init(&one, NULL, 1));
    KEEPS(0, pthread_barrier_init(&two, NULL, 2));
    KEEPS(0, sem_init(&semaphore, 0, 0));
    KEEPS(0, sem_init(&reply, 0, 0));
    KEEPS(0, pthread_once(&once, nothing));
    KEEPS(0, pthread_create(&thread, NULL, partner, NULL));
    for (int i = 0; i < 200; i++) {
        KEEPS(0, pthread_mutex_lock(&mutex));
        KEEPS(EBUSY, pthread_mutex_trylock(&mutex));
        KEEPS(ETIMEDOUT, pthread_mutex_timedlock(&mutex, &past));
        sched_yield();
        KEEPS(0, pthread_mutex_unlock(&mutex));
        KEEPS(0, pthread_rwlock_wrlock(&rwlock));
        KEEPS(EBUSY, pthread_rwlock_tryrdlock(&rwlock));
        KEEPS(0, pthread_rwlock_unlock(&rwlock));
        KEEPS(0, pthread_spin_lock(&spin));
        KEEPS(EBUSY, pthread_spin_trylock(&spin));
        KEEPS(0, pthread_spin_unlock(&spin));
        KEEPS(PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_wait(&one));
        KEEPS(0, pthread_cond_signal(&condition));
    }
    KEEPS(0, pthread_mutex_lock(&checking));
    KEEPS(EDEADLK, pthread_mutex_lock(&checking));
    KEEPS(ETIMEDOUT, pthread_cond_timedwait(&condition, &checking, &past));
    KEEPS(0, pthread_mutex_unlock(&checking));
    KEEPS(EPERM, pthread_mutex_unlock(&checking));
    KEEPS(EBUSY, pthread_tryjoin_np(thread, NULL));
    errno = MARK;
    int met = pthread_barrier_wait(&two);
    CHECK(errno == MARK && (met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD));
    sleep_ms(2);
    KEEPS(0, pthread_mutex_lock(&mutex));
    go = 1;
    KEEPS(0, pthread_cond_broadcast(&condition));
    KEEPS(0, pthread_mutex_unlock(&mutex));
    KEEPS(0, sem_post(&semaphore));
    KEEPS(0, sem_wait(&reply));
    KEEPS(0, pthread_join(thread, NULL));
    KEEPS(0, usleep(1000));
    errno = MARK;
    CHECK(write(1, "errno is kept\n", 14) == 14 && errno == MARK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(errno == MARK ? 0 : 1);
    CHECK(status_of(child) == 0);
    return 0;
}
