//! What there is no safe function for: how much CPU time another process has used.

/// CPU time of all threads of a process, those that have ended among them, in ns; `None` if there is no such process.
pub(crate) fn cpu_ns(process: u32) -> Option<u64> {
    // `clock_getcpuclockid`: the complement of the process's number, and 2 for time as the scheduler counts it.
    let clock = (!i32::try_from(process).ok()?) << 3 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_computes_uses_time_and_one_that_is_not_there_none() {
        let own = std::process::id();
        let before = super::cpu_ns(own).unwrap();
        let mut sum = 0u64;
        while super::cpu_ns(own).unwrap() < before + 1_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        assert_eq!(super::cpu_ns(u32::MAX), None);
    }
}
