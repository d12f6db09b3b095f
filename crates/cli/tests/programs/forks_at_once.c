/* forks_at_once N: N processes that live at the same time; each starts a thread and waits for its end */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *worker(void *nothing) {
    usleep(1000);
    return nothing;
}

int main(int count, char **words) {
    int processes = count > 1 ? atoi(words[1]) : 0, made = 0, failed = 0;
    for (; made < processes; made++) {
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, worker, NULL) != 0 || pthread_join(thread, NULL) != 0)
                _exit(1);
            _exit(0);
        }
    }
    for (int index = 0; index < made; index++) {
        int status;
        if (wait(&status) < 0 || status != 0)
            failed++;
    }
    printf("%d processes, %d failed\n", made, failed);
    return 0;
}
