// Drops from root to nobody, then makes threads, forks and execs: nothing may be complained about on stderr,
// although the files of root's recording can no longer be opened. Needs root, else says "skipped".
#include "harm.h"
#include "use_threads.h"

static void *drop(void *argument)
{
    CHECK(setgid(65534) == 0); // the C library makes every thread change, by a signal of its own
    CHECK(setuid(65534) == 0);
    return argument;
}

int main(void)
{
    if (geteuid() != 0) {
        printf("skipped\n");
        return 0;
    }
    pthread_t thread;
    printf("as root: locks %ld\n", use_threads(3, 1000));
    RETURNS(0, pthread_create(&thread, NULL, drop, NULL));
    RETURNS(0, pthread_join(thread, NULL));
    FAILS_WITH(EPERM, setuid(0));
    CHECK(getuid() == 65534 && geteuid() == 65534 && getgid() == 65534);
    printf("as nobody: locks %ld\n", use_threads(4, 2000));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        printf("child of nobody: locks %ld\n", use_threads(4, 2000));
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "echo a shell of nobody; exit 8", (char *)NULL);
        _exit(127);
    }
    printf("child ended with %d\n", status_of(child));
    fflush(stdout);
    printf("system %d\n", WEXITSTATUS(system("echo another; exit 9")));
    return 0;
}
