// A barrier for three threads, one of which has given up: the two others wait for it for ever.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { PARTIES = 3 };
static pthread_barrier_t all_have_read;

__attribute__((noipa)) static int read_part(intptr_t part)
{
    volatile double sum = 0;
    for (int i = 0; i < 3000000; i++)
        sum += i;
    return part != 2;
}

static void *reader(void *part)
{
    if (!read_part((intptr_t)part))
        return NULL;
    pthread_barrier_wait(&all_have_read);
    return part;
}

int main(void)
{
    pthread_t threads[PARTIES];
    pthread_barrier_init(&all_have_read, NULL, PARTIES);
    for (intptr_t i = 0; i < PARTIES; i++)
        if (pthread_create(&threads[i], NULL, reader, (void *)i) != 0)
            return 90;
    for (int i = 0; i < PARTIES; i++)
        pthread_join(threads[i], NULL);
    puts("this is never printed");
    return 0;
}
