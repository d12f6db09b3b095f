//! How long hits and misses take here and now, and how much of the shared level can really be had.

use std::path::Path;

use crate::clock;
use crate::cores::{Confined, Place};
use crate::curve::{self, Point, Range};
use crate::memory::Memory;
use crate::probes::Limit;
use crate::refusal::{Refusal, mib};
use crate::stretch::MOST_MISSED;
use crate::sweep::Sweep;
use crate::timer::Timer;
use crate::walk::Walk;

/// Sizes grow by this factor, rounded to pages.
const GROWTH: f64 = 1.25;
/// Probes at each size of each round: 3 % are known to 0.8 %.
const PROBES: usize = 480;
/// Steps of the chase at each size of each round, a few milliseconds.
const STEPS: u64 = 40_000;
/// Where so many are missed at two sizes in a row, larger ones say nothing new.
const FULL: f64 = 0.7;
/// Rounds, unless they take longer than this.
const ROUNDS: usize = 3;
const LONGEST_NS: u64 = 2_500_000_000;
/// The most that repetitions may differ, beside their middle.
const MOST_SPREAD: f64 = 0.25;

/// What was measured of the shared level, from the pirate's core.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Hits, misses, and the limit between.
    pub limit: Limit,
    /// Bytes that can be kept in the cache at all, of the rounds: the size of the cache that can be had. A core's own
    /// caches are part of it where they are not also in the shared level.
    pub available: Range,
    /// The largest working set of which at most 3 % is missed: the largest pirate.
    pub holdable: u64,
    /// Where a random chase begins to miss: the size at which it takes a quarter of the way from hits to misses, of the
    /// rounds. Beyond `available` by a third where what stays is left to chance.
    pub knee: Option<Range>,
    /// After how many ns half of what nobody touches is gone: others fill the cache too. `None` if it is there longer than
    /// was waited, a third of a second.
    pub lifetime_ns: Option<u64>,
    /// What was measured, round by round.
    pub rounds: Vec<Vec<Point>>,
    /// The share of the memory that was in huge pages.
    pub huge_share: Option<f64>,
    /// How long all this took, in ns.
    pub took_ns: u64,
}

/// Measures the level of `place`, running on the pirate's core; takes one to three seconds and up to twice the level's
/// size of memory. `root` is `/` outside of tests.
///
/// # Errors
/// Where single loads cannot be timed, or nothing can be had of the level. That it changes too much is said by
/// [`steady`].
pub fn calibrate(root: &Path, place: &Place) -> Result<Calibration, Refusal> {
    let begin = clock::now_ns();
    let _confined = Confined::to(place.pirate)?;
    let timer = Timer::new()?;
    let mut walk = Walk::new(place.level.bytes);
    let smallest = page_multiple((2 * place.private_bytes).max(1 << 20));
    let largest = page_multiple((2 * place.level.bytes).max(2 * smallest));

    let mut memory = Memory::new(root, largest.min(256 << 20))?;
    let some = page_multiple(4 * place.private_bytes.max(1 << 20)).min(memory.bytes().len() as u64);
    let limit = Limit::measure(&timer, &memory.bytes()[..some as usize], place.private_bytes, &mut walk)?;

    let measure = |memory: &Memory, bytes: u64, walk: &mut Walk| -> Point {
        let zeros = &memory.bytes()[..bytes as usize];
        // What an older set left is gone after one; the second settles which lines stay.
        (0..3).for_each(|_| Sweep::whole(zeros));
        let missed = limit.missed(&timer, zeros, PROBES, walk) as f64 / PROBES as f64;
        Sweep::whole(zeros);
        let begin = clock::now_ns();
        let steps = walk.steps(zeros, STEPS);
        Point { bytes, missed, chase_ns: (clock::now_ns() - begin) as f64 / steps.max(1) as f64 }
    };

    let mut first = Vec::new();
    let mut bytes = smallest;
    while bytes <= largest {
        if bytes > memory.bytes().len() as u64 {
            let more = largest.min(2 * memory.bytes().len() as u64);
            drop(memory);
            memory = Memory::new(root, more)?;
        }
        first.push(measure(&memory, bytes, &mut walk));
        if first.len() >= 2 && first[first.len() - 2..].iter().all(|point| point.missed > FULL) {
            break;
        }
        bytes = page_multiple((bytes as f64 * GROWTH) as u64);
    }
    let sizes: Vec<u64> = first.iter().map(|point| point.bytes).collect();
    let mut rounds = vec![first];
    while rounds.len() < 2 || (rounds.len() < ROUNDS && clock::now_ns() - begin < LONGEST_NS) {
        rounds.push(sizes.iter().map(|bytes| measure(&memory, *bytes, &mut walk)).collect());
    }

    let most: Vec<u64> = rounds.iter().map(|round| curve::available(round)).collect();
    let available = Range::of(&most).unwrap_or(Range { low: 0, middle: 0, high: 0 });
    if available.middle < smallest {
        return Err(Refusal::NothingToSteal {
            nominal_mib: mib(place.level.bytes),
            available_mib: mib(available.middle),
            private_mib: mib(place.private_bytes),
        });
    }
    let knees: Vec<u64> = rounds.iter().filter_map(|round| knee_of(round)).collect();
    let holdable = curve::holdable(&rounds, MOST_MISSED);
    if holdable == 0 {
        return Err(Refusal::NothingStays { available_mib: mib(available.middle) });
    }
    let lifetime_ns =
        lifetime(&timer, &limit, &memory.bytes()[..page_multiple(holdable / 2) as usize], &mut walk);
    Ok(Calibration {
        holdable,
        lifetime_ns,
        knee: Range::of(&knees).filter(|_| knees.len() == rounds.len()),
        huge_share: memory.huge_share(),
        limit,
        available,
        rounds,
        took_ns: clock::now_ns() - begin,
    })
}

/// After how many ns half of `bytes`, which the cache holds, is gone if nobody touches it.
fn lifetime(timer: &Timer, limit: &Limit, bytes: &[u8], walk: &mut Walk) -> Option<u64> {
    const SHORTEST_NS: u64 = 5_000_000;
    const LONGEST_NS: u64 = 320_000_000;
    let waits = std::iter::successors(Some(SHORTEST_NS), |wait| (*wait < LONGEST_NS).then_some(2 * wait));
    let missed = waits.map(|wait| {
        (0..3).for_each(|_| Sweep::whole(bytes));
        let begin = clock::now_ns();
        while clock::now_ns() - begin < wait {
            std::hint::spin_loop();
        }
        (wait, limit.missed(timer, bytes, PROBES, walk) as f64 / PROBES as f64)
    });
    half_gone(missed)
}

/// When the share that is missed passes a half, on a line between the waits around it; the first wait where that is too
/// long already. No more waits are asked for than needed.
fn half_gone(missed: impl Iterator<Item = (u64, f64)>) -> Option<u64> {
    let mut before: Option<(u64, f64)> = None;
    for (wait, share) in missed {
        if share > 0.5 {
            let Some((earlier, less)) = before else { return Some(wait) };
            return Some(earlier + ((wait - earlier) as f64 * (0.5 - less) / (share - less)) as u64);
        }
        before = Some((wait, share));
    }
    None
}

/// The knee of a round's chase, between its own fastest and slowest.
fn knee_of(round: &[Point]) -> Option<u64> {
    let times = || round.iter().map(|point| point.chase_ns);
    let (fast, slow) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let chase: Vec<(u64, f64)> = round.iter().map(|point| (point.bytes, point.chase_ns)).collect();
    curve::knee(&chase, fast, slow)
}

/// Whether what can be had of the cache stayed what it was in all rounds of these calibrations, made one after another.
///
/// # Errors
/// [`Refusal::NoisyNeighbour`] where the extremes are more than a quarter of the middle apart.
pub fn steady(calibrations: &[&Calibration]) -> Result<Range, Refusal> {
    let most: Vec<u64> = calibrations
        .iter()
        .flat_map(|calibration| calibration.rounds.iter())
        .map(|round| curve::available(round))
        .collect();
    let range = Range::of(&most).unwrap_or(Range { low: 0, middle: 0, high: 0 });
    if range.middle == 0 || range.spread() > MOST_SPREAD {
        let (low_mib, high_mib) = (mib(range.low), mib(range.high));
        return Err(Refusal::NoisyNeighbour { low_mib, high_mib, rounds: most.len() });
    }
    Ok(range)
}

/// To whole pages of 4 KiB, down, and not nothing.
pub(crate) fn page_multiple(bytes: u64) -> u64 {
    (bytes / 4096).max(1) * 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(available: &[u64]) -> Calibration {
        let round = |bytes: &u64| vec![Point { bytes: *bytes, missed: 0.0, chase_ns: 20.0 }];
        Calibration {
            limit: Limit { hit_ns: 20.0, miss_ns: 150.0, limit_ns: 80.0, false_misses: 0.0, false_hits: 0.0 },
            available: Range::of(available).unwrap(),
            holdable: available[0],
            knee: None,
            lifetime_ns: None,
            rounds: available.iter().map(round).collect(),
            huge_share: None,
            took_ns: 0,
        }
    }

    #[test]
    fn calibrations_that_differ_too_much_are_refused_with_the_figures() {
        let mib = |sizes: &[u64]| calibration(&sizes.iter().map(|size| size << 20).collect::<Vec<_>>());
        let (quiet, robbed) = (mib(&[20, 21, 20]), mib(&[12, 20, 20]));
        assert_eq!(steady(&[&quiet]).unwrap().middle, 20 << 20);
        assert!(steady(&[&quiet, &quiet]).is_ok());
        let refusal = steady(&[&quiet, &robbed]).unwrap_err();
        assert!(matches!(refusal, Refusal::NoisyNeighbour { low_mib: 12.0, high_mib: 21.0, rounds: 6 }));
        assert!(refusal.to_string().contains("12.0 to 21.0 MiB in 6 measurements"), "{refusal}");
        assert!(steady(&[]).is_err());
    }

    #[test]
    fn half_is_gone_between_the_waits_around_it() {
        assert_eq!(half_gone([(10, 0.0), (20, 0.25), (40, 0.75)].into_iter()), Some(30));
        assert_eq!(half_gone([(10, 0.9)].into_iter()), Some(10));
        assert_eq!(half_gone([(10, 0.1), (20, 0.5)].into_iter()), None);
        assert_eq!(half_gone(std::iter::empty()), None);
    }

    #[test]
    fn the_knee_of_a_round_lies_between_its_own_extremes() {
        let point = |bytes, chase_ns| Point { bytes, missed: 0.0, chase_ns };
        let round =
            [point(1 << 20, 40.0), point(2 << 20, 40.0), point(4 << 20, 140.0), point(8 << 20, 140.0)];
        let knee = knee_of(&round).unwrap();
        assert!(knee > 2 << 20 && knee < 3 << 20, "{knee}");
        assert_eq!(knee_of(&[]), None);
        assert_eq!(knee_of(&[point(1 << 20, 40.0)]), None);
    }
}
