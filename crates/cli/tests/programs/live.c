// A program whose threads do what is known, and that stands still where it is to be looked at: it makes the file argv[2] and
// reads argv[3], a pipe.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **arguments;
static pthread_barrier_t barrier;
static sem_t end;

static void works(long us)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    long until = time.tv_sec * 1000000L + time.tv_nsec / 1000 + us;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    while (time.tv_sec * 1000000L + time.tv_nsec / 1000 < until);
}

static void is_looked_at(void)
{
    close(open(arguments[2], O_CREAT | O_WRONLY, 0644));
    int pipe = open(arguments[3], O_RDWR); // so that it is the read that waits
    char byte;
    if (read(pipe, &byte, 1) != 1)
        _exit(3);
    close(pipe);
}

static void *worker(void *argument)
{
    long heavy = (long)argument;
    if (heavy)
        pthread_setname_np(pthread_self(), "heavy");
    for (int round = 0; round < 10; round++) {
        works(heavy ? 6000 : 500);
        pthread_barrier_wait(&barrier);
    }
    sem_wait(&end);
    return NULL;
}

static int team(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&barrier, NULL, 3);
    sem_init(&end, 0, 0);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i == 1));
    usleep(200000);
    is_looked_at();
    for (int i = 0; i < 3; i++)
        sem_post(&end);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 7;
}

static void *ends(void *argument)
{
    switch ((long)argument) {
    case 0:
        return NULL;
    case 1:
        pthread_exit(NULL);
    case 2:
        for (;;)
            pause();
    default:
        syscall(SYS_exit, 0);
    }
    return NULL;
}

static int family(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ends, (void *)i);
    pthread_cancel(threads[2]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends, (void *)0);
        pthread_join(thread, NULL);
        char *next[] = {arguments[0], "alone", arguments[2], arguments[3], NULL};
        execv(arguments[0], next);
        _exit(4);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 5 ? 8 : 9;
}

int main(int argc, char **argv)
{
    arguments = argv;
    if (argc < 4)
        return 2;
    if (strcmp(argv[1], "team") == 0)
        return team();
    if (strcmp(argv[1], "family") == 0)
        return family();
    is_looked_at();
    return 5;
}
