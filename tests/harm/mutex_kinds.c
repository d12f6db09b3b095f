// Mutexes of every kind, with every return code that the manual promises.
#include "harm.h"

#include <sched.h>

static void *try_it(void *mutex) { return (void *)(intptr_t)pthread_mutex_trylock(mutex); }
static void *unlock_it(void *mutex) { return (void *)(intptr_t)pthread_mutex_unlock(mutex); }

// What `function` returns when another thread calls it.
static int elsewhere(void *(*function)(void *), pthread_mutex_t *mutex)
{
    pthread_t thread;
    void *result;
    RETURNS(0, pthread_create(&thread, NULL, function, mutex));
    RETURNS(0, pthread_join(thread, &result));
    return (int)(intptr_t)result;
}

static pthread_mutex_t make(int type, int protocol)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    RETURNS(0, pthread_mutexattr_init(&attributes));
    RETURNS(0, pthread_mutexattr_settype(&attributes, type));
    RETURNS(0, pthread_mutexattr_setprotocol(&attributes, protocol));
    if (protocol == PTHREAD_PRIO_PROTECT)
        RETURNS(0, pthread_mutexattr_setprioceiling(&attributes, 2));
    RETURNS(0, pthread_mutex_init(&mutex, &attributes));
    RETURNS(0, pthread_mutexattr_destroy(&attributes));
    return mutex;
}

static void ordinary(const char *name, pthread_mutex_t *mutex)
{
    RETURNS(0, pthread_mutex_lock(mutex));
    RETURNS(EBUSY, pthread_mutex_trylock(mutex));
    RETURNS(EBUSY, elsewhere(try_it, mutex));
    RETURNS(EBUSY, pthread_mutex_destroy(mutex));
    RETURNS(0, pthread_mutex_unlock(mutex));
    RETURNS(0, pthread_mutex_trylock(mutex));
    RETURNS(0, pthread_mutex_unlock(mutex));
    RETURNS(0, pthread_mutex_destroy(mutex));
    printf("%s\n", name);
}

static void error_checking(const char *name, pthread_mutex_t *mutex)
{
    RETURNS(EPERM, pthread_mutex_unlock(mutex));
    RETURNS(0, pthread_mutex_lock(mutex));
    RETURNS(EDEADLK, pthread_mutex_lock(mutex));
    int again = pthread_mutex_trylock(mutex); // glibc 2.36: EDEADLK where the kernel keeps the priorities
    CHECK(again == EBUSY || again == EDEADLK);
    printf("%s: trying one's own: %s\n", name, again == EBUSY ? "EBUSY" : "EDEADLK");
    RETURNS(EBUSY, elsewhere(try_it, mutex));
    RETURNS(EPERM, elsewhere(unlock_it, mutex));
    RETURNS(0, pthread_mutex_unlock(mutex));
    RETURNS(EPERM, pthread_mutex_unlock(mutex));
    RETURNS(0, pthread_mutex_destroy(mutex));
    printf("%s\n", name);
}

static void recursive(const char *name, pthread_mutex_t *mutex)
{
    RETURNS(EPERM, pthread_mutex_unlock(mutex));
    for (int depth = 0; depth < 100; depth++)
        RETURNS(0, depth % 2 ? pthread_mutex_trylock(mutex) : pthread_mutex_lock(mutex));
    RETURNS(EBUSY, elsewhere(try_it, mutex));
    for (int depth = 0; depth < 99; depth++)
        RETURNS(0, pthread_mutex_unlock(mutex));
    RETURNS(EBUSY, elsewhere(try_it, mutex));
    RETURNS(EPERM, elsewhere(unlock_it, mutex));
    RETURNS(0, pthread_mutex_unlock(mutex));
    RETURNS(EPERM, pthread_mutex_unlock(mutex));
    RETURNS(0, pthread_mutex_destroy(mutex));
    printf("%s\n", name);
}

static long shared;
static pthread_mutex_t *contended;

static void *add(void *argument)
{
    for (int i = 0; i < 3000; i++) {
        RETURNS(0, pthread_mutex_lock(contended));
        shared++;
        RETURNS(0, pthread_mutex_unlock(contended));
    }
    return argument;
}

static void contend(const char *name, pthread_mutex_t *mutex)
{
    pthread_t threads[4];
    shared = 0;
    contended = mutex;
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, add, NULL));
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("%s: %ld\n", name, shared);
}

int main(void)
{
    static const struct {
        const char *name;
        int type, protocol;
        void (*check)(const char *, pthread_mutex_t *);
    } kinds[] = {
        {"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, ordinary},
        {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, ordinary},
        {"error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, error_checking},
        {"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, recursive},
        {"priority-inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, ordinary},
        {"inheriting error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, error_checking},
        {"inheriting recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, recursive},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pthread_mutex_t mutex = make(kinds[i].type, kinds[i].protocol);
        contend(kinds[i].name, &mutex);
        kinds[i].check(kinds[i].name, &mutex);
    }
    pthread_mutex_t statics[] = {
        PTHREAD_MUTEX_INITIALIZER,
        PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
        PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
        PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
    };
    ordinary("static normal", &statics[0]);
    error_checking("static error-checking", &statics[1]);
    recursive("static recursive", &statics[2]);
    ordinary("static adaptive", &statics[3]);
    // A ceiling needs a real-time thread, and that a right: without it, locking says so.
    struct sched_param low = {.sched_priority = 1};
    int real_time = pthread_setschedparam(pthread_self(), SCHED_FIFO, &low) == 0;
    pthread_mutex_t ceiling = make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT);
    int old, locked = pthread_mutex_lock(&ceiling);
    if (locked == 0) {
        RETURNS(EBUSY, elsewhere(try_it, &ceiling));
        RETURNS(0, pthread_mutex_unlock(&ceiling));
        contend("priority ceiling", &ceiling);
        RETURNS(0, pthread_mutex_setprioceiling(&ceiling, 1, &old));
        RETURNS(0, pthread_mutex_getprioceiling(&ceiling, &old));
        CHECK(old == 1);
    }
    const char *result = locked == 0 ? "locked" : strerror(locked);
    printf("priority ceiling, %s thread: %s\n", real_time ? "real-time" : "ordinary", result);
    return 0;
}
