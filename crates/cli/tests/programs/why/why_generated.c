// Code that is made while the program runs, with a loop in it; threads go through the loop differently often.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 8

// mov eax, edi; imul eax, eax, 31; dec edi; jnz to imul; ret
static const unsigned char code[] = {0x89, 0xf8, 0x6b, 0xc0, 0x1f, 0xff, 0xcf, 0x75, 0xf9, 0xc3};

static unsigned (*turn)(unsigned);
static pthread_barrier_t barrier;
static unsigned sums[THREADS];

static void *work(void *argument)
{
    long me = (intptr_t)argument;
    for (int round = 0; round < 3; round++) {
        sums[me] += turn(3000u * (unsigned)(me + 1));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    memcpy(page, code, sizeof code);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    memcpy(&turn, &page, sizeof turn);
    pthread_t team[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&team[t], NULL, work, (void *)(intptr_t)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(team[t], NULL);
    printf("%x\n", sums[THREADS - 1]);
    return 0;
}
