// Robust mutexes whose owner dies: as a thread, and as a process; recovered, and not recovered. Also a
// priority- inheriting one.
#include "harm.h"

#include <sys/mman.h>

static pthread_mutex_t *make(int protocol, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mutex != MAP_FAILED);
    RETURNS(0, pthread_mutexattr_init(&attributes));
    RETURNS(0, pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    RETURNS(0, pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    RETURNS(0, pthread_mutexattr_setprotocol(&attributes, protocol));
    RETURNS(0, pthread_mutexattr_setpshared(&attributes, shared));
    RETURNS(0, pthread_mutex_init(mutex, &attributes));
    return mutex;
}

static void *lock_and_die(void *mutex)
{
    RETURNS(0, pthread_mutex_lock(mutex));
    return NULL;
}

static void thread_dies(pthread_mutex_t *mutex)
{
    pthread_t thread;
    RETURNS(0, pthread_create(&thread, NULL, lock_and_die, mutex));
    RETURNS(0, pthread_join(thread, NULL));
}

static void process_dies(pthread_mutex_t *mutex)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        RETURNS(0, pthread_mutex_lock(mutex));
        _exit(0);
    }
    CHECK(status_of(child) == 0);
}

static void recover(const char *name, pthread_mutex_t *mutex, void (*owner_dies)(pthread_mutex_t *))
{
    for (int round = 0; round < 3; round++) {
        struct timespec soon = in_ms(CLOCK_REALTIME, 5000);
        owner_dies(mutex);
        RETURNS(EOWNERDEAD, round == 0   ? pthread_mutex_lock(mutex)
                            : round == 1 ? pthread_mutex_trylock(mutex)
                                         : pthread_mutex_timedlock(mutex, &soon));
        RETURNS(EDEADLK, pthread_mutex_lock(mutex));
        RETURNS(0, pthread_mutex_consistent(mutex));
        RETURNS(EINVAL, pthread_mutex_consistent(mutex));
        RETURNS(0, pthread_mutex_unlock(mutex));
        RETURNS(0, pthread_mutex_lock(mutex));
        RETURNS(0, pthread_mutex_unlock(mutex));
    }
    printf("%s: recovered\n", name);
    owner_dies(mutex);
    RETURNS(EOWNERDEAD, pthread_mutex_lock(mutex));
    RETURNS(0, pthread_mutex_unlock(mutex)); // without having made it consistent
    RETURNS(ENOTRECOVERABLE, pthread_mutex_lock(mutex));
    RETURNS(ENOTRECOVERABLE, pthread_mutex_trylock(mutex));
    RETURNS(0, pthread_mutex_destroy(mutex));
    printf("%s: given up\n", name);
}

static void *wait_for_dead(void *mutex)
{
    int result = pthread_mutex_lock(mutex);
    if (result == EOWNERDEAD) {
        RETURNS(0, pthread_mutex_consistent(mutex));
        RETURNS(0, pthread_mutex_unlock(mutex));
    }
    return (void *)(intptr_t)result;
}

static volatile int held;

static void *hold_and_die(void *mutex)
{
    RETURNS(0, pthread_mutex_lock(mutex));
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    sleep_ms(20);
    return NULL;
}

int main(void)
{
    recover("thread", make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE), thread_dies);
    recover("thread, priority-inheriting", make(PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE), thread_dies);
    recover("process", make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED), process_dies);
    recover("process, priority-inheriting", make(PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED), process_dies);
    // Dies while another waits.
    pthread_mutex_t *mutex = make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    pthread_t holder, waiter;
    void *result;
    RETURNS(0, pthread_create(&holder, NULL, hold_and_die, mutex));
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) // else the waiter might have it first
        sleep_ms(1);
    RETURNS(0, pthread_create(&waiter, NULL, wait_for_dead, mutex));
    RETURNS(0, pthread_join(holder, NULL));
    RETURNS(0, pthread_join(waiter, &result));
    printf("waiter woke with %s\n", (int)(intptr_t)result == EOWNERDEAD ? "EOWNERDEAD" : "something else");
    return 0;
}
