// Puts a link to the directory that it is given in the place of the session's, and lets the recorder make files for children.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 2)
        return 0;
    const char *session = getenv("HOLDUP_SESSION");
    if (!session)
        return 2;
    char place[512], moved[520];
    snprintf(place, sizeof place, "%s", session);
    snprintf(moved, sizeof moved, "%s.moved", place);
    if (rename(place, moved) != 0 || symlink(argv[1], place) != 0)
        return 3;
    setenv("HOLDUP_SESSION", moved, 1);
    for (int child = 0; child < 12; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", argv[0], argv[1], "child", (char *)NULL);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
        usleep(20000);
    }
    unlink(place);
    rename(moved, place);
    return 0;
}
