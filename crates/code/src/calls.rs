//! Functions that a loop which waits may call.

use iced_x86::Register;

use crate::place::{Places, of_register};

/// Functions of one name that give the core away, tell the processor that the thread spins, or ask for the time.
const WHOLE: [&str; 20] = [
    "sched_yield",
    "__sched_yield",
    "thrd_yield",
    "pthread_yield",
    "std::this_thread::yield",
    "runtime.osyield",
    "runtime.procyield",
    "_mm_pause",
    "cpu_relax",
    "clock_gettime",
    "__clock_gettime",
    "___clock_gettime",
    "__vdso_clock_gettime",
    "gettimeofday",
    "__gettimeofday",
    "__vdso_gettimeofday",
    "omp_get_wtime",
    "runtime.nanotime",
    "std::chrono::_V2::steady_clock::now",
    "std::chrono::_V2::system_clock::now",
];

/// Functions of one name that order accesses to memory.
const FENCES: [&str; 6] = [
    "__kmpc_flush",
    "__sync_synchronize",
    "atomic_thread_fence",
    "std::atomic_thread_fence",
    "core::sync::atomic::fence",
    "core::sync::atomic::compiler_fence",
];

/// Functions of one name that keep others out, and let them in again: what is done in between counts, not that.
const LOCKS: [&str; 22] = [
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_mutex_unlock_usercnt",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "omp_set_lock",
    "omp_test_lock",
    "omp_unset_lock",
    "GOMP_critical_start",
    "GOMP_critical_end",
    "GOMP_critical_name_start",
    "GOMP_critical_name_end",
    "__kmpc_critical",
    "__kmpc_critical_with_hint",
    "__kmpc_end_critical",
];

/// Beginnings and ends of names. Unoptimised C++ and Rust call a function to read an atomic variable.
const PARTS: [(&str, &str); 7] = [
    ("std::atomic<", "::load"),
    ("std::__atomic_base<", "::load"),
    ("core::sync::atomic::Atomic", "::load"),
    ("core::hint::", "spin_loop"),
    ("std::thread::", "yield_now"),
    ("std::time::Instant", "::elapsed"),
    ("std::time::Instant", "::now"),
];

/// A function that a loop may call and still wait for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Helper {
    /// It does nothing but let time pass, tell the time, or read one variable: a loop that calls it says that it waits.
    Waits,
    /// It does nothing but order accesses to memory, or keep others out for a while (a lock), as loops do that wait and loops that
    /// work.
    Orders,
    /// It can come back without having done anything ([`look`](crate::look)): what it gives depends on these, and on memory if it `reads`.
    Looks {
        /// What it goes by, of what its caller gives it.
        arguments: Arguments,
        /// It goes by memory that others can change.
        reads: bool,
        /// It gives zero then.
        gives_zero: bool,
    },
}

/// Registers in which a function is given something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arguments(pub(crate) Places);

impl Arguments {
    /// Those of these places that are registers for arguments (System V ABI for AMD64, section 3.2.3).
    pub(crate) fn among(places: Places) -> Self {
        use Register::{R8, R9, RCX, RDI, RDX, RSI, XMM0, XMM1, XMM2, XMM3, XMM4, XMM5, XMM6, XMM7};
        let all = [RDI, RSI, RDX, RCX, R8, R9, XMM0, XMM1, XMM2, XMM3, XMM4, XMM5, XMM6, XMM7];
        let all = all.into_iter().filter_map(of_register).fold(0, |all, one| all | one);
        Self(places & all)
    }
}

impl Helper {
    /// What the function of this name (its source name, without parameters) is to a loop that calls it, for
    /// [`waiting_loop`](crate::waiting_loop).
    pub fn of(function: &str) -> Option<Helper> {
        // The C library's own name for its own use.
        let function = function.strip_prefix("__GI_").unwrap_or(function);
        let has_parts = |(start, end): &(&str, &str)| {
            function.len() >= start.len() + end.len()
                && function.starts_with(start)
                && function.ends_with(end)
        };
        if WHOLE.contains(&function) || PARTS.iter().any(has_parts) {
            return Some(Helper::Waits);
        }
        let plain = function.trim_start_matches('_');
        let is_lock = LOCKS.iter().any(|lock| *lock == function || *lock == plain);
        (FENCES.contains(&function) || is_lock).then_some(Helper::Orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_as_compilers_write_them() {
        for name in [
            "sched_yield",
            "__GI___clock_gettime",
            "std::thread::functions::yield_now",
            "std::thread::yield_now",
            "std::atomic<bool>::load",
            "core::sync::atomic::AtomicBool::load",
            "core::sync::atomic::Atomic<bool>::load",
            "std::time::Instant::elapsed",
            "std::time::Instant::now",
        ] {
            assert_eq!(Helper::of(name), Some(Helper::Waits), "{name}");
        }
        for name in ["__kmpc_flush", "pthread_mutex_trylock", "___pthread_mutex_lock", "__kmpc_critical"] {
            assert_eq!(Helper::of(name), Some(Helper::Orders), "{name}");
        }
        for name in ["", "load", "std::atomic<bool>::store", "sched_yield_work", "core::hint::black_box"] {
            assert_eq!(Helper::of(name), None, "{name}");
        }
    }
}
