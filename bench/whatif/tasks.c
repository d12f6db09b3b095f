/* Workers that take tasks of different length from one list. Really changed by: workers, hold (us for which the list's
 * lock is held to take one), quick (the first worker's speed in per cent). */
#include "case.h"

static pthread_mutex_t tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static long workers, tasks, task, hold, quick, next_task;
static uint64_t results[MOST_THREADS * 8];

NAMED static long take_task(void)
{
    uint64_t state = 1;
    pthread_mutex_lock(&tasks_lock);
    long taken = next_task++;
    WORK(state, hold);
    results[0] += state & 1;
    pthread_mutex_unlock(&tasks_lock);
    return taken;
}

NAMED static uint64_t run_task(uint64_t state, long us)
{
    WORK(state, us);
    return state;
}

static void *work(void *argument)
{
    long me = (long)(intptr_t)argument;
    long speed = me == 0 ? quick : 100;
    for (long taken; (taken = take_task()) < tasks;) {
        long us = task / 2 + (long)(mixed((uint64_t)taken) % (uint64_t)(task + 1));
        results[me * 8 + 1] += run_task((uint64_t)taken + 1, us * 100 / speed);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    workers = number("workers", 2);
    tasks = number("tasks", 800);
    task = number("task", 1500);
    hold = number("hold", 0);
    quick = number("quick", 100);
    switches_end();
    if (workers < 1 || workers > MOST_THREADS || quick == 0)
        return 2;
    pthread_t running[MOST_THREADS];
    for (long i = 0; i < workers; i++)
        running[i] = start(i == 0 ? "first" : "other", work, i);
    for (long i = 0; i < workers; i++)
        join(running[i]);
    return finish(results[1]);
}
