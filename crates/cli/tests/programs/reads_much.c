/* Blocks for 50 ms in calls, and then reads for long what costs the kernel work and no wait. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLEEPS = 50, READS = 500, LENGTH = 4 << 20 };

static void *nothing(void *arg) { return arg; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < SLEEPS; i++)
        usleep(1000);
    int zeros = open("/dev/zero", O_RDONLY);
    char *buffer = malloc(LENGTH);
    for (int i = 0; i < READS; i++)
        if (read(zeros, buffer, LENGTH) != LENGTH)
            return 1;
    return 0;
}
