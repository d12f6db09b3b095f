// fork: a child that makes threads and takes locks, while the parent's threads hammer the lock that atfork
// handlers hold across the fork; and a grandchild from the child's thread.
#include "harm.h"
#include "use_threads.h"

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static long counter;

static void before_fork(void) { RETURNS(0, pthread_mutex_lock(&shared_lock)); }
static void after_fork(void) { RETURNS(0, pthread_mutex_unlock(&shared_lock)); }

// How long a thread rests after each use of the lock: 0 for as many as can be, more (-DREST_US=200) for a short recording.
#ifndef REST_US
#define REST_US 0
#endif

static void *hammer(void *argument)
{
    (void)argument;
    while (!stop) {
        if (REST_US > 0)
            usleep(REST_US);
        RETURNS(0, pthread_mutex_lock(&shared_lock));
        counter++;
        RETURNS(0, pthread_mutex_unlock(&shared_lock));
    }
    return NULL;
}

static void *fork_from_thread(void *argument)
{
    (void)argument;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(use_threads(2, 100) == 200 ? 5 : 1);
    return (void *)(intptr_t)status_of(child);
}

int main(void)
{
    pthread_t hammers[2];
    RETURNS(0, pthread_atfork(before_fork, after_fork, after_fork));
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_create(&hammers[t], NULL, hammer, NULL));
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            RETURNS(0, pthread_mutex_lock(&shared_lock));
            RETURNS(0, pthread_mutex_unlock(&shared_lock));
            CHECK(use_threads(3, 1000) == 3000);
            void *status;
            pthread_t thread;
            RETURNS(0, pthread_create(&thread, NULL, fork_from_thread, NULL));
            RETURNS(0, pthread_join(thread, &status));
            exit(20 + (int)(intptr_t)status + i);
        }
        printf("child %d ended with %d\n", i, status_of(child));
        fflush(stdout);
    }
    stop = 1;
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_join(hammers[t], NULL));
    printf("parent used %ld locks\n", use_threads(2, 1000));
    return 3;
}
