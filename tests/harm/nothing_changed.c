// What a program can see of its own process: open descriptors, threads, children, signal dispositions and
// mask, limits, working directory, environment. Nothing of it may change.
#include "harm.h"
#include "use_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

static int entries(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;
    CHECK(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static void look(const char *when)
{
    printf("%s\n", when);
    int open_above_2 = 0;
    for (int descriptor = 3; descriptor < 4096; descriptor++)
        open_above_2 += fcntl(descriptor, F_GETFD) >= 0;
    printf("  descriptors above 2: %d, listed: %d\n", open_above_2, entries("/proc/self/fd") - 1 - 3);
    int first = open("/dev/null", O_RDONLY);
    printf("  the next descriptor: %d\n", first);
    close(first);
    printf("  threads: %d\n", entries("/proc/self/task"));
    FAILS_WITH(ECHILD, waitpid(-1, NULL, WNOHANG));
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        int readable = number != 32 && number != 33 && sigaction(number, NULL, &action) == 0;
        if (readable && action.sa_handler != SIG_DFL)
            printf("  signal %d: %s\n", number, action.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    sigset_t mask;
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int number = 1; number < 65; number++)
        if (sigismember(&mask, number) == 1)
            printf("  signal %d: blocked\n", number);
    stack_t stack;
    CHECK(sigaltstack(NULL, &stack) == 0);
    printf("  alternate stack: %s\n", stack.ss_flags & SS_DISABLE ? "none" : "set");
    struct rlimit limit;
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        CHECK(getrlimit((__rlimit_resource_t)resource, &limit) == 0);
        printf("  limit %d: %llx %llx\n", resource, (unsigned long long)limit.rlim_cur,
               (unsigned long long)limit.rlim_max);
    }
    mode_t mask_of_modes = umask(022);
    umask(mask_of_modes);
    printf("  umask %o, nice %d\n", mask_of_modes, getpriority(PRIO_PROCESS, 0));
    printf("  policy %d, timer slack %d, dumpable %d\n", sched_getscheduler(0), prctl(PR_GET_TIMERSLACK),
           prctl(PR_GET_DUMPABLE));
    char name[17] = {0};
    CHECK(prctl(PR_GET_NAME, name) == 0);
    printf("  name %s\n", name);
}

int main(void)
{
    int at_start = errno;
    int variables = 0;
    printf("errno at start: %d\n", at_start);
    for (char **variable = environ; *variable; variable++)
        // These are how the library gets in, and how ITT finds it.
        if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 && strncmp(*variable, "HOLDUP", 6) != 0 &&
            strncmp(*variable, "INTEL_", 6) != 0)
            variables++;
    printf("variables: %d\n", variables);
    look("at the start");
    printf("locks: %ld\n", use_threads(4, 2000));
    look("after threads");
    return 0;
}
