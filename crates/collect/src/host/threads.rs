//! What threads cost: transfers of lines between cores, wake-ups, creation, switches.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::figure::Figure;
use super::topology::Topology;

/// The CPUs that this thread may use.
pub(super) fn cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// While it lives, the thread that made it runs on one CPU.
pub(super) struct Confined {
    before: Option<CpuSet>,
}

impl Confined {
    pub(super) fn to(cpu: Option<u32>) -> Confined {
        let before = sched_getaffinity(None).ok();
        if let Some(cpu) = cpu {
            let mut set = CpuSet::new();
            set.set(cpu as usize);
            // Where that is forbidden the measurement is noisier, that is all.
            let _ = sched_setaffinity(None, &set);
        }
        Confined { before }
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Two CPUs on different cores, of one socket if possible.
pub(super) fn pair(cpus: &[u32], topology: &Topology) -> Option<(u32, u32)> {
    let first = *cpus.first()?;
    let other = cpus.iter().find(|cpu| !topology.share_core(first, **cpu))?;
    Some((first, *other))
}

/// Nanoseconds from one core's store until another has read it: half a round trip of a number that two threads hand to and
/// fro.
pub(super) fn transfer((one, other): (u32, u32)) -> Figure {
    const TRIPS: u64 = 2_000;
    const ROUNDS: u64 = 40;
    let ball = AtomicU64::new(0);
    let wait = |value: u64| {
        let mut spins = 0u32;
        while ball.load(Ordering::Acquire) < value {
            spin_loop();
            spins += 1;
            // The other does not run now: do not wait for it by burning the time that it needs.
            if spins.is_multiple_of(100_000) {
                thread::yield_now();
            }
        }
    };
    let mut times = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _confined = Confined::to(Some(other));
            for trip in 0..TRIPS * ROUNDS {
                wait(2 * trip + 1);
                ball.store(2 * trip + 2, Ordering::Release);
            }
        });
        let _confined = Confined::to(Some(one));
        let mut trip = 0;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..TRIPS {
                ball.store(2 * trip + 1, Ordering::Release);
                trip += 1;
                wait(2 * trip);
            }
            times.push(begin.elapsed().as_nanos() as f64 / (2 * TRIPS) as f64);
        }
    });
    Figure::of_times(times)
}

/// From the call that wakes a sleeping thread until that runs on another CPU, and what the call takes.
pub(super) fn wake_up((one, other): (u32, u32)) -> (Figure, Figure) {
    const ROUNDS: usize = 300;
    let (origin, woken, stop) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let (mut delays, mut calls) = (Vec::new(), Vec::new());
    let nanos = || origin.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let _confined = Confined::to(Some(other));
            while !stop.load(Ordering::Acquire) {
                thread::park();
                woken.store(nanos(), Ordering::Release);
            }
        });
        let _confined = Confined::to(Some(one));
        for _ in 0..ROUNDS {
            // Long enough for it to sleep, and its core with it.
            spin(Duration::from_micros(100));
            woken.store(0, Ordering::Release);
            let begin = nanos();
            sleeper.thread().unpark();
            let called = nanos();
            let limit = begin + 20_000_000;
            while woken.load(Ordering::Acquire) == 0 && nanos() < limit {
                spin_loop();
            }
            let then = woken.load(Ordering::Acquire);
            if then > begin {
                delays.push((then - begin) as f64);
                calls.push((called - begin) as f64);
            }
        }
        stop.store(true, Ordering::Release);
        sleeper.thread().unpark();
    });
    (Figure::of_times(delays), Figure::of_times(calls))
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        spin_loop();
    }
}

/// Creating a thread, for the creator, and from then until it runs.
pub(super) fn creation() -> (Figure, Figure) {
    let one = |_| {
        let begin = Instant::now();
        let thread = thread::spawn(Instant::now);
        let created = Instant::now();
        let began = thread.join().unwrap_or(created);
        ((created - begin).as_nanos() as f64, began.saturating_duration_since(created).as_nanos() as f64)
    };
    let (create, start) = (0..60).map(one).unzip();
    (Figure::of_times(create), Figure::of_times(start))
}

/// From one thread to another on the same CPU: half a round trip of two threads that wake each other in turn.
pub(super) fn switch(cpu: Option<u32>) -> Figure {
    const TRIPS: u32 = 100;
    const ROUNDS: u32 = 15;
    let turn = AtomicU64::new(0);
    let main = thread::current();
    let mut times = Vec::new();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _confined = Confined::to(cpu);
            for trip in 0..u64::from(ROUNDS * TRIPS) {
                while turn.load(Ordering::Acquire) < 2 * trip + 1 {
                    thread::park();
                }
                turn.store(2 * trip + 2, Ordering::Release);
                main.unpark();
            }
        });
        let _confined = Confined::to(cpu);
        let mut trip = 0u64;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..TRIPS {
                turn.store(2 * trip + 1, Ordering::Release);
                other.thread().unpark();
                trip += 1;
                while turn.load(Ordering::Acquire) < 2 * trip {
                    thread::park();
                }
            }
            times.push(begin.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS));
        }
    });
    Figure::of_times(times)
}
