//! What do pirates leave to a thread? Measured with a chase, since it is not simply the rest.
//!
//! A pirate's lines stay because it reads them again and again. Of what it does not hold, the thread beside it has to keep
//! its own lines against everybody else: other programs, and on a virtual machine other guests of the host. Where those
//! fill the cache faster than the thread comes back to its lines, it has less than the rest, and loses less to a pirate,
//! which takes from all of them.

use std::ops::RangeInclusive;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::calibrate::{Calibration, page_multiple};
use crate::clock;
use crate::cores::{Confined, Place};
use crate::curve::{self, Range};
use crate::gate::Switch;
use crate::pirate::{Pirate, Plan};
use crate::refusal::{Refusal, mib};
use crate::share::CacheShare;
use crate::stretch::{BUSY, CONTROL_BUSY, MOST_MISSED, Stretch};
use crate::victim::Victim;

/// Pirates, in parts of the largest that can be held.
const PIRATES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// The victim grows by this.
const GROWTH: f64 = 1.3;
/// Where it is so far up from hits to misses, larger ones are not needed.
const BEYOND: f64 = 0.5;
/// How often everything is measured, unless that takes longer than this.
const ROUNDS: usize = 3;
const LONGEST_NS: u64 = 5_000_000_000;
/// How often each size is tried until the pirate held.
const TRIES: u32 = 8;
/// After the first that failed; each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// What a thread has beside one pirate.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The pirate's size; 0 for a control pirate, which takes nothing.
    pub pirate: u64,
    /// The knee of a chase beside it, of the rounds: what the thread has of the cache, its core's own included.
    pub left: Range,
    /// Sizes of the chase with ns per access, of each round.
    pub curves: Vec<Vec<(u64, f64)>>,
    /// The share of the pirate's probes that missed.
    pub missed: f64,
    /// The least share of its core that it had in what counts.
    pub cpu_share: f64,
}

/// What a thread has beside pirates of growing size.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// From none to the largest.
    pub rows: Vec<Row>,
    /// Stretches that had to be repeated.
    pub discarded: usize,
    /// How long all this took, in ns.
    pub took_ns: u64,
}

impl Survey {
    /// What a thread has beside the control pirate.
    pub fn whole(&self) -> u64 {
        self.rows.first().map_or(0, |row| row.left.middle)
    }

    /// The size of the pirate that leaves `left` bytes: on a line between the measured ones. 0 where a thread has no more
    /// anyway.
    ///
    /// # Errors
    /// [`Refusal::CannotLeave`] where even the largest leaves more.
    pub fn pirate_for(&self, left: u64) -> Result<u64, Refusal> {
        let mut before: Option<(u64, u64)> = None;
        for row in &self.rows {
            // A larger pirate does not leave more: where it was measured so, that is noise.
            let has = row.left.middle.min(before.map_or(u64::MAX, |(_, had)| had));
            if has <= left {
                let Some((pirate, had)) = before else { return Ok(row.pirate) };
                let part = (had - left) as f64 / (had - has).max(1) as f64;
                return Ok(pirate + ((row.pirate - pirate) as f64 * part) as u64);
            }
            before = Some((row.pirate, has));
        }
        let (pirate, least) = before.unwrap_or((0, 0));
        Err(Refusal::CannotLeave { asked_mib: mib(left), least_mib: mib(least), pirate_mib: mib(pirate) })
    }
}

/// Measures it, with the calling thread as the victim; takes some seconds. `root` is `/` outside of tests.
///
/// # Errors
/// Where a pirate could not hold its working set, or one of both threads did not have its core.
pub fn survey(root: &Path, place: &Place, calibration: &Calibration) -> Result<Survey, Refusal> {
    let _confined = Confined::to(place.program)?;
    let sizes = sizes(place, calibration);
    let victim = Victim::new(root, place, *sizes.end())?;
    let mut rows: Vec<(u64, Vec<Curve>, Vec<Stretch>)> = Vec::new();
    let mut discarded = 0;
    let begin = clock::now_ns();
    for round in 0..ROUNDS {
        if round > 0 && clock::now_ns() - begin > LONGEST_NS {
            break;
        }
        for (at, part) in PIRATES.iter().enumerate() {
            let bytes = page_multiple((calibration.holdable as f64 * part) as u64);
            let (taken, plan) = if *part == 0.0 {
                (0, Plan::control(place, calibration))
            } else {
                (bytes, Plan::steal(place, calibration, bytes)?)
            };
            let mut beside =
                Beside { pirate: Pirate::new(root, plan)?, taken, victim: &victim, discarded: 0 };
            let (curve, stretches) = beside.curve(calibration, sizes.clone())?;
            discarded += beside.discarded;
            if round == 0 {
                rows.push((taken, Vec::new(), Vec::new()));
            }
            rows[at].1.push(curve);
            rows[at].2.extend(stretches);
        }
    }
    let rows = rows.into_iter().filter_map(|(pirate, curves, stretches)| {
        let knees: Vec<u64> = curves.iter().map(|curve| left(curve, calibration)).collect();
        let probes: u32 = stretches.iter().map(|stretch| stretch.probes).sum();
        let missed: u32 = stretches.iter().map(|stretch| stretch.missed).sum();
        Some(Row {
            pirate,
            left: Range::of(&knees)?,
            curves,
            missed: f64::from(missed) / f64::from(probes.max(1)),
            cpu_share: stretches.iter().map(Stretch::cpu_share).fold(1.0, f64::min),
        })
    });
    Ok(Survey { rows: rows.collect(), discarded, took_ns: clock::now_ns() - begin })
}

/// What a chase on the calling thread has beside a pirate of `bytes`, or beside one that takes nothing (0) while the thread
/// has only `share`: the knee, in bytes. Half a second to a second. `root` is `/` outside of tests.
///
/// # Errors
/// Those of [`survey`].
pub fn left_beside(
    root: &Path,
    place: &Place,
    calibration: &Calibration,
    bytes: u64,
    share: Option<&CacheShare>,
) -> Result<u64, Refusal> {
    let _confined = Confined::to(place.program)?;
    let sizes = sizes(place, calibration);
    let victim = Victim::new(root, place, *sizes.end())?;
    let plan = match bytes {
        0 => Plan::control(place, calibration),
        bytes => Plan::steal(place, calibration, bytes)?,
    };
    let mut beside = Beside { pirate: Pirate::new(root, plan)?, taken: bytes, victim: &victim, discarded: 0 };
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    share.inspect(|share| share.take_in(thread));
    let curve = beside.curve(calibration, sizes);
    share.inspect(|share| share.let_go(thread));
    Ok(left(&curve?.0, calibration))
}

/// Sizes of the chase.
fn sizes(place: &Place, calibration: &Calibration) -> RangeInclusive<u64> {
    let largest = page_multiple(2 * calibration.available.middle);
    page_multiple((2 * place.private_bytes).max(1 << 20)).min(largest)..=largest
}

/// Sizes of a chase with ns per access.
type Curve = Vec<(u64, f64)>;

/// The knee; where a chase is slow from the first size on, that size, and where it never is, the last.
fn left(curve: &[(u64, f64)], calibration: &Calibration) -> u64 {
    let (hit, miss) = (calibration.limit.hit_ns, calibration.limit.miss_ns);
    let fast = |(_, ns): &(u64, f64)| *ns < (hit + miss) / 2.0;
    let end = if curve.last().is_some_and(fast) { curve.last() } else { curve.first() };
    curve::knee(curve, hit, miss).unwrap_or_else(|| end.map_or(0, |(bytes, _)| *bytes))
}

/// A chase beside a pirate.
struct Beside<'a> {
    pirate: Pirate,
    /// What it takes.
    taken: u64,
    victim: &'a Victim,
    discarded: usize,
}

impl Beside<'_> {
    /// Chases of growing size, each until the pirate held; and the stretches in which it did.
    fn curve(
        &mut self,
        calibration: &Calibration,
        sizes: RangeInclusive<u64>,
    ) -> Result<(Curve, Vec<Stretch>), Refusal> {
        let (hit, miss) = (calibration.limit.hit_ns, calibration.limit.miss_ns);
        let (mut curve, mut stretches) = (Vec::new(), Vec::new());
        let mut bytes = *sizes.start();
        while bytes <= *sizes.end() {
            let (ns, stretch) = self.until_held(bytes)?;
            stretches.push(stretch);
            curve.push((bytes, ns));
            if ns > hit + BEYOND * (miss - hit) {
                break;
            }
            bytes = page_multiple((bytes as f64 * GROWTH) as u64);
        }
        Ok((curve, stretches))
    }

    /// Again and again, with growing pauses: what disturbs a machine lasts for a while.
    fn until_held(&mut self, bytes: u64) -> Result<(f64, Stretch), Refusal> {
        let busy = if self.taken == 0 { CONTROL_BUSY } else { BUSY };
        let mut best = Fault { missed: 1.0, pirate: 0.0, victim: 0.0 };
        for attempt in 0..TRIES {
            let (chased, stretch) = once(&self.pirate, || self.victim.chase(bytes))?;
            // One that takes nothing has nothing in the shared cache that it could miss.
            let missed = if self.taken == 0 { 0.0 } else { stretch.missed_share().unwrap_or(1.0) };
            let fault = Fault { missed, pirate: stretch.cpu_share(), victim: chased.cpu_share };
            if stretch.probes > 0 && fault.is_none(busy) {
                return Ok((chased.ns_per_step, stretch));
            }
            self.discarded += 1;
            if fault.size() < best.size() {
                best = fault;
            }
            thread::sleep(FIRST_PAUSE * (1 << attempt));
        }
        Err(Refusal::NotHeld {
            pirate_mib: mib(self.taken),
            missed: best.missed * 100.0,
            cpu: best.pirate * 100.0,
            own: best.victim * 100.0,
            needed: busy * 100.0,
        })
    }
}

/// What was wrong with a chase beside a pirate.
#[derive(Clone, Copy, Debug)]
struct Fault {
    /// The share of its lines that the pirate missed.
    missed: f64,
    /// The share of its core that it had.
    pirate: f64,
    /// That of the thread beside it.
    victim: f64,
}

impl Fault {
    /// True if the pirate had as much of its core as it needs, and nothing else is wrong.
    fn is_none(self, busy: f64) -> bool {
        self.missed <= MOST_MISSED && self.pirate >= busy && self.victim >= BUSY
    }

    /// The largest part of what it was to be that is missing.
    fn size(self) -> f64 {
        self.missed.max(1.0 - self.pirate).max(1.0 - self.victim)
    }
}

/// Does `work` on this thread beside the pirate: one stretch.
fn once<T>(pirate: &Pirate, work: impl FnOnce() -> T) -> Result<(T, Stretch), Refusal> {
    let gate = Switch::default();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let stretches = pirate.run(&gate);
            // Also where it could not begin: nobody is to wait for it.
            gate.end();
            stretches
        });
        gate.turn_on();
        let done = work();
        gate.end();
        let stretches = worker.join().expect("a pirate does not panic")?;
        // It began, so there is one; nothing at all is not held either.
        Ok((done, stretches.first().copied().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn of(rows: &[(u64, u64)]) -> Survey {
        let row = |(pirate, left): &(u64, u64)| Row {
            pirate: pirate * MIB,
            left: Range::of(&[left * MIB]).unwrap(),
            curves: Vec::new(),
            missed: 0.0,
            cpu_share: 1.0,
        };
        Survey { rows: rows.iter().map(row).collect(), discarded: 0, took_ns: 0 }
    }

    #[test]
    fn on_a_machine_of_its_own_the_pirate_takes_what_the_thread_loses() {
        let survey = of(&[(0, 32), (8, 24), (16, 16), (24, 8)]);
        assert_eq!(survey.whole(), 32 * MIB);
        assert_eq!(survey.pirate_for(16 * MIB).unwrap(), 16 * MIB);
        assert_eq!(survey.pirate_for(20 * MIB).unwrap(), 12 * MIB);
        assert_eq!(survey.pirate_for(32 * MIB).unwrap(), 0);
        assert_eq!(survey.pirate_for(40 * MIB).unwrap(), 0);
    }

    #[test]
    fn where_others_use_the_cache_a_larger_pirate_is_needed_or_none_is_enough() {
        let survey = of(&[(0, 24), (20, 22), (40, 23), (60, 14)]);
        assert_eq!(survey.pirate_for(18 * MIB).unwrap(), 50 * MIB);
        let refusal = survey.pirate_for(12 * MIB).unwrap_err();
        assert!(matches!(
            refusal,
            Refusal::CannotLeave { asked_mib: 12.0, least_mib: 14.0, pirate_mib: 60.0 }
        ));
        assert!(of(&[]).pirate_for(1).is_err());
    }

    proptest! {
        #[test]
        fn the_less_is_left_the_larger_the_pirate(
            lefts in proptest::collection::vec(1u64..100, 2..8), one in 0u64..100, other in 0u64..100
        ) {
            let survey = of(&lefts.iter().enumerate().map(|(at, left)| (at as u64 * 10, *left)).collect::<Vec<_>>());
            let (less, more) = (one.min(other) * MIB, one.max(other) * MIB);
            if let (Ok(larger), Ok(smaller)) = (survey.pirate_for(less), survey.pirate_for(more)) {
                prop_assert!(larger >= smaller);
            }
        }
    }
}
