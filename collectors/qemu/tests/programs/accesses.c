/* Accesses to memory of every kind, at addresses that the program prints. */
#define _GNU_SOURCE
#include "mark.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static _Alignas(64) char from[4096], to[4096];
static long counter = 1;
/* Touched before there is a second thread. */
static volatile _Alignas(4096) char earlier[3 * 4096];
static sigjmp_buf landing;

void wide(const void *from, void *to);
void repeat(void *to, const void *from, long n);
void fault(const void *bad);
void add(long *to);
extern const char wide_end[], repeat_end[], fault_end[], add_end[];
__asm__(".text\n.globl wide, wide_end, repeat, repeat_end, fault, fault_end, add, add_end\n"
        "wide: movups (%rdi), %xmm0\nmovups %xmm0, (%rsi)\nmov 8(%rdi), %eax\nmov %al, 9(%rsi)\n"
        "vmovups 64(%rdi), %ymm0\nvmovups %ymm0, 64(%rsi)\nvzeroupper\n"
        "movaps (%rdi), %xmm0\nmovntps %xmm0, (%rsi)\nvmovaps %ymm0, 96(%rsi)\nvzeroupper\nret\nwide_end: nop\n"
        "repeat: mov %rdx, %rcx\nxchg %rdi, %rdi\nrep movsq\nret\nrepeat_end: nop\n"
        "fault: mov from(%rip), %rax\nnop\nmov (%rdi), %rax\nmov from(%rip), %rax\nret\nfault_end: nop\n"
        "add: lock addq $1, (%rdi)\nret\nadd_end: nop\n");

static void landed(int signal) {
    siglongjmp(landing, signal);
}

static void *work(void *bad) {
    mark(UNIT_BEGIN, 0, 0);
    for (int round = 0; round < 3; round++) {
        wide(from + 64 * round, to + 128 * round);
    }
    repeat(to, from, 3);
    repeat(to, from, 0);
    repeat(to + 8, from + 16, 400);
    repeat(to, from, 1);
    add(&counter);
    for (volatile int round = 0; round < 2; round++) {
        if (sigsetjmp(landing, 1) == 0) {
            fault(round == 0 ? from : bad);
        }
    }
    mark(UNIT_END, 0, 0);
    return NULL;
}

int main(void) {
    signal(SIGSEGV, landed);
    earlier[4096 + 64] = 1;
    (void)earlier[2 * 4096];
    earlier[5] = 1;
    in_a_thread(work, mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    show("from", from);
    show("to", to);
    show("earlier", (const void *)earlier);
    show("counter", &counter);
    show("wide", (const void *)wide);
    show("wide_end", wide_end);
    show("repeat", (const void *)repeat);
    show("repeat_end", repeat_end);
    show("fault", (const void *)fault);
    show("fault_end", fault_end);
    show("add", (const void *)add);
    show("add_end", add_end);
    return 0;
}
