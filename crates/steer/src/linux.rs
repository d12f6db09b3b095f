//! What there is no safe function for: how much CPU time another process has used, and the length of a turn.

/// CPU time of all threads of a process, those that have ended among them, in ns; `None` if there is no such process.
pub(crate) fn cpu_ns(process: u32) -> Option<u64> {
    // `clock_getcpuclockid`: the complement of the process's number, and 2 for time as the scheduler counts it.
    let clock = (!i32::try_from(process).ok()?) << 3 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The shortest turn that the kernel gives (`kernel/sched/syscalls.c`), in ns.
const SHORTEST_TURN: u64 = 100_000;

/// Asks for short turns on a CPU for the calling thread: who does little and wakes often gets the CPU at once then, instead of
/// after the turn of whoever has it (Linux 6.12 and later; before that it has no effect). It gives no larger share.
///
/// # Errors
/// Those of the system.
pub fn takes_short_turns() -> std::io::Result<()> {
    /// `struct sched_attr` of `sched_setattr(2)`, in its first version.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    const RESET_ON_FORK: u64 = 1;
    let size = size_of::<Attributes>() as u32;
    let mut attributes = Attributes { size, ..Attributes::default() };
    // SAFETY: a place of the size that is told, and the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if result != 0 {
        return Err(std::io::Error::last_os_error());
    }
    attributes.flags |= RESET_ON_FORK;
    attributes.runtime = SHORTEST_TURN;
    // SAFETY: as above; the kernel only reads.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_turns_can_be_had_by_everybody() {
        std::thread::spawn(|| {
            super::takes_short_turns().unwrap();
            let reset = libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK;
            // SAFETY: no pointer.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, reset);
        })
        .join()
        .unwrap();
    }

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
