// Half a second asleep, then some work. With an argument it works for so many ms of CPU time and is killed.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long spent_ms(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    usleep(500000);
    volatile uint64_t sum = 0;
    if (argc > 1) {
        for (long end = spent_ms() + atol(argv[1]); spent_ms() < end;)
            sum += 1;
        kill(getpid(), SIGKILL);
    }
    for (uint64_t i = 0; i < 400000000u; i++)
        sum += i;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
