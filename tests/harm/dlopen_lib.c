// The library of dlopen_threads.c: locks, thread-local data, a thread of its own, a constructor and a
// destructor.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t library_changed = PTHREAD_COND_INITIALIZER;
static __thread int per_thread;
// A KiB of thread-local data in the initial-exec model: it fits only while the static reserve is left alone.
static __thread char reserve[1024] __attribute__((tls_model("initial-exec")));
static int state;

static void *library_thread(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&library_lock);
    per_thread = ++state;
    reserve[0] = (char)per_thread;
    pthread_cond_signal(&library_changed);
    pthread_mutex_unlock(&library_lock);
    return NULL;
}

int library_run(int threads)
{
    pthread_t started[16];
    for (int t = 0; t < threads; t++)
        if (pthread_create(&started[t], NULL, library_thread, NULL) != 0)
            return -1;
    pthread_mutex_lock(&library_lock);
    while (state < threads)
        pthread_cond_wait(&library_changed, &library_lock);
    pthread_mutex_unlock(&library_lock);
    for (int t = 0; t < threads; t++)
        if (pthread_join(started[t], NULL) != 0)
            return -1;
    return state + per_thread + reserve[0];
}

__attribute__((constructor)) static void library_start(void)
{
    pthread_mutex_lock(&library_lock);
    printf("library starts\n");
    pthread_mutex_unlock(&library_lock);
}

__attribute__((destructor)) static void library_end(void)
{
    pthread_mutex_lock(&library_lock);
    printf("library ends after %d\n", state);
    pthread_mutex_unlock(&library_lock);
}
