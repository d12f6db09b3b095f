//! Whether anybody else used the machine while a program ran.
//!
//! `/proc/stat` says how much CPU time everybody had, `/proc/self/stat` how much of it this process and the children that it
//! has waited for. What is left is others': other programs, the kernel's threads, and the host (steal). A run beside which
//! others had more than [`ACCEPTED`] of all CPUs is repeated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The share of all CPUs' time that others may have in a quiet run.
pub(super) const ACCEPTED: f64 = 0.05;

/// Times in the clock's ticks (10 ms), since the machine started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ticks {
    /// Of all CPUs, whatever they did.
    all: u64,
    /// Of all CPUs, in which they did something, or were not there.
    used: u64,
    /// Of this process, of children that it has waited for, and of `companions`.
    own: u64,
}

/// Reads the times.
pub(super) struct Meter {
    proc: PathBuf,
}

impl Meter {
    /// `proc` is where the kernel's files are.
    pub(super) fn new(proc: &Path) -> Meter {
        Meter { proc: proc.to_owned() }
    }

    /// The times at this moment. `companions` are children that still run and are meant to.
    pub(super) fn read(&self, companions: &[u32]) -> Result<Ticks> {
        let text = |name: String| {
            let path = self.proc.join(name);
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let (all, used) = of_all(&text("stat".to_owned())?).context("no line of all CPUs in /proc/stat")?;
        let mut own = of_process(&text("self/stat".to_owned())?, true).context("/proc/self/stat")?;
        for pid in companions {
            own += of_process(&text(format!("{pid}/stat"))?, false).context("the times of a busy loop")?;
        }
        Ok(Ticks { all, used, own })
    }
}

impl Ticks {
    /// The share of all CPUs' time that others had since `before`. The clocks of both files differ by a tick or two, so
    /// that it may be a little less than nothing, which is nothing.
    pub(super) fn others_since(self, before: Ticks) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1) as f64;
        let used = self.used.saturating_sub(before.used) as f64;
        let own = self.own.saturating_sub(before.own) as f64;
        ((used - own) / all).max(0.0)
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. Guests are in user and nice.
fn of_all(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, rest @ ..] = &ticks[..] else { return None };
    let used = user + nice + system + rest.iter().sum::<u64>();
    Some((used + idle + iowait, used))
}

/// User and system time of a process, with that of its children or without.
fn of_process(stat: &str, with_children: bool) -> Option<u64> {
    // The name in parentheses may contain anything.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let times = words.get(11..15)?;
    times.iter().take(if with_children { 4 } else { 2 }).map(|word| word.parse::<u64>().ok()).sum()
}

/// What was measured, and how quiet it was.
#[derive(Debug, PartialEq)]
pub(super) struct Quiet<T> {
    pub(super) value: T,
    /// How many runs were thrown away because others used the machine.
    pub(super) repeated: u32,
    /// In the run that counts, too, others had more than is accepted.
    pub(super) disturbed: bool,
}

/// Measures again while others use the machine, at most `repeats` times; then what is there counts, and says so.
/// `once` gives what was measured and the share of others.
pub(super) fn until_quiet<T>(repeats: u32, mut once: impl FnMut() -> Result<(T, f64)>) -> Result<Quiet<T>> {
    let mut repeated = 0;
    loop {
        let (value, others) = once()?;
        let disturbed = others > ACCEPTED;
        if !disturbed || repeated == repeats {
            return Ok(Quiet { value, repeated, disturbed });
        }
        repeated += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` in which all CPUs had these times, and this process and its children these.
    fn proc(stage: &Path, cpu: &str, own: [u64; 4]) -> Meter {
        fs::create_dir_all(stage.join("self")).expect("a directory");
        fs::write(stage.join("stat"), format!("cpu  {cpu}\ncpu0 1 2 3 4\nintr 5\n")).expect("a file");
        let [user, system, of_children, system_of_children] = own;
        let line = format!(
            "7 (a) b) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} {of_children} {system_of_children} 20 0"
        );
        fs::write(stage.join("self/stat"), line).expect("a file");
        Meter::new(stage)
    }

    #[test]
    fn what_nobody_of_ours_used_is_others() {
        let stage = tempfile::tempdir().expect("a directory");
        let meter = proc(stage.path(), "100 0 50 1000 10 0 0 0 0 0", [10, 0, 20, 0]);
        let before = meter.read(&[]).expect("times");
        // 60 more of which 30 are ours, and 40 idle: others had 30 of 100.
        proc(stage.path(), "140 5 60 1035 15 0 0 5 0 0", [15, 5, 35, 5]);
        let after = meter.read(&[]).expect("times");
        assert!((after.others_since(before) - 0.3).abs() < 1e-9, "{after:?} {before:?}");
    }

    #[test]
    fn loops_that_are_meant_to_run_are_ours() {
        let stage = tempfile::tempdir().expect("a directory");
        let meter = proc(stage.path(), "0 0 0 0 0 0 0 0 0 0", [0; 4]);
        let companion = |ticks: u64| {
            fs::create_dir_all(stage.path().join("9")).expect("a directory");
            let line = format!("9 (sh) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 77 77 20 0");
            fs::write(stage.path().join("9/stat"), line).expect("a file");
        };
        companion(5);
        let before = meter.read(&[9]).expect("times");
        proc(stage.path(), "100 0 0 100 0 0 0 0 0 0", [0, 0, 30, 0]);
        companion(65);
        let after = meter.read(&[9]).expect("times");
        assert!((after.others_since(before) - 0.05).abs() < 1e-9, "{after:?} {before:?}");
        assert!(meter.read(&[10]).is_err(), "a loop that has ended is no companion");
    }

    #[test]
    fn ticks_that_were_booked_late_are_no_negative_load() {
        let at = |all, used, own| Ticks { all, used, own };
        assert_eq!(at(200, 100, 102).others_since(at(100, 50, 50)), 0.0);
        assert_eq!(at(100, 50, 50).others_since(at(100, 50, 50)), 0.0);
    }

    #[test]
    fn a_run_beside_others_is_repeated_until_it_is_quiet() {
        let mut shares = [0.5, 0.06, 0.05, 0.0].into_iter();
        let measured = until_quiet(5, || Ok(((), shares.next().expect("a run"))));
        assert_eq!(measured.expect("a run"), Quiet { value: (), repeated: 2, disturbed: false });
    }

    #[test]
    fn repeating_is_given_up_and_said() {
        let mut runs = 0;
        let measured = until_quiet(3, || {
            runs += 1;
            Ok((runs, 0.9))
        });
        assert_eq!(measured.expect("a run"), Quiet { value: 4, repeated: 3, disturbed: true });
        let failed = until_quiet::<()>(3, || anyhow::bail!("no"));
        assert!(failed.is_err());
    }
}
