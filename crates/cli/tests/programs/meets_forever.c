/* Two threads meet at a barrier again and again, until the program is ended from outside. */
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barrier;
static volatile long sum;

static void *work(void *unused)
{
    for (long meeting = 0;; meeting++) {
        for (int i = 0; i < 1000; i++)
            sum += i;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD && meeting == 100) {
            puts("met");
            fflush(stdout);
        }
    }
    return unused;
}

int main(void)
{
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
}
