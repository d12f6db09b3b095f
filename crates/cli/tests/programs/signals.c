// Threads that wait for a lock until a signal comes. The argument says what SIGTERM and SIGINT do: "handled" ends the
// program with status 7 after a last line, "ignored" is ended by SIGUSR1 only, anything else leaves them as they are.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_lock(void *argument)
{
    pthread_mutex_lock(&the_lock);
    return argument;
}

static void end_in_order(int signal)
{
    (void)signal;
    static const char last[] = "ended in order\n";
    if (write(1, last, sizeof last - 1) < 0)
        _exit(99);
    _exit(7);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "handled") == 0) {
        signal(SIGTERM, end_in_order);
        signal(SIGINT, end_in_order);
        signal(SIGHUP, end_in_order);
    }
    if (strcmp(how, "ignored") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGUSR1, end_in_order);
    }
    pthread_mutex_lock(&the_lock);
    if (pthread_create(&thread, NULL, wait_for_lock, NULL) != 0)
        return 90;
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}
