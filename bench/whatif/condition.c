/* One thread makes jobs, others wait for them on a condition variable; the list of jobs has no limit. Really changed by:
 * making (us of a job), doing, doers (threads). */
#include "case.h"

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_changed = PTHREAD_COND_INITIALIZER;
static long jobs, making, doing, doers, made, taken;
static uint64_t results[MOST_THREADS * 8];

NAMED static uint64_t make_job(uint64_t state)
{
    WORK(state, making);
    return state;
}

NAMED static uint64_t do_job(uint64_t state)
{
    WORK(state, doing);
    return state;
}

static void *make(void *unused)
{
    for (long job = 0; job < jobs; job++) {
        results[0] += make_job((uint64_t)job + 1);
        pthread_mutex_lock(&jobs_lock);
        made++;
        pthread_cond_signal(&jobs_changed);
        pthread_mutex_unlock(&jobs_lock);
    }
    pthread_mutex_lock(&jobs_lock);
    pthread_cond_broadcast(&jobs_changed);
    pthread_mutex_unlock(&jobs_lock);
    return unused;
}

NAMED static long take_job(void)
{
    pthread_mutex_lock(&jobs_lock);
    while (taken == made && taken < jobs)
        pthread_cond_wait(&jobs_changed, &jobs_lock);
    long job = taken < jobs ? taken++ : -1;
    if (taken == jobs)
        pthread_cond_broadcast(&jobs_changed);
    pthread_mutex_unlock(&jobs_lock);
    return job;
}

static void *do_jobs(void *argument)
{
    long me = (long)(intptr_t)argument;
    for (long job; (job = take_job()) >= 0;) {
        results[me * 8] += do_job((uint64_t)job + 1);
        PROGRESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_switches(argc, argv);
    jobs = number("jobs", 300);
    making = number("making", 2000);
    doing = number("doing", 1500);
    doers = number("doers", 1);
    switches_end();
    if (doers < 1 || doers >= MOST_THREADS)
        return 2;
    pthread_t maker = start("maker", make, 0), others[MOST_THREADS];
    for (long i = 0; i < doers; i++)
        others[i] = start("doer", do_jobs, i + 1);
    join(maker);
    for (long i = 0; i < doers; i++)
        join(others[i]);
    return finish(results[0]);
}
