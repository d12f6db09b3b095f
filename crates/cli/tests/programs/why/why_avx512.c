// Uses an instruction of AVX-512 in a thread, whatever the processor can do.
#include <pthread.h>
#include <stdio.h>

static void *work(void *argument)
{
    (void)argument;
    __asm__ volatile("vpaddd %%zmm1, %%zmm2, %%zmm3" ::: "memory");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
