// C11 threads: mtx_*, cnd_*, thrd_*, tss_*, call_once, and their return codes.
#include "harm.h"

#include <threads.h>

static mtx_t plain, timed, recursive;
static cnd_t changed;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static int turn, onces, destroyed;

static void run_once(void) { onces++; }

static void destroy(void *value)
{
    mtx_lock(&plain);
    destroyed += *(int *)value;
    mtx_unlock(&plain);
}

static int take_turns(void *argument)
{
    int me = (int)(intptr_t)argument;
    static thread_local int weight;
    weight = me + 1;
    call_once(&once, run_once);
    CHECK(tss_set(key, &weight) == thrd_success);
    CHECK(tss_get(key) == &weight);
    for (int i = 0; i < 200; i++) {
        CHECK(mtx_lock(&plain) == thrd_success);
        while (turn % 3 != me)
            CHECK(cnd_wait(&changed, &plain) == thrd_success);
        turn++;
        CHECK(cnd_broadcast(&changed) == thrd_success);
        CHECK(mtx_unlock(&plain) == thrd_success);
    }
    return 100 + me;
}

static int leave(void *argument)
{
    (void)argument;
    CHECK(mtx_trylock(&plain) == thrd_busy);
    thrd_exit(55);
}

int main(void)
{
    thrd_t threads[3], thread;
    int result;
    struct timespec past = {1, 0}, soon;
    CHECK(mtx_init(&plain, mtx_plain) == thrd_success);
    CHECK(mtx_init(&timed, mtx_timed) == thrd_success);
    CHECK(mtx_init(&recursive, mtx_timed | mtx_recursive) == thrd_success);
    CHECK(cnd_init(&changed) == thrd_success);
    CHECK(tss_create(&key, destroy) == thrd_success);
    for (intptr_t t = 0; t < 3; t++)
        CHECK(thrd_create(&threads[t], take_turns, (void *)t) == thrd_success);
    for (int t = 0; t < 3; t++) {
        CHECK(thrd_join(threads[t], &result) == thrd_success);
        printf("thread %d returned %d\n", t, result);
    }
    printf("turns %d, once %d, destroyed %d\n", turn, onces, destroyed);
    CHECK(mtx_lock(&plain) == thrd_success);
    CHECK(mtx_trylock(&plain) == thrd_busy);
    CHECK(thrd_create(&thread, leave, NULL) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 55);
    CHECK(timespec_get(&soon, TIME_UTC) == TIME_UTC);
    CHECK(cnd_timedwait(&changed, &plain, &soon) == thrd_timedout);
    CHECK(cnd_timedwait(&changed, &plain, &past) == thrd_timedout);
    CHECK(mtx_unlock(&plain) == thrd_success);
    CHECK(cnd_signal(&changed) == thrd_success);
    CHECK(mtx_timedlock(&timed, &past) == thrd_success);
    CHECK(mtx_timedlock(&timed, &past) == thrd_timedout);
    CHECK(mtx_unlock(&timed) == thrd_success);
    for (int i = 0; i < 5; i++)
        CHECK((i % 2 ? mtx_lock(&recursive) : mtx_trylock(&recursive)) == thrd_success);
    for (int i = 0; i < 5; i++)
        CHECK(mtx_unlock(&recursive) == thrd_success);
    CHECK(mtx_lock(&plain) == thrd_success);
    CHECK(thrd_create(&thread, leave, NULL) == thrd_success);
    CHECK(thrd_detach(thread) == thrd_success);
    sleep_ms(20);
    CHECK(mtx_unlock(&plain) == thrd_success);
    CHECK(thrd_sleep(&(struct timespec){0, 1000000}, NULL) == 0);
    thrd_yield();
    CHECK(thrd_equal(thrd_current(), thrd_current()));
    mtx_destroy(&plain);
    mtx_destroy(&timed);
    mtx_destroy(&recursive);
    cnd_destroy(&changed);
    tss_delete(key);
    printf("all codes as promised\n");
    return 0;
}
