// Closes every descriptor above 2, by a loop and by close_range, before and after threads have started, as
// daemons do; the numbers are then used for files of the program's own, which nobody else may write to.
#include "harm.h"
#include "use_threads.h"

#include <fcntl.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void close_and_use(const char *how)
{
    if (strcmp(how, "loop") == 0)
        for (int descriptor = 3; descriptor < 1024; descriptor++)
            close(descriptor);
    else
        CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
    int ends[20][2];
    for (int i = 0; i < 20; i++)
        CHECK(pipe(ends[i]) == 0);
    CHECK(ends[0][0] == 3);
    long acquisitions = use_threads(4, 2000);
    for (int i = 0; i < 20; i++) {
        char byte = 0;
        CHECK(fcntl(ends[i][0], F_SETFL, O_NONBLOCK) == 0);
        FAILS_WITH(EAGAIN, read(ends[i][0], &byte, 1)); // nobody else has written
        CHECK(write(ends[i][1], "x", 1) == 1);
        CHECK(read(ends[i][0], &byte, 1) == 1 && byte == 'x');
        CHECK(close(ends[i][0]) == 0 && close(ends[i][1]) == 0);
    }
    printf("%s: %ld\n", how, acquisitions);
}

int main(void)
{
    close_and_use("loop");
    close_and_use("close_range");
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close_and_use("loop");
        fflush(stdout);
        _exit(0);
    }
    printf("child %d\n", status_of(child));
    close_and_use("loop");
    return 0;
}
