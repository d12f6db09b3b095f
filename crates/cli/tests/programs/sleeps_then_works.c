// Half a second asleep, then some work.
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    usleep(500000);
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < 400000000u; i++)
        sum += i;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
