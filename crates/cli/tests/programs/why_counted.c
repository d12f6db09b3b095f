// Each thread does more than the one before. Words: how many threads (0: all is done by main), and the status to end with.
// Adds a line to the file "runs".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, ROWS = 100 };

// Not static, so that no compiler knows it and makes four loops of one.
int rounds = 4;

static pthread_barrier_t step;
static unsigned long sums[MOST];

__attribute__((noinline)) static unsigned long work(int row) {
    unsigned long sum = (unsigned long)row;
    for (int turn = 0; turn < 300; turn++)
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    return sum;
}

__attribute__((noinline)) static int rank(int row) {
    return row * 7 % ROWS / 10;
}

static void round_of(int me, int round) {
    for (int row = 0; row < ROWS; row++)
        if (rank(row) <= me) // PLANTED
            sums[me] += work(row + round);
}

static void *worker(void *argument) {
    for (int round = 0; round < rounds; round++) {
        round_of((int)(long)argument, round);
        pthread_barrier_wait(&step);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3)
        return 64;
    int threads = atoi(arguments[1]);
    FILE *runs = fopen("runs", "a");
    if (runs == NULL || fputs("ran\n", runs) < 0 || fclose(runs) != 0)
        return 65;
    pthread_t ids[MOST];
    if (threads > 0)
        pthread_barrier_init(&step, NULL, (unsigned)threads);
    else
        round_of(9, 0);
    for (long number = 0; number < threads; number++)
        pthread_create(&ids[number], NULL, worker, (void *)number);
    unsigned long sum = 0;
    for (int number = 0; number < threads; number++) {
        pthread_join(ids[number], NULL);
        sum = sum * 31 + sums[number];
    }
    printf("sum %lx\n", sum);
    fprintf(stderr, "done\n");
    return atoi(arguments[2]);
}
