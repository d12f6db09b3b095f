// One thread, with branches, loops, a switch, recursion, calls through pointers and back from the C library.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    if (a < b)
        return -1;
    return a > b;
}

__attribute__((noinline)) static uint64_t fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static uint64_t twice(uint64_t value)
{
    return value * 2;
}

__attribute__((noinline)) static uint64_t half(uint64_t value)
{
    return value / 2;
}

static uint64_t (*volatile steps[])(uint64_t) = {twice, half};

__attribute__((noinline)) static uint64_t apply(uint64_t value)
{
    switch (value % 7) {
    case 0:
        return fibonacci(value % 13);
    case 1:
        return steps[0](value);
    case 2:
        return steps[1](value);
    case 3:
        return value ^ 0x5555;
    case 4:
        return value + 99;
    case 5:
        return __builtin_bswap64(value);
    default:
        return ~value;
    }
}

int main(void)
{
    static uint64_t numbers[2000];
    uint64_t sum = 0;
    for (int i = 0; i < 2000; i++)
        numbers[i] = next() % 100000;
    qsort(numbers, 2000, sizeof numbers[0], compare);
    for (int i = 0; i < 2000; i++)
        sum += apply(numbers[i]);
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
