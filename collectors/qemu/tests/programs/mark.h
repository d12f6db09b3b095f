/* Marks as the injected library tells them: see crates/trace/src/instructions.rs. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELLO = 0, THREAD_BEGIN = 1, WAIT_BEGIN = 4, WAIT_END = 5, SYNC_BEGIN = 16, TASK_BEGIN = 22, TASK_END = 23,
       UNIT_BEGIN = 24, UNIT_END = 25, INTEREST_BEGIN = 26, INTEREST_END = 27 };

/* In line, so that no code of a library is in between. */
static inline long mark(long code, long a, long b) {
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(0x4D41524BL), "D"(code), "S"(a), "d"(b), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Executes 2 n + 2 instructions between `turns` and `turns_end`: n of them at `turns_loop`'s two. */
void turns(long n);
extern const char turns_loop[], turns_end[];
__asm__(".text\n.globl turns, turns_loop, turns_end\n.type turns, @function\n"
        "turns: nop\n"
        "turns_loop: dec %rdi\n"
        "jnz turns_loop\n"
        "ret\n"
        "turns_end: nop\n");

static inline void show(const char *name, const void *address) {
    printf("%s=%lu\n", name, (unsigned long)address);
}

static inline void show_turns(void) {
    show("turns", (const void *)turns);
    show("turns_loop", turns_loop);
    show("turns_end", turns_end);
}

static inline void in_a_thread(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) != 0 || pthread_join(thread, NULL) != 0) {
        abort();
    }
}
