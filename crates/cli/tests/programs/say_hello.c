// A library for LD_PRELOAD whose effect can be seen: a line at the start, and its own getppid.
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void hello(void)
{
    if (write(1, "hello from the library\n", 23) < 0)
        _exit(99);
}

pid_t getppid(void) { return 4711; }
