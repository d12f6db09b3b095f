// Low limits, set inside and kept across exec: the argument says which.
//   nofile   no descriptor can be opened any more; threads, locks and fork must work
//   nofile4  exec with room for one descriptor, which the dynamic loader needs
//   as       exec with 1 GiB of address space; prints how much of it the program can have, in steps of 64 MiB
//   fsize    exec with a file size limit of 0: a write to any file is SIGXFSZ
//   nproc    no more threads (as an ordinary user): pthread_create must fail with EAGAIN
//   memlock  exec with no locked memory allowed, as an ordinary user: perf buffers cannot be mapped
//   lockall  exec with 256 MiB of locked memory allowed, as an ordinary user: all of this program can be locked
#include "harm.h"
#include "use_threads.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void limit(__rlimit_resource_t resource, rlim_t soft)
{
    struct rlimit value;
    CHECK(getrlimit(resource, &value) == 0);
    value.rlim_cur = soft;
    CHECK(setrlimit(resource, &value) == 0);
}

// Takes address space for good; -1 where there is none left.
static intptr_t reserve(size_t size)
{
    return (intptr_t)mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void again(char **argv, const char *what)
{
    fflush(stdout);
    execl("/proc/self/exe", argv[0], what, "again", (char *)NULL);
    CHECK(!"exec");
}

static void report(const char *what)
{
    printf("%s: locks %ld\n", what, use_threads(4, 2000));
    fflush(stdout);
}

static void fork_and_report(const char *what)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        report(what);
        _exit(0);
    }
    CHECK(status_of(child) == 0);
}

static void *one_mutex(void *argument)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    RETURNS(0, pthread_mutex_lock(&lock));
    RETURNS(0, pthread_mutex_unlock(&lock));
    return argument;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nofile";
    int second = argc > 2;
    if (strcmp(what, "nofile") == 0) {
        limit(RLIMIT_NOFILE, 3);
        FAILS_WITH(EMFILE, open("/dev/null", O_RDONLY));
        report("no descriptors left");
        fork_and_report("no descriptors left, in a child");
    } else if (strcmp(what, "nofile4") == 0) {
        if (!second) {
            limit(RLIMIT_NOFILE, 4);
            again(argv, what);
        }
        report("one descriptor left");
        CHECK(open("/dev/null", O_RDONLY) == 3);
        FAILS_WITH(EMFILE, open("/dev/null", O_RDONLY));
        report("no descriptor left");
        fork_and_report("no descriptor left, in a child");
    } else if (strcmp(what, "as") == 0) {
        if (!second) {
            limit(RLIMIT_AS, 1L << 30);
            again(argv, what);
        }
        report("1 GiB of address space");
        long steps = 0;
        while (steps < 100 && reserve(64 << 20) != -1)
            steps++;
        FAILS_WITH(ENOMEM, reserve(64 << 20));
        printf("%ld times 64 MiB\n", steps);
        while (reserve(65536) != -1) {
        }
        pthread_t thread;
        pthread_attr_t attributes;
        RETURNS(0, pthread_attr_init(&attributes));
        RETURNS(0, pthread_attr_setstacksize(&attributes, 64 << 20)); // larger than any stack kept for reuse
        RETURNS(EAGAIN, pthread_create(&thread, &attributes, one_mutex, NULL));
        for (int i = 0; i < 1000; i++)
            one_mutex(NULL);
        printf("none left\n");
    } else if (strcmp(what, "fsize") == 0) {
        if (!second) {
            limit(RLIMIT_FSIZE, 0);
            again(argv, what);
        }
        long acquisitions = use_threads(4, 2000);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(use_threads(2, 500) == 1000 ? 0 : 1);
        int status = status_of(child);
        limit(RLIMIT_FSIZE, RLIM_INFINITY); // stdout may be a file
        printf("no file may grow: locks %ld, child %d\n", acquisitions, status);
    } else if (strcmp(what, "nproc") == 0) {
        report("threads allowed");
        if (geteuid() == 0) {
            CHECK(setgid(65534) == 0);
            CHECK(setuid(65534) == 0);
        }
        limit(RLIMIT_NPROC, 0);
        pthread_t thread;
        RETURNS(EAGAIN, pthread_create(&thread, NULL, one_mutex, NULL));
        RETURNS(EAGAIN, pthread_create(&thread, NULL, one_mutex, NULL));
        one_mutex(NULL);
        FAILS_WITH(EAGAIN, fork());
        printf("no more threads\n");
    } else if (strcmp(what, "memlock") == 0) {
        if (!second) {
            limit(RLIMIT_MEMLOCK, 0);
            again(argv, what);
        }
        if (geteuid() == 0) {
            CHECK(setgid(65534) == 0);
            CHECK(setuid(65534) == 0);
        }
        FAILS_WITH(EPERM, mlockall(MCL_CURRENT | MCL_FUTURE));
        report("nothing may be locked in memory");
    } else if (strcmp(what, "lockall") == 0) {
        if (!second) {
            const struct rlimit enough = {256L << 20, 256L << 20};
            if (setrlimit(RLIMIT_MEMLOCK, &enough) != 0) {
                printf("so much may not be locked here\n");
                return 0;
            }
            again(argv, what);
        }
        if (geteuid() == 0) {
            CHECK(setgid(65534) == 0);
            CHECK(setuid(65534) == 0);
        }
        CHECK(mlockall(MCL_CURRENT) == 0);
        report("all is locked in memory");
    } else {
        return 2;
    }
    return 0;
}
