/* Two threads on one processor: in what range, in instructions, is the difference of what they have done? */
#define _GNU_SOURCE
#include "mark.h"
#include <sched.h>
#include <stdatomic.h>

/* The first rounds are not looked at: threads that begin one after the other differ by what they did before. */
enum { ROUNDS = 30000, FIRST = 10000, TURNS = 500 };

static _Atomic long progress[2];
static long least[2] = {ROUNDS, ROUNDS}, most[2] = {-ROUNDS, -ROUNDS};

static void *work(void *argument) {
    int me = (int)(long)argument;
    for (long i = 1; i <= ROUNDS; i++) {
        turns(TURNS);
        atomic_store(&progress[me], i);
        long other = atomic_load(&progress[!me]);
        if (i > FIRST && other > FIRST && other < ROUNDS) {
            long ahead = me == 0 ? i - other : other - i;
            least[me] = ahead < least[me] ? ahead : least[me];
            most[me] = ahead > most[me] ? ahead : most[me];
        }
    }
    return NULL;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    long from = least[0] < least[1] ? least[0] : least[1];
    long to = most[0] > most[1] ? most[0] : most[1];
    printf("range=%ld\n", (to - from) * 2 * TURNS);
    return 0;
}
