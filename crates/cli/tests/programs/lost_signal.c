// Main signals before anybody waits, and two threads then wait for that signal without looking what it was for.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_ready = PTHREAD_COND_INITIALIZER;

__attribute__((noipa)) static void *wait_blindly(void *argument)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&is_ready, &lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&is_ready);
    pthread_mutex_unlock(&lock);
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, wait_blindly, NULL) != 0)
            return 90;
    printf("ready\n");
    fflush(stdout);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    return 0;
}
