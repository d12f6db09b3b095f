//! What `/proc` tells of a thread at a moment.

use std::fs;
use std::path::PathBuf;

use holdup_kernel::{Pid, Processes, Tid};

fn file(proc: &Processes, pid: Pid, tid: Tid, name: &str) -> PathBuf {
    proc.thread_file(pid, tid, name)
}

/// Whether the thread could run: the state `R` in `stat`.
pub(super) fn is_able(proc: &Processes, pid: Pid, tid: Tid) -> Option<bool> {
    let stat = fs::read(file(proc, pid, tid, "stat")).ok()?;
    // The name is in parentheses, and may have any character in it.
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(after + 2).map(|state| *state == b'R')
}

/// How often the thread has blocked: `voluntary_ctxt_switches` in `status`.
pub(super) fn voluntary_switches(proc: &Processes, pid: Pid, tid: Tid) -> Option<u64> {
    let status = fs::read_to_string(file(proc, pid, tid, "status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// What a blocked thread waits for, by the kernel's function that it waits in; empty where that may not be read.
pub(super) fn waits_for(proc: &Processes, pid: Pid, tid: Tid) -> String {
    let function = fs::read_to_string(file(proc, pid, tid, "wchan")).unwrap_or_default();
    word(function.trim()).to_owned()
}

/// A word for a function of the kernel (names as in Linux 4.14 to 6.18): what is not known stays as it is.
fn word(function: &str) -> &str {
    const WORDS: &[(&str, &str)] = &[
        ("futex", "futex"),
        ("nanosleep", "sleep"),
        ("ep_poll", "poll"),
        ("do_epoll", "poll"),
        ("poll", "poll"),
        ("select", "poll"),
        ("pipe", "pipe"),
        ("n_tty", "terminal"),
        ("tty", "terminal"),
        ("wait_woken", "terminal or network"),
        ("skb", "network"),
        ("sock", "network"),
        ("tcp", "network"),
        ("inet", "network"),
        ("unix_", "socket"),
        ("do_wait", "child process"),
        ("sigsuspend", "signal"),
        ("sigtimedwait", "signal"),
        ("signal_stop", "stopped"),
        ("ptrace", "stopped"),
        ("folio", "disk"),
        ("io_schedule", "disk"),
        ("bit_wait", "disk"),
        ("blk", "disk"),
        ("io_", "disk"),
        ("rwsem", "memory map"),
        ("vfork", "child process"),
    ];
    if function == "0" {
        return "";
    }
    WORDS.iter().find(|(part, _)| function.contains(part)).map_or(function, |(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_functions_have_words() {
        assert_eq!(word("futex_wait_queue"), "futex");
        assert_eq!(word("do_sys_poll"), "poll");
        assert_eq!(word("hrtimer_nanosleep"), "sleep");
        assert_eq!(word("anon_pipe_read"), "pipe");
        assert_eq!(word("something_new"), "something_new");
        assert_eq!(word("0"), "");
    }

    #[test]
    fn a_state_is_read_behind_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let task = folder.path().join("7/task/8");
        fs::create_dir_all(&task).unwrap();
        let proc = Processes::below(folder.path());
        fs::write(task.join("stat"), "8 (a) S (b) R 1 2 3").unwrap();
        assert_eq!(is_able(&proc, Pid(7), Tid(8)), Some(true));
        fs::write(task.join("stat"), "8 (R) S 1 2 3").unwrap();
        assert_eq!(is_able(&proc, Pid(7), Tid(8)), Some(false));
        fs::write(task.join("status"), "Name:\tx\nvoluntary_ctxt_switches:\t42\n").unwrap();
        assert_eq!(voluntary_switches(&proc, Pid(7), Tid(8)), Some(42));
        assert_eq!(is_able(&proc, Pid(7), Tid(9)), None);
    }
}
