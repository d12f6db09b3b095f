//! `syscall`, through which Rust's standard library, parking_lot and others use futexes.

use core::ffi::c_long;

use holdup_agent::arch::number;
use holdup_agent::waits::{self, Wanted};
use holdup_agent::{hot, process};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::real;

/// Interposes `syscall`: looks at the number and otherwise jumps to the original, so that calls which return twice
/// or on another stack work.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp rdi, {futex_number}",
        "je {futex}",
        "cmp rdi, {prctl_number}",
        "je {confining}",
        "cmp rdi, {seccomp_number}",
        "je {confining}",
        "mov rax, [rip + {original}]",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        // Before our constructor has run: the system call itself, as the C library would make it.
        "2:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "3:",
        "neg rax",
        "push rax",
        "call {errno}",
        "pop rcx",
        "mov [rax], ecx",
        "mov rax, -1",
        "ret",
        futex_number = const number::FUTEX,
        prctl_number = const number::PRCTL,
        seccomp_number = const number::SECCOMP,
        futex = sym futex,
        confining = sym confining,
        original = sym real::SYSCALL,
        errno = sym errno_location,
    )
}

extern "C" fn errno_location() -> *mut core::ffi::c_int {
    real::errno_location()
}

const PR_SET_SECCOMP: c_long = 22;
const PR_SET_TSC: c_long = 26;
const PRCTL_STRICT: c_long = 1;
const SECCOMP_STRICT: c_long = 0;

unsafe extern "C" fn confining(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let seccomp = number == number::SECCOMP as c_long;
    if seccomp && a == SECCOMP_STRICT
        || !seccomp && (a == PR_SET_TSC || a == PR_SET_SECCOMP && b == PRCTL_STRICT)
    {
        process::stop();
    } else if seccomp || a == PR_SET_SECCOMP {
        process::confine();
    }
    real::syscall([number, a, b, c, d, e, f])
}

const COMMAND: c_long = 0x7f;
const WAIT: c_long = 0;
const WAKE: c_long = 1;
const WAIT_BITSET: c_long = 9;
const WAKE_BITSET: c_long = 10;
const PRIVATE: c_long = 128;

const EAGAIN: i32 = 11;
const ETIMEDOUT: i32 = 110;

unsafe extern "C" fn futex(
    number: c_long,
    word: c_long,
    operation: c_long,
    value: c_long,
    timeout: c_long,
    word2: c_long,
    value3: c_long,
) -> c_long {
    let arguments = [number, word, operation, value, timeout, word2, value3];
    let object = word as u64;
    match operation & COMMAND {
        WAIT | WAIT_BITSET => {
            let process_shared = operation & PRIVATE == 0;
            let wanted = Wanted::until(object, ObjectCode::Futex, timeout != 0);
            let pending = waits::begin(Wanted { process_shared, ..wanted });
            hot::arrive(object);
            let result = real::syscall(arguments);
            hot::leave(object);
            match (result, if result < 0 { real::errno() } else { 0 }) {
                (0.., _) => waits::end(pending, OutcomeCode::Granted),
                (_, ETIMEDOUT) => waits::end(pending, OutcomeCode::TimedOut),
                (_, EAGAIN) => waits::cancel(pending),
                _ => waits::end(pending, OutcomeCode::Failed),
            }
            result
        }
        WAKE | WAKE_BITSET => {
            let time = waits::waking(object, ObjectCode::Futex, value as u32);
            let result = real::syscall(arguments);
            if result > 0 {
                waits::woke(time, object, ObjectCode::Futex, result as u32);
            }
            result
        }
        _ => real::syscall(arguments),
    }
}
