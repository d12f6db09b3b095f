// posix_spawn, posix_spawnp, system and popen, from main and from threads.
#include "harm.h"
#include "use_threads.h"

#include <spawn.h>

extern char **environ;

static int spawn(int by_path, int code)
{
    char text[16];
    snprintf(text, sizeof text, "exit %d", code);
    char *const arguments[] = {"sh", "-c", text, NULL};
    pid_t child;
    RETURNS(0, by_path ? posix_spawnp(&child, "sh", NULL, NULL, arguments, environ)
                       : posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ));
    return status_of(child);
}

static void *spawner(void *argument)
{
    int me = (int)(intptr_t)argument;
    long sum = 0;
    for (int i = 0; i < 10; i++)
        sum += spawn(i % 2, me * 10 + i);
    return (void *)(intptr_t)sum;
}

int main(void)
{
    pthread_t threads[3];
    char line[64];
    pid_t child;
    char *const arguments[] = {"sh", NULL};
    printf("spawn %d, spawnp %d\n", spawn(0, 3), spawn(1, 4));
    RETURNS(ENOENT, posix_spawn(&child, "/nonexistent/sh", NULL, NULL, arguments, environ));
    for (int t = 0; t < 3; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, spawner, (void *)(intptr_t)t));
    for (int t = 0; t < 3; t++) {
        void *sum;
        RETURNS(0, pthread_join(threads[t], &sum));
        printf("spawner %d: %ld\n", t, (long)(intptr_t)sum);
    }
    posix_spawn_file_actions_t actions;
    int ends[2];
    CHECK(pipe(ends) == 0);
    RETURNS(0, posix_spawn_file_actions_init(&actions));
    RETURNS(0, posix_spawn_file_actions_adddup2(&actions, ends[1], 1));
    RETURNS(0, posix_spawn_file_actions_addclose(&actions, ends[0]));
    char *const echo[] = {"sh", "-c", "echo through a pipe", NULL};
    RETURNS(0, posix_spawn(&child, "/bin/sh", &actions, NULL, echo, environ));
    RETURNS(0, posix_spawn_file_actions_destroy(&actions));
    close(ends[1]);
    ssize_t length = read(ends[0], line, sizeof line - 1);
    CHECK(length > 0);
    line[length] = 0;
    printf("read %sspawned child ended with %d\n", line, status_of(child));
    fflush(stdout);
    int status = system("echo from system; exit 9");
    printf("system %d\n", WEXITSTATUS(status));
    fflush(stdout);
    FILE *pipe_in = popen("echo one; echo two; exit 2", "r");
    CHECK(pipe_in != NULL);
    while (fgets(line, sizeof line, pipe_in))
        printf("popen %s", line);
    status = pclose(pipe_in);
    printf("pclose %d\n", WEXITSTATUS(status));
    fflush(stdout);
    FILE *pipe_out = popen("cat", "w");
    CHECK(pipe_out != NULL);
    fprintf(pipe_out, "to cat\n");
    printf("pclose %d\n", WEXITSTATUS(pclose(pipe_out)));
    printf("locks %ld\n", use_threads(2, 500));
    return 0;
}
