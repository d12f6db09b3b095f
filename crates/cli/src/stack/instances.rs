//! Several copies of a program that has one thread (paper 1, section 5): what they lose to sharing the cache, and to sharing
//! memory.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::time::Duration;

use holdup_collect::{CollectError, Output, PlainRun, Setting, run_plain};
use holdup_model::median;
use holdup_pirate::Switch;
use holdup_speedup::instances::Instances;
use holdup_speedup::{CacheCurve, CachePoint};

use super::kept::Kept;
use super::plan::Kind;
use super::robber::{Robber, Robbery};
use crate::failure::Failure;
use crate::runs::{Input, Interrupt};
use crate::status::status_of;

/// How often a measurement is tried in which the pirate did not hold its share.
const TRIES: u32 = 3;

/// What is measured, and how.
pub(super) struct Copies<'a> {
    pub command: &'a [OsString],
    /// Numbers of copies, ascending.
    pub counts: &'a [u32],
    /// How often each is measured.
    pub repeat: u32,
    pub output: Output,
    pub ignore_status: bool,
    pub robber: Option<&'a Robber>,
}

/// How the measurements ended.
pub(super) enum Measured {
    /// All were done.
    Done(Instances),
    /// No further one was begun: with this status.
    Ended(ExitCode),
}

/// Runs the copies.
pub(super) fn measure(copies: &Copies<'_>, kept: &mut Kept) -> Result<Measured, Failure> {
    let mut runs = Runs { copies, interrupt: Interrupt::listen(), input: Input::now(), started: 0 };
    match runs.all(kept) {
        Ok(copies) => Ok(Measured::Done(copies)),
        Err(Early::Ended(code)) => Ok(Measured::Ended(code)),
        Err(Early::Failure(failure)) => Err(failure),
    }
}

/// Why no further run is begun.
enum Early {
    Ended(ExitCode),
    Failure(Failure),
}

impl From<CollectError> for Early {
    fn from(error: CollectError) -> Early {
        Early::Failure(error.into())
    }
}

struct Runs<'a> {
    copies: &'a Copies<'a>,
    interrupt: Interrupt,
    input: Input,
    started: u32,
}

impl Runs<'_> {
    fn all(&mut self, kept: &mut Kept) -> Result<Instances, Early> {
        let counts = self.copies.counts;
        let mut walls: Vec<Vec<f64>> = vec![Vec::new(); counts.len()];
        let mut shares: Vec<(u64, Vec<f64>)> = Vec::new();
        for _ in 0..self.copies.repeat {
            for (&count, walls) in counts.iter().zip(&mut walls) {
                walls.push(self.together(count)?);
                let Some(robber) = self.copies.robber else { continue };
                let kind = match count {
                    1 => Kind::Whole { which: 0 },
                    of => Kind::Part { which: 0, of },
                };
                if let Some((left, cpu)) = self.robbed(robber, kind, kept)? {
                    match shares.iter_mut().find(|(bytes, _)| *bytes == left) {
                        Some((_, all)) => all.push(cpu),
                        None => shares.push((left, vec![cpu])),
                    }
                }
            }
        }
        let one =
            counts.iter().zip(&walls).find(|(count, _)| **count == 1).and_then(|(_, walls)| median(walls));
        let measured = counts.iter().zip(&walls).map(|(&count, walls)| {
            // All copies do the same work: the throughput is their number over the time of each.
            (count, one.zip(median(walls)).map(|(one, all)| f64::from(count) * one / all))
        });
        let points = shares.iter().map(|(bytes, times)| CachePoint {
            bytes: *bytes,
            time: median(times).unwrap_or(0.0),
            high: times.iter().copied().fold(0.0, f64::max),
            runs: times.len() as u32,
            cpi: None,
            bandwidth: None,
        });
        let name = self.copies.command.first().map(|name| name.to_string_lossy().into_owned());
        Ok(Instances {
            name: name.unwrap_or_default(),
            cache: self.copies.robber.map_or(0, Robber::cache),
            curve: CacheCurve::of(points.collect()),
            measured: measured.collect(),
            bandwidth: kept.cache.and_then(|cache| cache.bandwidth).map(|bytes| bytes as f64),
        })
    }

    fn check_interrupt(&self) -> Result<(), Early> {
        match self.interrupt.came() {
            Some(signal) => Err(Early::Ended(ExitCode::from(128u8.saturating_add(signal)))),
            None => Ok(()),
        }
    }

    fn prepare(&mut self) -> Result<(), Early> {
        self.check_interrupt()?;
        self.started += 1;
        if self.started > 1 {
            self.input.back(self.started == 2);
        }
        Ok(())
    }

    fn setting(&self, cpus: Vec<u32>) -> Setting {
        Setting { variables: Vec::new(), cpus, output: self.copies.output, held: None }
    }

    /// So many copies at once: the mean wall time of one (ns).
    fn together(&mut self, count: u32) -> Result<f64, Early> {
        self.prepare()?;
        let one = || run_plain(self.copies.command, &self.setting(Vec::new()));
        let all: Vec<Result<PlainRun, CollectError>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..count).map(|_| scope.spawn(one)).collect();
            let joined = running.into_iter().map(|run| run.join());
            joined.map(|run| run.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        let mut total = Duration::ZERO;
        for run in all {
            let run = run?;
            self.check(&run, count)?;
            total += run.wall;
        }
        Ok(total.as_nanos() as f64 / f64::from(count.max(1)))
    }

    /// One copy while cache is taken from it: what it has of it, and its CPU time (ns); `None` where that cannot be measured, which is noted.
    fn robbed(&mut self, robber: &Robber, kind: Kind, kept: &mut Kept) -> Result<Option<(u64, f64)>, Early> {
        let mut why = String::new();
        for _ in 0..TRIES {
            self.prepare()?;
            let robbery = match robber.robbery(kind) {
                Ok(Some(robbery)) => robbery,
                Ok(None) => return Ok(None),
                Err(refusal) => {
                    why = refusal;
                    break;
                }
            };
            let (run, discarded) = self.beside(&robbery, robber.victim_cpu())?;
            self.check(&run, 1)?;
            match discarded {
                None => {
                    let left = robbery.left().unwrap_or(robber.cache());
                    return Ok(run.cpu.map(|cpu| (left, cpu.as_nanos() as f64)));
                }
                Some(reason) => why = reason,
            }
        }
        let share = match kind {
            Kind::Part { of, .. } => format!("one of {of} parts"),
            _ => "all".to_owned(),
        };
        let note = format!("The time with {share} of the cache is missing: {why}.");
        if !kept.notes.contains(&note) {
            kept.notes.push(note);
        }
        Ok(None)
    }

    /// A run while something is taken from it, and why it does not count, if so.
    fn beside(&self, robbery: &Robbery, cpu: u32) -> Result<(PlainRun, Option<String>), Early> {
        let gate = Switch::default();
        let (ended, discarded) = std::thread::scope(|scope| {
            let pirate = scope.spawn(|| {
                let discarded = robbery.run(&gate);
                // Where it could not begin, nobody is to wait for it.
                gate.end();
                discarded
            });
            gate.turn_on();
            // What this thread starts has the part of the cache that it has.
            let share = robbery.share();
            share.iter().for_each(|share| share.take_in(own_id()));
            let ended = run_plain(self.copies.command, &self.setting(vec![cpu]));
            share.iter().for_each(|share| share.let_go(own_id()));
            gate.end();
            (ended, pirate.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        self.check_interrupt()?;
        Ok((ended?, discarded))
    }

    fn check(&self, run: &PlainRun, count: u32) -> Result<(), Early> {
        self.check_interrupt()?;
        let status = run.status;
        if status.success() || self.copies.ignore_status && status.signal().is_none() {
            return Ok(());
        }
        let code = status_of(status);
        let copies = if count == 1 { "a copy".to_owned() } else { format!("one of {count} copies") };
        let how = match status.signal() {
            Some(signal) => format!("signal {signal}"),
            None => format!("status {code}"),
        };
        eprintln!(
            "holdup: {copies} of the program ended with {how} (--show-output shows what it prints, --ignore-status uses \
             runs with other statuses than 0)"
        );
        Err(Early::Ended(ExitCode::from(code)))
    }
}

/// The kernel's number of the calling thread.
fn own_id() -> u32 {
    rustix::thread::gettid().as_raw_pid().unsigned_abs()
}
