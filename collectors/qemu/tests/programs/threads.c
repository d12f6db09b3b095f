/* Threads one after the other and at the same time; each with marks; all do the same. Arguments: one after the other, at
   the same time, marks of each. */
#include "mark.h"

static long marks;

static void *work(void *number) {
    mark(THREAD_BEGIN, (long)number, 0);
    for (long i = 0; i < marks; i++) {
        turns(50);
        mark(UNIT_BEGIN, i, 0);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) {
        return 2;
    }
    int before = atoi(arguments[1]), together = atoi(arguments[2]);
    marks = atol(arguments[3]);
    show_turns();
    fflush(stdout);
    for (long i = 0; i < before; i++) {
        in_a_thread(work, (void *)i);
    }
    pthread_t threads[256];
    for (long i = 0; i < together; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)(before + i)) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < together; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
