// Says that it has begun, takes as many threads as its user may have for a while, and ends with status 5.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *sleeps(void *argument)
{
    usleep(400000);
    return argument;
}

int main(void)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    static pthread_t threads[4096];
    int number = 0;
    while (number < 4096 && pthread_create(&threads[number], &small, sleeps, NULL) == 0)
        number++;
    printf("begun\n");
    fflush(stdout);
    for (int thread = 0; thread < number; thread++)
        pthread_join(threads[thread], NULL);
    return 5;
}
