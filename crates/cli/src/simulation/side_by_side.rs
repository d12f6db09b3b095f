//! Simulations beside each other on the host's cores.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::progress::Progress;

/// How far all simulations are; looked at by who shows it, and raised by who simulates.
#[derive(Debug)]
pub(crate) struct Watch {
    begun: Instant,
    /// Instructions that there are to simulate, of all simulations.
    all: u64,
    /// Instructions simulated so far, by simulation.
    done: Vec<AtomicU64>,
    ended: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// For simulations with so many instructions each. Ctrl-C stops them, as do the other signals that ask a program to end.
    pub(crate) fn new(instructions: &[u64]) -> Arc<Watch> {
        let stop: Arc<AtomicBool> = Arc::default();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            // The second time ends everything, in case the first is not heard.
            let _ = register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop));
            let _ = register(signal, Arc::clone(&stop));
        }
        Arc::new(Watch {
            begun: Instant::now(),
            all: instructions.iter().sum(),
            done: instructions.iter().map(|_| AtomicU64::new(0)).collect(),
            ended: AtomicUsize::new(0),
            stop,
        })
    }

    /// How far a simulation is. False if it is to stop.
    pub(crate) fn at(&self, simulation: usize, instructions: u64) -> bool {
        if let Some(done) = self.done.get(simulation) {
            done.store(instructions, Ordering::Relaxed);
        }
        !self.is_stopped()
    }

    /// True if the user does not want to wait for the end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn sentence(&self) -> String {
        let done = self.done.iter().map(|done| done.load(Ordering::Relaxed)).sum();
        let ended = self.ended.load(Ordering::Relaxed);
        sentence(done, self.all, self.begun.elapsed(), (ended, self.done.len()))
    }
}

/// The status of a command that was interrupted: 128 + SIGINT.
pub(crate) const INTERRUPTED: i32 = 128 + SIGINT;

/// How far it is, how fast, and how long it will take.
fn sentence(done: u64, all: u64, spent: Duration, (ended, count): (usize, usize)) -> String {
    let which = match count {
        1 => "holdup: simulating".to_owned(),
        _ => format!("holdup: {ended} of {count} simulations done"),
    };
    let speed = done as f64 / spent.as_secs_f64().max(1e-3);
    if speed < 1.0 {
        return which;
    }
    let share = 100 * done.min(all) / all.max(1);
    let left = all.saturating_sub(done) as f64 / speed;
    let left = match left {
        left if left < 1.0 => String::new(),
        left if left < 100.0 => format!(", about {left:.0} s left"),
        left => format!(", about {:.0} min left", left / 60.0),
    };
    format!("{which}, {share} %, {:.0} MIPS{left}", speed / 1e6)
}

/// What each simulation gives, in their order, and how long it took; `None` if the user stopped them. At most `jobs` run at
/// once, and the results do not depend on that.
pub(crate) fn all<T: Send>(
    watch: &Arc<Watch>,
    jobs: usize,
    one: impl Fn(usize) -> T + Sync,
) -> Option<Vec<(T, Duration)>> {
    let count = watch.done.len();
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<(T, Duration)>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let shown = Arc::clone(watch);
    let _progress = Progress::telling(move || shown.sentence());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(result) = results.get(index).filter(|_| !watch.is_stopped()) else { break };
                    let begun = Instant::now();
                    let found = one(index);
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = Some((found, begun.elapsed()));
                    watch.ended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    if watch.is_stopped() {
        return None;
    }
    results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_number_of_jobs() {
        for jobs in [1, 2, 7, 100] {
            let watch = Watch::new(&[1; 20]);
            let found = all(&watch, jobs, |index| index * 2).unwrap();
            let found: Vec<usize> = found.into_iter().map(|(result, _)| result).collect();
            assert_eq!(found, (0..20).map(|index| index * 2).collect::<Vec<_>>(), "{jobs} jobs");
        }
    }

    #[test]
    fn who_is_stopped_gives_nothing() {
        let watch = Watch::new(&[1; 5]);
        let found = all(&watch, 1, |index| {
            watch.stop.store(index == 1, Ordering::Relaxed);
            assert_eq!(watch.at(index, 1), index != 1);
            assert!(index <= 1);
        });
        assert!(found.is_none());
    }

    #[test]
    fn progress_says_how_fast_and_how_long() {
        let second = Duration::from_secs(1);
        assert_eq!(
            sentence(150_000_000, 600_000_000, second, (0, 1)),
            "holdup: simulating, 25 %, 150 MIPS, about 3 s left"
        );
        assert_eq!(sentence(0, 0, second, (0, 1)), "holdup: simulating");
        assert_eq!(
            sentence(100_000_000, 90_000_000_000, second, (3, 8)),
            "holdup: 3 of 8 simulations done, 0 %, 100 MIPS, about 15 min left"
        );
    }
}
