// A server whose threads poll for requests; another process makes one every 10 ms, and takes no notice of the answers.
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2, REQUESTS = 40, WORK = 300000 };

static int requests[2];
static uint64_t answers[THREADS * 8];

static void *serve(void *at)
{
    uint64_t *answer = &answers[(intptr_t)at * 8];
    struct pollfd wanted = {.fd = requests[0], .events = POLLIN};
    char request;
    while (poll(&wanted, 1, -1) == 1 && read(requests[0], &request, 1) == 1)
        for (int i = 0; i < WORK; i++)
            *answer = *answer * 6364136223846793005u + (uint64_t)request;
    return NULL;
}

int main(void)
{
    if (pipe(requests) != 0)
        return 1;
    pid_t client = fork();
    if (client == 0) {
        for (int i = 0; i < REQUESTS; i++) {
            usleep(10000);
            if (write(requests[1], "x", 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(requests[1]);
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    waitpid(client, NULL, 0);
    puts("served");
    return 0;
}
