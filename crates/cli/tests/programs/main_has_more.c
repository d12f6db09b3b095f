// Main gives a thread three eighths of the work and does the rest itself: for two fifths of its time nobody is beside it.
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static void *add_up(void *argument)
{
    long steps = *(long *)argument;
    double sum = 0;
    for (long step = 0; step < steps; step++)
        sum += sin(step * 0.001);
    *(long *)argument = (long)sum;
    return NULL;
}

int main(void)
{
    long of_thread = 3000000, of_main = 5000000;
    pthread_t thread;
    if (pthread_create(&thread, NULL, add_up, &of_thread) != 0)
        return 1;
    add_up(&of_main);
    pthread_join(thread, NULL);
    printf("%ld %ld\n", of_thread, of_main);
    return 0;
}
