// Closes every descriptor above 2, by a loop and by close_range, as daemons do; the numbers are then used for
// files of the program's own, which nobody else may write to.
#include "harm.h"
#include "use_threads.h"

#include <sys/mman.h>
#include <sys/stat.h>
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
    int files[40];
    for (int i = 0; i < 40; i++)
        files[i] = memfd_create("harm", 0);
    CHECK(files[0] == 3 && files[39] == 42);
    long acquisitions = use_threads(4, 2000);
    for (int i = 0; i < 40; i++) {
        struct stat state;
        CHECK(fstat(files[i], &state) == 0 && S_ISREG(state.st_mode));
        CHECK(state.st_size == 0); // nobody else has written
        CHECK(close(files[i]) == 0);
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
