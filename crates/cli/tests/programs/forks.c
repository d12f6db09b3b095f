// Three children by fork, one after the other: two only compute, the last makes threads that share a lock and work longest.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;

static void *work(void *argument)
{
    for (long i = 0; i < (long)(intptr_t)argument; i++) {
        pthread_mutex_lock(&the_lock);
        for (uint64_t step = 0; step < 100000; step++)
            sum = sum * 6364136223846793005u + step;
        pthread_mutex_unlock(&the_lock);
    }
    return NULL;
}

int main(void)
{
    work((void *)1);
    for (int c = 0; c < 3; c++) {
        pid_t child = fork();
        if (child < 0)
            return 90;
        if (child == 0) {
            pthread_t threads[2];
            if (c < 2) {
                work((void *)(intptr_t)(100 * (c + 1)));
                _exit(0);
            }
            for (int t = 0; t < 2; t++)
                if (pthread_create(&threads[t], NULL, work, (void *)500) != 0)
                    _exit(90);
            for (int t = 0; t < 2; t++)
                pthread_join(threads[t], NULL);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 91;
        printf("child %d ended\n", c);
        fflush(stdout);
    }
    return 0;
}
