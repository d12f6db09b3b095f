/* threads_at_once N: N threads that live at the same time, wait for one word, and each add to a sum under a lock */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static int goes;
static long sum;

static void *worker(void *number) {
    pthread_mutex_lock(&lock);
    while (!goes)
        pthread_cond_wait(&all_there, &lock);
    sum += (long)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int count, char **words) {
    long threads = count > 1 ? atol(words[1]) : 0;
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    pthread_attr_t small;
    if (ids == NULL || pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 65536) != 0)
        return 2;
    long made = 0;
    while (made < threads && pthread_create(&ids[made], &small, worker, (void *)(made + 1)) == 0)
        made++;
    pthread_mutex_lock(&lock);
    goes = 1;
    pthread_cond_broadcast(&all_there);
    pthread_mutex_unlock(&lock);
    for (long index = 0; index < made; index++)
        if (pthread_join(ids[index], NULL) != 0)
            return 3;
    printf("%ld threads, %ld\n", made, sum);
    return 0;
}
