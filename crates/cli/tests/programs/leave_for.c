// Executes another program, named by the first argument, in the way that the second names: "exec" (execv), "bare"
// (execve with an empty environment), "spawn" (posix_spawn and wait). Threads have run before.
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *brief(void *argument) { return argument; }

int main(int argc, char **argv)
{
    char *const arguments[] = {argv[1], "from here", NULL};
    char *const nothing[] = {NULL};
    pthread_t thread;
    if (argc < 3 || pthread_create(&thread, NULL, brief, NULL) != 0)
        return 90;
    pthread_join(thread, NULL);
    if (strcmp(argv[2], "exec") == 0)
        execv(argv[1], arguments);
    if (strcmp(argv[2], "bare") == 0)
        execve(argv[1], arguments, nothing);
    if (strcmp(argv[2], "spawn") == 0) {
        pid_t child;
        int status;
        if (posix_spawn(&child, argv[1], NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) < 0)
            return 91;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 92;
    }
    return 93;
}
