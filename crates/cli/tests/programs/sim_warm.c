/* One thread fills an array, then two of them, which it creates, read a half each: once, and nothing else. */
#include <pthread.h>
#include <stdio.h>

enum { NUMBERS = 64 * 1024, A_LINE = 8 };
static double numbers[NUMBERS];
static double sums[2];

static void *read_half(void *half) {
    const double *begin = numbers + (half == &sums[1]) * (NUMBERS / 2);
    double sum = 0;
    for (int at = 0; at < NUMBERS / 2; at += A_LINE) {
        sum += begin[at];
    }
    *(double *)half = sum;
    return NULL;
}

int main(void) {
    for (int at = 0; at < NUMBERS; at++) {
        numbers[at] = at;
    }
    pthread_t threads[2];
    for (int at = 0; at < 2; at++) {
        pthread_create(&threads[at], NULL, read_half, &sums[at]);
    }
    for (int at = 0; at < 2; at++) {
        pthread_join(threads[at], NULL);
    }
    printf("%.0f\n", sums[0] + sums[1]);
    return 0;
}
