//! What the kernel says of a thread.

/// True if the thread is asleep and waits for something that can take any time.
pub(super) fn is_asleep(pid: u32, tid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"))
        .is_ok_and(|text| state(&text) == Some('S'))
}

/// The state in a thread's `stat`: the third field, behind the name in brackets, which may contain anything.
fn state(text: &str) -> Option<char> {
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

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
