// Ends as a crash does, with threads running and locks held; the argument says how: abort, segv, kill, term,
// quick (_exit), trap, or recover (the program's own SIGSEGV handler takes control and goes on).
#include "harm.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static sigjmp_buf escape;
static int *volatile nowhere;

static void *run_on(void *argument)
{
    int met = pthread_barrier_wait(&ready);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    for (;;) {
        RETURNS(0, pthread_mutex_lock(&lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    return argument;
}

static void recovered(int signal)
{
    siglongjmp(escape, signal);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "abort";
    struct rlimit no_core = {0, 0};
    pthread_t thread;
    CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
    RETURNS(0, pthread_barrier_init(&ready, NULL, 3));
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_create(&thread, NULL, run_on, NULL));
    int met = pthread_barrier_wait(&ready);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
    sleep_ms(20);
    RETURNS(0, pthread_mutex_lock(&lock));
    printf("ending by %s\n", how);
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        *nowhere = 1;
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how, "quick") == 0)
        _exit(17);
    if (strcmp(how, "trap") == 0)
        __builtin_trap();
    if (strcmp(how, "recover") == 0) {
        struct sigaction action = {.sa_handler = recovered};
        CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
        for (volatile int i = 0; i < 100; i++)
            if (sigsetjmp(escape, 1) == 0)
                *nowhere = i;
        RETURNS(0, pthread_mutex_unlock(&lock));
        RETURNS(0, pthread_mutex_lock(&lock));
        printf("recovered\n");
        return 4;
    }
    return 1;
}
