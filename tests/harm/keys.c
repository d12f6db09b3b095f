// Keys for thread-specific data: one that nobody made is refused, and all that there are can be made.
#include "harm.h"

#include <pthread.h>
#include <threads.h>

static pthread_key_t never_made;
static int destroyed;

static void destroys(void *value)
{
    destroyed += *(int *)value;
}

static void *uses_what_nobody_made(void *argument)
{
    CHECK(pthread_setspecific(never_made, argument) == EINVAL);
    CHECK(pthread_getspecific(never_made) == NULL);
    return argument;
}

static void *uses_the_last(void *key)
{
    static int one = 1;
    CHECK(pthread_setspecific(*(pthread_key_t *)key, &one) == 0);
    return pthread_getspecific(*(pthread_key_t *)key);
}

int main(void)
{
    pthread_t thread;
    for (int round = 0; round < 3; round++) {
        CHECK(pthread_create(&thread, NULL, uses_what_nobody_made, &never_made) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    static pthread_key_t keys[2000];
    int made = 0;
    while (made < 2000 && pthread_key_create(&keys[made], destroys) == 0)
        made++;
    CHECK(pthread_key_create(&keys[made], destroys) == EAGAIN);
    tss_t none;
    CHECK(tss_create(&none, NULL) == thrd_error);
    printf("%d keys\n", made);
    for (int round = 1; round <= 3; round++) {
        void *got = NULL;
        CHECK(pthread_create(&thread, NULL, uses_the_last, &keys[made - 1]) == 0);
        CHECK(pthread_join(thread, &got) == 0);
        CHECK(got != NULL && *(int *)got == 1 && destroyed == round);
    }
    for (int key = 0; key < made; key++)
        CHECK(pthread_key_delete(keys[key]) == 0);
    return 0;
}
