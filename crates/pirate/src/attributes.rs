//! Scheduling attributes of threads that have no safe function: how long their turns are, and how busy the kernel takes them
//! to be at least (`sched_setattr(2)`).

use std::io;

/// `struct sched_attr`, in its second version.
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
    util_min: u32,
    util_max: u32,
}

const RESET_ON_FORK: u64 = 1;
const KEEP_POLICY: u64 = 0x08;
const KEEP_PARAMETERS: u64 = 0x10;
const UTIL_CLAMP_MIN: u64 = 0x20;

/// As busy as a thread can be: the kernel picks the frequency of whoever has this for a full load (`SCHED_CAPACITY_SCALE`).
pub const FULLY_UTILIZED: u32 = 1024;

/// The shortest turn that the kernel gives (`kernel/sched/syscalls.c`), in ns.
const SHORTEST_TURN: u64 = 100_000;

/// Of a thread, by its kernel id; 0 means the calling one.
fn of(thread: u32) -> io::Result<Attributes> {
    let size = size_of::<Attributes>() as u32;
    let mut attributes = Attributes { size, ..Attributes::default() };
    // SAFETY: a place of the size that is told.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, size, 0) };
    if result == 0 { Ok(attributes) } else { Err(io::Error::last_os_error()) }
}

fn set(thread: u32, attributes: &Attributes) -> io::Result<()> {
    // SAFETY: a structure that says its own size; the kernel only reads.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const *attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for short turns on a CPU for the calling thread: who does little and wakes often gets the CPU at once then, instead of
/// after the turn of whoever has it (Linux 6.12 and later; before that it has no effect). It gives no larger share.
///
/// # Errors
/// Those of the system.
pub fn takes_short_turns() -> io::Result<()> {
    let mut attributes = of(0)?;
    attributes.flags |= RESET_ON_FORK;
    attributes.runtime = SHORTEST_TURN;
    set(0, &attributes)
}

/// How busy the kernel takes a thread to be at least when it chooses a frequency, from 0 to [`FULLY_UTILIZED`]. 0 also where
/// the kernel has no such setting: see [`has_utilization_clamps`].
///
/// # Errors
/// Those of the system.
pub fn least_utilization(thread: u32) -> io::Result<u32> {
    Ok(of(thread)?.util_min)
}

/// Sets it. The user whose thread it is may do that.
///
/// # Errors
/// Those of the system, among them that the kernel has no such setting.
pub fn set_least_utilization(thread: u32, least: u32) -> io::Result<()> {
    let flags = KEEP_POLICY | KEEP_PARAMETERS | UTIL_CLAMP_MIN;
    let size = size_of::<Attributes>() as u32;
    set(thread, &Attributes { size, flags, util_min: least, ..Attributes::default() })
}

/// Whether the kernel was built with that setting (`CONFIG_UCLAMP_TASK`), by setting the calling thread's to what it is.
pub fn has_utilization_clamps() -> bool {
    least_utilization(0).and_then(|least| set_least_utilization(0, least)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_turns_can_be_had_by_everybody() {
        std::thread::spawn(|| {
            takes_short_turns().unwrap();
            let reset = libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK;
            // SAFETY: no pointer.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, reset);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_clamp_is_kept_where_the_kernel_has_them_and_refused_where_not() {
        std::thread::spawn(|| {
            let set = set_least_utilization(0, 512);
            assert_eq!(set.is_ok(), has_utilization_clamps(), "{set:?}");
            let expected = if set.is_ok() { 512 } else { 0 };
            assert_eq!(least_utilization(0).unwrap(), expected);
            // SAFETY: no pointer.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_OTHER, "nothing else is changed");
        })
        .join()
        .unwrap();
        assert!(least_utilization(u32::MAX >> 1).is_err(), "there is no such thread");
    }
}
