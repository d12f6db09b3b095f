// Enters an empty root directory, then makes threads, forks and fails to exec. Needs root, else says
// "skipped".
#include "harm.h"
#include "use_threads.h"

#include <sys/stat.h>

int main(void)
{
    char directory[] = "/tmp/harm-chroot-XXXXXX";
    if (geteuid() != 0) {
        printf("skipped\n");
        return 0;
    }
    CHECK(mkdtemp(directory) != NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(use_threads(2, 500) == 1000);
        CHECK(chroot(directory) == 0 && chdir("/") == 0);
        printf("inside: locks %ld\n", use_threads(4, 2000));
        fflush(stdout);
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0) {
            printf("grandchild: locks %ld\n", use_threads(4, 2000));
            fflush(stdout);
            FAILS_WITH(ENOENT, execl("/bin/true", "true", (char *)NULL));
            FAILS_WITH(ENOENT, execlp("true", "true", (char *)NULL));
            _exit(5);
        }
        printf("grandchild ended with %d\n", status_of(grandchild));
        printf("system in an empty root: %d\n", WEXITSTATUS(system("true")));
        exit(6);
    }
    printf("child ended with %d\n", status_of(child));
    CHECK(rmdir(directory) == 0); // empty: nobody has left a file there
    return 0;
}
