// A thread pool as many programs have one: a queue of tasks behind one mutex and one condition variable.
#ifndef POOL_H
#define POOL_H

#include "../work.h"

// A range of the program's items.
struct task {
    long first, last;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    struct task *tasks; // a ring
    long submitted, taken, capacity;
    int closed;
    long workers;
    pthread_t *threads;
};

// What the workers do with a task; `worker` counts from 0.
static void run_task(struct task task, long worker);

static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};

// Gives 0 where no task is left and none will come.
NAMED static int pool_take(struct task *task)
{
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    while (pool.taken == pool.submitted && !pool.closed)
        check(pthread_cond_wait(&pool.not_empty, &pool.lock), "pthread_cond_wait");
    int got = pool.taken < pool.submitted;
    if (got)
        *task = pool.tasks[pool.taken++ % pool.capacity];
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
    return got;
}

NAMED static void pool_submit(struct task task)
{
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    if (pool.submitted - pool.taken == pool.capacity)
        abort(); // these programs know how many tasks they have at a time
    pool.tasks[pool.submitted++ % pool.capacity] = task;
    check(pthread_cond_signal(&pool.not_empty), "pthread_cond_signal");
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
}

NAMED static void *pool_worker(void *argument)
{
    struct task task;
    while (pool_take(&task))
        run_task(task, (long)(intptr_t)argument);
    return NULL;
}

// Room for `capacity` tasks that nobody has taken.
static void pool_create(long capacity)
{
    pool.capacity = capacity;
    pool.tasks = calloc((size_t)capacity, sizeof *pool.tasks);
    if (pool.tasks == NULL)
        abort();
}

static void pool_start(long workers)
{
    pool.workers = workers;
    pool.threads = calloc((size_t)workers, sizeof *pool.threads);
    if (pool.threads == NULL)
        abort();
    for (long t = 0; t < workers; t++)
        start_thread(&pool.threads[t], pool_worker, (void *)(intptr_t)t);
}

// Waits until all tasks are done and the workers have ended.
NAMED static void pool_finish(void)
{
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    pool.closed = 1;
    check(pthread_cond_broadcast(&pool.not_empty), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
    for (long t = 0; t < pool.workers; t++)
        join_thread(pool.threads[t]);
    free(pool.threads);
    free(pool.tasks);
}

#endif
