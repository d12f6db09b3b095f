// Six threads deal rows out among them; who owns a row decides who works. Says a line on each stream, and ends with the
// status that it is told.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, ROWS = 60, ROUNDS = 4 };

static pthread_barrier_t step;
static unsigned long sums[THREADS];

static int owner(int row) {
    return row * row % THREADS;
}

__attribute__((noinline)) static unsigned long work(int row) {
    unsigned long sum = (unsigned long)row;
    for (int turn = 0; turn < 400; turn++)
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    return sum;
}

static void *worker(void *argument) {
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (int row = 0; row < ROWS; row++) {
            if (owner(row) == me) // PLANTED
                sums[me] += work(row + round);
        }
        pthread_barrier_wait(&step);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&step, NULL, THREADS);
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, worker, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    unsigned long sum = 0;
    for (int number = 0; number < THREADS; number++)
        sum += sums[number];
    printf("sum %lx\n", sum);
    fprintf(stderr, "done\n");
    int line = getchar();
    printf("read %d\n", line);
    return count > 1 ? atoi(arguments[1]) : 0;
}
