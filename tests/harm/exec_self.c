// exec in every form, of itself, from main and from a thread, with arguments and environment checked at each
// step.
#include "harm.h"
#include "use_threads.h"

#include <fcntl.h>

extern char **environ;

static char *program;

static int ours(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "HOLDUP", 6) == 0;
}

static void *exec_from_thread(void *argument)
{
    (void)argument;
    execl(program, "exec_self", "4", program, "with spaces", "", (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    int step = argc > 1 ? atoi(argv[1]) : 0;
    program = argc > 2 ? argv[2] : argv[0];
    printf("step %d, %d arguments, locks %ld\n", step, argc, use_threads(2, 300));
    fflush(stdout);
    char number[16];
    snprintf(number, sizeof number, "%d", step + 1);
    char *const arguments[] = {"exec_self", number, program, NULL};
    char *const bare[] = {"COLOUR=green", "EMPTY=", NULL};
    pthread_t thread;
    switch (step) {
    case 0:
        setenv("COLOUR", "blue", 1);
        execve(program, arguments, environ);
        break;
    case 1:
        printf("colour %s\n", getenv("COLOUR"));
        fflush(stdout);
        execvp(program, arguments);
        break;
    case 2:
        FAILS_WITH(ENOENT, execv("/nonexistent/program", arguments));
        FAILS_WITH(EACCES, execv("/etc/passwd", arguments));
        execl(program, "exec_self", "3", program, (char *)NULL);
        break;
    case 3:
        RETURNS(0, pthread_create(&thread, NULL, exec_from_thread, NULL));
        pthread_join(thread, NULL);
        break;
    case 4:
        printf("arguments '%s' '%s'\n", argv[3], argv[4]);
        fflush(stdout);
        int file = open(program, O_RDONLY | O_CLOEXEC);
        CHECK(file >= 0);
        fexecve(file, arguments, environ);
        break;
    case 5:
        execvpe(program, arguments, bare); // an environment that the program made itself
        break;
    default:
        for (char **variable = environ; *variable; variable++)
            if (!ours(*variable))
                printf("environment %s\n", *variable);
        return 6;
    }
    return 1;
}
