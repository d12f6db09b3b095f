// A filter that kills the process for every system call but the few that threads and locks need; then
// threads.
#include "harm.h"
#include "use_threads.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name)                                                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(futex),        ALLOW(read),           ALLOW(write),           ALLOW(exit),
    ALLOW(exit_group),   ALLOW(clone),          ALLOW(clone3),          ALLOW(mmap),
    ALLOW(munmap),       ALLOW(mprotect),       ALLOW(madvise),         ALLOW(rseq),
    ALLOW(sched_yield),  ALLOW(set_robust_list), ALLOW(rt_sigprocmask), ALLOW(gettid),
    ALLOW(nanosleep),    ALLOW(clock_nanosleep), ALLOW(brk),            ALLOW(getrandom),
    ALLOW(rt_sigreturn), ALLOW(clock_gettime),   ALLOW(newfstatat),
    ALLOW(rt_sigaction), // the C library's own handlers, at the first thread
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

int main(int argc, char **argv)
{
    int early = argc > 1 && strcmp(argv[1], "early") == 0; // before the first thread and the first lock
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (!early)
        printf("before the filter: %ld\n", use_threads(3, 1000));
    fflush(stdout);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    for (int i = 0; i < 5; i++)
        printf("inside the filter: %ld\n", use_threads(8, 2000));
    sleep_ms(2);
    return 11;
}
