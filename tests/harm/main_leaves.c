// The main thread leaves by pthread_exit while others run on; the last one ends the process, with status 0.
#include "harm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_left = PTHREAD_COND_INITIALIZER;
static pthread_t main_thread;
static int left = 3;

static void *stay(void *argument)
{
    sleep_ms(10 * (long)(intptr_t)argument);
    RETURNS(0, pthread_mutex_lock(&lock));
    // One after the other, however late the machine wakes them.
    while (left != 4 - (intptr_t)argument)
        RETURNS(0, pthread_cond_wait(&one_left, &lock));
    printf("%d left\n", --left);
    RETURNS(0, pthread_cond_broadcast(&one_left));
    RETURNS(0, pthread_mutex_unlock(&lock));
    if ((intptr_t)argument == 3) {
        void *result;
        RETURNS(0, pthread_join(main_thread, &result));
        printf("main returned %d\n", (int)(intptr_t)result);
    }
    return NULL;
}

static void goodbye(void)
{
    printf("atexit runs\n");
}

int main(void)
{
    pthread_t thread;
    main_thread = pthread_self();
    CHECK(atexit(goodbye) == 0);
    for (intptr_t t = 1; t <= 3; t++) {
        RETURNS(0, pthread_create(&thread, NULL, stay, (void *)t));
        RETURNS(0, pthread_detach(thread));
    }
    pthread_exit((void *)42);
}
