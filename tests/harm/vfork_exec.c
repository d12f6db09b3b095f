// vfork, from main and from a thread, with exec and with _exit: the child borrows the parent's memory and
// stack.
#include "harm.h"
#include "use_threads.h"

static int run(int code)
{
    char text[16];
    snprintf(text, sizeof text, "exit %d", code);
    char *const arguments[] = {"sh", "-c", text, NULL};
    volatile int stack_word = 12345;
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        if (code % 2)
            _exit(code);
        execv("/bin/sh", arguments);
        _exit(127);
    }
    CHECK(stack_word == 12345);
    return status_of(child);
}

static void *runner(void *argument)
{
    (void)argument;
    long sum = 0;
    for (int i = 0; i < 20; i++)
        sum += run(i);
    return (void *)(intptr_t)sum;
}

int main(void)
{
    pthread_t threads[2];
    long total = 0;
    for (int i = 0; i < 10; i++)
        printf("vfork child %d\n", run(i));
    for (int t = 0; t < 2; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, runner, NULL));
    for (int t = 0; t < 2; t++) {
        void *sum;
        RETURNS(0, pthread_join(threads[t], &sum));
        total += (long)(intptr_t)sum;
    }
    printf("threads' children %ld, locks %ld\n", total, use_threads(2, 500));
    return 0;
}
