//! Frames of the injected library in stacks that the kernel saw: they are none of the program's, which called what they stand
//! before.

use crate::facts::NamedFrame;

/// What the file name of the injected library begins with.
const OWN_LIBRARY: &str = "libholdup";

/// Parts of the library, and how the functions that they stand before are called.
const STANDS_BEFORE: [(&str, &str); 6] = [
    ("holdup_preload::mutex::", "pthread_mutex_"),
    ("holdup_preload::rwlock::", "pthread_rwlock_"),
    ("holdup_preload::spin::", "pthread_spin_"),
    ("holdup_preload::barrier::", "pthread_barrier_"),
    ("holdup_preload::condition::", "pthread_cond_"),
    ("holdup_preload::semaphore::", "sem_"),
];

/// What their functions stand before, where they are the first of ours in a stack.
const ENDS: [(&str, &str); 16] = [
    ("lock", "lock"),
    ("try_lock", "trylock"),
    ("timed_lock", "timedlock"),
    ("clock_lock", "clocklock"),
    ("unlock_and_tell", "unlock"),
    ("read_lock", "rdlock"),
    ("try_read_lock", "tryrdlock"),
    ("timed_read_lock", "timedrdlock"),
    ("clock_read_lock", "clockrdlock"),
    ("write_lock", "wrlock"),
    ("try_write_lock", "trywrlock"),
    ("timed_write_lock", "timedwrlock"),
    ("clock_write_lock", "clockwrlock"),
    ("wait", "wait"),
    ("timed_wait", "timedwait"),
    ("clock_wait", "clockwait"),
];

/// Takes them out of a stack. Where the thread was in them, or in what they tried first (`pthread_mutex_trylock`), stands what the
/// program called (`pthread_mutex_lock`).
pub(crate) fn take_out(frames: &mut Vec<NamedFrame>) {
    let Some(first) = frames.iter().position(is_own_frame) else { return };
    let own = frames[first..].iter().take_while(|frame| is_own_frame(frame)).count();
    let called = frames[first..first + own].iter().rev().find_map(called);
    match (first.checked_sub(1), called) {
        (None, Some(called)) => {
            frames[0] =
                NamedFrame { function: Some(called), address: frames[0].address, ..NamedFrame::default() };
        }
        (Some(tried), Some(called)) => {
            let function = &mut frames[tried].function;
            if function.as_deref().is_some_and(|function| function.contains("_try")) {
                *function = Some(called);
            }
        }
        (_, None) => {}
    }
    frames.retain(|frame| !is_own_frame(frame));
}

/// Whether the thread was in the library's own code.
pub(crate) fn is_innermost(frames: &[NamedFrame]) -> bool {
    frames.first().is_some_and(is_own_frame)
}

/// Whether a frame is one of the injected library's own functions.
pub fn is_own_frame(frame: &NamedFrame) -> bool {
    frame.module.as_deref().is_some_and(|module| module.starts_with(OWN_LIBRARY))
}

/// The function of the C library that the program called when it came to this frame of ours.
fn called(frame: &NamedFrame) -> Option<String> {
    let function = frame.function.as_deref()?;
    if function.starts_with("pthread_") || function.starts_with("sem_") {
        return Some(function.to_owned());
    }
    let mut parts = STANDS_BEFORE.iter();
    let (before, what) = parts.find_map(|(part, before)| Some((before, function.strip_prefix(part)?)))?;
    let end = ENDS.iter().find(|(own, _)| *own == what)?.1;
    Some(format!("{before}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(all: &[(&str, &str)]) -> Vec<String> {
        let frame = |(function, module): &(&str, &str)| NamedFrame {
            function: Some((*function).to_owned()),
            module: Some((*module).to_owned()),
            ..NamedFrame::default()
        };
        let mut frames: Vec<NamedFrame> = all.iter().map(frame).collect();
        take_out(&mut frames);
        frames.into_iter().filter_map(|frame| frame.function).collect()
    }

    #[test]
    fn what_the_program_called_stands_for_what_we_do() {
        let put = ("put", "app");
        let lock = ("holdup_preload::mutex::lock", "libholdup-1.so");
        let count = ("holdup_agent::uses::replace", "libholdup-1.so");
        let exported = ("pthread_rwlock_rdlock", "libholdup-1.so");
        let told = ("holdup_preload::mutex::unlock_and_tell", "libholdup-1.so");
        let read = ("holdup_preload::rwlock::timed_read_lock", "libholdup-1.so");
        let helps = ("holdup_preload::mutex::owner", "libholdup-1.so");
        let tried = ("___pthread_mutex_trylock", "libc.so.6");
        assert_eq!(shown(&[lock, put]), ["pthread_mutex_lock", "put"]);
        assert_eq!(shown(&[count, lock, put]), ["pthread_mutex_lock", "put"]);
        assert_eq!(shown(&[tried, lock, put]), ["pthread_mutex_lock", "put"]);
        assert_eq!(shown(&[count, exported, put]), ["pthread_rwlock_rdlock", "put"]);
        assert_eq!(shown(&[("__lll_lock_wait", "libc.so.6"), lock, put]), ["__lll_lock_wait", "put"]);
        assert_eq!(shown(&[told, put]), ["pthread_mutex_unlock", "put"]);
        assert_eq!(shown(&[helps, read, put]), ["pthread_rwlock_timedrdlock", "put"]);
        assert_eq!(shown(&[helps, put]), ["put"]);
        assert_eq!(shown(&[count, put]), ["put"]);
        assert_eq!(shown(&[tried, put]), ["___pthread_mutex_trylock", "put"]);
        assert_eq!(shown(&[("main", "app"), ("start", "libc.so.6"), exported]), ["main", "start"]);
        assert_eq!(shown(&[]), [""; 0]);
    }
}
