// Semaphores, unnamed and named: wait, try, timed, clock, value, overflow, and the errno of each failure.
#include "harm.h"

#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>

static sem_t *semaphore;

static void *post_ten(void *argument)
{
    for (int i = 0; i < 10; i++) {
        sleep_ms(1);
        CHECK(sem_post(semaphore) == 0);
    }
    return argument;
}

static void use(const char *name)
{
    pthread_t thread;
    int value;
    struct timespec past = {1, 0}, bad = {1, 1000000000}, soon = in_ms(CLOCK_REALTIME, 10);
    FAILS_WITH(EAGAIN, sem_trywait(semaphore));
    FAILS_WITH(ETIMEDOUT, sem_timedwait(semaphore, &past));
    FAILS_WITH(ETIMEDOUT, sem_timedwait(semaphore, &soon));
    FAILS_WITH(EINVAL, sem_timedwait(semaphore, &bad));
    soon = in_ms(CLOCK_MONOTONIC, 10);
    FAILS_WITH(ETIMEDOUT, sem_clockwait(semaphore, CLOCK_MONOTONIC, &soon));
    FAILS_WITH(EINVAL, sem_clockwait(semaphore, CLOCK_PROCESS_CPUTIME_ID, &soon));
    RETURNS(0, pthread_create(&thread, NULL, post_ten, NULL));
    for (int i = 0; i < 8; i++)
        CHECK(sem_wait(semaphore) == 0);
    struct timespec late = in_ms(CLOCK_REALTIME, 60000), late_too = in_ms(CLOCK_MONOTONIC, 60000);
    CHECK(sem_timedwait(semaphore, &late) == 0);
    CHECK(sem_clockwait(semaphore, CLOCK_MONOTONIC, &late_too) == 0);
    RETURNS(0, pthread_join(thread, NULL));
    CHECK(sem_getvalue(semaphore, &value) == 0 && value == 0);
    CHECK(sem_post(semaphore) == 0 && sem_post(semaphore) == 0);
    CHECK(sem_getvalue(semaphore, &value) == 0 && value == 2);
    CHECK(sem_trywait(semaphore) == 0 && sem_wait(semaphore) == 0);
    printf("%s\n", name);
}

int main(void)
{
    sem_t unnamed;
    char name[64];
    CHECK(sem_init(&unnamed, 0, 0) == 0);
    semaphore = &unnamed;
    use("private");
    CHECK(sem_destroy(&unnamed) == 0);
    CHECK(sem_init(&unnamed, 1, 0) == 0);
    use("process-shared");
    CHECK(sem_destroy(&unnamed) == 0);
    FAILS_WITH(EINVAL, sem_init(&unnamed, 0, (unsigned)INT_MAX + 1));
    CHECK(sem_init(&unnamed, 0, INT_MAX) == 0);
    FAILS_WITH(EOVERFLOW, sem_post(&unnamed));
    snprintf(name, sizeof name, "/harm-%d", getpid());
    semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    CHECK(semaphore != SEM_FAILED);
    CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED && errno == EEXIST);
    CHECK(sem_open(name, 0) == semaphore);
    CHECK(sem_close(semaphore) == 0);
    use("named");
    CHECK(sem_close(semaphore) == 0 && sem_unlink(name) == 0);
    FAILS_WITH(ENOENT, sem_unlink(name));
    CHECK(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    return 0;
}
