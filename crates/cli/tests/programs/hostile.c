// Names that a terminal, a browser or a reader of JSON could fall for: of threads, functions, globals and files.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t the_lock __asm__("\"lock\033]0;owned\007<script>alert(1)</script>\"") = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;

static void work(uint64_t seed) __asm__("\"work\033[2J\033[31m<b onload=x>\302\233&\"");

#line 7 "evil\033[2J<script>\302\233.c"
__attribute__((noipa)) static void work(uint64_t seed)
{
    pthread_mutex_lock(&the_lock);
    for (int i = 0; i < 300000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
    sum += seed;
    pthread_mutex_unlock(&the_lock);
}

static void *run(void *name)
{
    pthread_setname_np(pthread_self(), name);
    for (uint64_t i = 1; i < 200; i++)
        work(i);
    return NULL;
}

int main(void)
{
    static char *names[] = {"\033[31mred\033[0m", "\r\n\"},{\"x\":\"", "\302\233\342\200\256<i>", "\377\376\200"};
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        if (pthread_create(&threads[t], NULL, run, names[t]) != 0)
            return 90;
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    printf("sum %016llx\n", (unsigned long long)sum);
    return 0;
}
