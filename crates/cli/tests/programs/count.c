// Two threads and a lock, so that a recording of it would not be empty; the status is 5.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *worker(void *argument)
{
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&the_lock);
        count++;
        pthread_mutex_unlock(&the_lock);
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, worker, NULL) != 0)
            return 90;
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    printf("count %ld, argument %s, colour %s\n", count, argc > 1 ? argv[1] : "none", getenv("COLOUR") ? "set" : "unset");
    return 5;
}
