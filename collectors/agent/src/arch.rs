//! What depends on the processor: x86-64.

use core::arch::{asm, global_asm};

/// Bytes of the thread's own block.
pub const THREAD_BLOCK: usize = 576;

// In the initial thread-local block of the process, so that reaching it never calls `__tls_get_addr`, which may
// allocate. It must stay small: late `dlopen` and small thread stacks have to find room for it.
global_asm!(
    ".section .tbss.holdup_thread_block,\"awT\",@nobits",
    ".globl holdup_thread_block",
    ".hidden holdup_thread_block",
    ".balign 64",
    ".type holdup_thread_block,@object",
    ".size holdup_thread_block,{bytes}",
    "holdup_thread_block:",
    ".zero {bytes}",
    ".text",
    bytes = const THREAD_BLOCK,
);

/// The address of the calling thread's own block, [`THREAD_BLOCK`] bytes that were zero when it started.
#[inline(always)]
pub fn thread_block() -> *mut u8 {
    let block: *mut u8;
    // SAFETY: reads the thread pointer and a link-time constant.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + holdup_thread_block@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) block,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// Fetches what is at this place from the core that has it, so that it can be changed at once.
#[inline(always)]
pub fn will_write<T>(place: &T) {
    use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
    // SAFETY: a hint.
    unsafe { _mm_prefetch::<_MM_HINT_ET0>(core::ptr::from_ref(place).cast()) };
}

/// The thread pointer: equal to `pthread_self()`, and above the stack of a thread that the C library made.
#[inline(always)]
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word of the thread's control block is its own address (x86-64 psABI, TLS).
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(pure, nomem, nostack)) };
    pointer
}

/// The processor's time-stamp counter.
#[inline(always)]
pub fn counter() -> u64 {
    // SAFETY: the instruction is unprivileged on Linux and has no other effect.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Waits until every instruction before has been executed: the counter may be read earlier otherwise.
#[inline(always)]
pub fn settle() {
    // SAFETY: of every x86-64 processor (SSE2), and has no other effect.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// Instruction, stack and frame pointer here.
#[inline(always)]
pub fn registers() -> (u64, u64, u64) {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        asm!(
            "lea {0}, [rip]",
            "mov {1}, rsp",
            "mov {2}, rbp",
            out(reg) ip,
            out(reg) sp,
            out(reg) bp,
            options(nomem, nostack),
        );
    }
    (ip, sp, bp)
}

/// A system call without the C library: no `errno`, no cancellation. Errors are negative.
///
/// # Safety
/// As the system call demands.
#[inline(always)]
pub unsafe fn system_call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11; the caller answers for the call itself.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Numbers of the system calls that are used here or looked for.
pub mod number {
    #![allow(missing_docs, reason = "named as the kernel names them")]
    pub const CLOSE: usize = 3;
    pub const STAT: usize = 4;
    pub const FSTAT: usize = 5;
    pub const POLL: usize = 7;
    pub const SCHED_YIELD: usize = 24;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const PREAD: usize = 17;
    pub const MREMAP: usize = 25;
    pub const MADVISE: usize = 28;
    pub const NANOSLEEP: usize = 35;
    pub const GETPID: usize = 39;
    pub const KILL: usize = 62;
    pub const FCNTL: usize = 72;
    pub const GETUID: usize = 102;
    pub const GETGID: usize = 104;
    pub const GETEUID: usize = 107;
    pub const GETEGID: usize = 108;
    pub const GETPPID: usize = 110;
    pub const SCHED_GETSCHEDULER: usize = 145;
    pub const PRCTL: usize = 157;
    pub const GETTID: usize = 186;
    pub const FGETXATTR: usize = 193;
    pub const FUTEX: usize = 202;
    pub const CLOCK_GETTIME: usize = 228;
    pub const OPENAT: usize = 257;
    pub const READLINKAT: usize = 267;
    pub const PRLIMIT: usize = 302;
    pub const SECCOMP: usize = 317;
}
