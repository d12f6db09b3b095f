//! What the kernel says of a thread.

use std::time::Duration;

use super::policy::Look;

/// Looks at the threads of this process.
pub(super) struct Looks(pub(super) u32);

impl Look for Looks {
    fn is_asleep(&mut self, tid: u32) -> bool {
        is_asleep(self.0, tid)
    }

    fn executed(&mut self, tid: u32) -> Option<Duration> {
        executed(self.0, tid)
    }
}

/// True if the thread is asleep and waits for something that can take any time.
fn is_asleep(pid: u32, tid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"))
        .is_ok_and(|text| state(&text) == Some('S'))
}

/// The state in a thread's `stat`: the third field, behind the name in brackets, which may contain anything.
fn state(text: &str) -> Option<char> {
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

/// CPU time since the thread began: the first number of its `schedstat` (`Documentation/scheduler/sched-stats.rst` of Linux),
/// in ns. It lags behind by a tick of the kernel at most.
fn executed(pid: u32, tid: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_executes_is_counted_where_the_kernel_counts_it() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        if let Some(before) = executed(std::process::id(), own) {
            let mut sum = 0u64;
            while executed(std::process::id(), own).is_some_and(|now| now == before) {
                sum = std::hint::black_box(sum + 1);
            }
            assert!(executed(std::process::id(), own) > Some(before));
        }
        assert_eq!(executed(std::process::id(), 0), None);
    }

    #[test]
    fn the_state_is_found_behind_a_hostile_name() {
        assert_eq!(state("12 (a) S b) R 1 12 0"), Some('R'));
        assert_eq!(state("7 (worker) S 1 7"), Some('S'));
        assert_eq!(state("7 (worker"), None);
    }

    #[test]
    fn a_thread_that_looks_is_awake() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(!is_asleep(std::process::id(), own));
        assert!(!is_asleep(std::process::id(), 0));
    }
}
