// Tasks of unequal length that threads take from a list with a mutex. Who executes which is up to the schedule: counts of
// one run say little of the next, and that must be said.
#include "../lime.h"

#define TASKS 512
#define ROUNDS 3
#define LONGEST 4000

static uint64_t results[ROUNDS][TASKS];

static uint64_t run_task(long task)
{
    uint64_t value = scattered((uint64_t)task);
    long length = (long)(value % LONGEST);
    for (long i = 0; i < length; i++)
        value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9u;
    return value;
}

#ifndef FIXED
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static long next_task[ROUNDS];

static void run_tasks(int round, long me)
{
    (void)me;
    for (;;) {
        check(pthread_mutex_lock(&list), "pthread_mutex_lock");
        long task = next_task[round]++; // whoever comes first
        check(pthread_mutex_unlock(&list), "pthread_mutex_unlock");
        if (task >= TASKS)
            break;
        results[round][task] = run_task(task);
    }
}
#else
// FIX: always the same tasks for a thread.
static void run_tasks(int round, long me)
{
    for (long task = me; task < TASKS; task += threads)
        results[round][task] = run_task(task);
}
#endif

static void *serve(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        run_tasks(round, (intptr_t)argument);
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_team(serve);
    uint64_t checksum = 0;
    int right = 1;
    for (int round = 0; round < ROUNDS; round++)
        for (long task = 0; task < TASKS; task++) {
            right &= results[round][task] == results[0][task];
            checksum = checksum * 31 + results[round][task];
        }
    return finish("lime_queue", checksum, right && results[0][TASKS - 1] == run_task(TASKS - 1));
}
