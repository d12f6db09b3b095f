// Locks, threads and conditions in constructors, destructors and atexit handlers.
#include "harm.h"
#include "use_threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void step(const char *where)
{
    RETURNS(0, pthread_mutex_lock(&lock));
    printf("%s: %d, locks %ld\n", where, ++count, use_threads(2, 300));
    fflush(stdout);
    RETURNS(0, pthread_mutex_unlock(&lock));
}

static void at_exit(void) { step("atexit"); }

__attribute__((constructor(101))) static void first(void) { step("constructor 101"); }
__attribute__((constructor)) static void second(void) { step("constructor"); }
__attribute__((destructor)) static void last_but_one(void) { step("destructor"); }
__attribute__((destructor(101))) static void last(void) { step("destructor 101"); }

int main(void)
{
    CHECK(atexit(at_exit) == 0);
    step("main");
    return 0;
}
