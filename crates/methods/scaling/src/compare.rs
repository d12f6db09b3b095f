//! What is lost at more threads: a region's costs there against its costs at the base (paper 5, sections 3.1 and 3.2).
//!
//! A region that takes T with p places for threads takes p·T of thread-time: useful work U, and what is lost to each
//! part. Divided by p that is wall time, T = U/p + Σ parts. Perfect scaling from b threads to n would give T_b·b/n; what
//! is lost is T_n − T_b·b/n, which is the sum over all parts of (part_n − part_b·b/n), and of the useful work's growth.

use super::profile::Profile;
use super::team::{PARTS, Part};
use super::{Losses, RegionKind};

/// What a region, or all of them, costs at one number of threads: wall time (ns).
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    pub(super) time: f64,
    /// Places for threads: as many as the program was told to use, or as there were.
    pub(super) places: f64,
    pub(super) parts: [f64; PARTS],
    /// Useful work (ns of thread-time); `None` where it is not known.
    pub(super) useful: Option<f64>,
    /// The standard error of the parts together.
    pub(super) error: f64,
}

impl Costs {
    /// The costs of one region of a program that was told to use `threads` threads. Places that its team does not take
    /// are lost: so few may work there. A nested team takes places that the region around it has.
    pub(super) fn of(profile: &Profile, threads: u32) -> Self {
        let team = profile.team().max(1.0);
        let places = if profile.nested { team } else { team.max(f64::from(threads)) };
        let time = profile.time as f64;
        let mut parts = profile.parts().map(|part| part / places);
        parts[Part::Serial as usize] += time * (places - team) / places;
        Self { time, places, parts, useful: profile.useful(), error: profile.error() / places }
    }

    /// The costs of regions one after the other.
    pub(super) fn sum(all: impl Iterator<Item = Costs>, wall: f64, threads: u32) -> Self {
        let mut sum = Costs { time: wall, useful: Some(0.0), ..Costs::default() };
        let (mut time, mut place_time, mut errors) = (0.0, 0.0, 0.0);
        for costs in all {
            for (part, more) in sum.parts.iter_mut().zip(costs.parts) {
                *part += more;
            }
            sum.useful = sum.useful.zip(costs.useful).map(|(sum, more)| sum + more);
            errors += costs.error * costs.error;
            time += costs.time;
            place_time += costs.time * costs.places;
        }
        sum.places = if time > 0.0 { place_time / time } else { f64::from(threads) };
        sum.error = errors.sqrt();
        sum
    }

    /// What is lost here against the base; `ratio` is base threads / threads.
    pub(super) fn losses(&self, base: &Costs, ratio: f64) -> Losses {
        let lost = whole(self.time - base.time * ratio);
        let (Some(useful), Some(base_useful)) = (self.useful, base.useful) else {
            return Losses { lost, unexplained: lost, ..Losses::default() };
        };
        let mut parts = self.parts;
        for (part, base) in parts.iter_mut().zip(base.parts) {
            *part -= base * ratio;
        }
        losses(lost, &parts, whole((useful - base_useful) / self.places))
    }

    /// What each part costs here.
    pub(super) fn absolute(&self) -> Losses {
        let Some(useful) = self.useful else { return Losses::default() };
        losses(whole(self.time - useful / self.places), &self.parts, 0)
    }

    /// The share of the time that this part takes.
    pub(super) fn share(&self, part: Part) -> f64 {
        if self.time > 0.0 { self.parts[part as usize] / self.time } else { 0.0 }
    }
}

fn whole(time: f64) -> i64 {
    time.round() as i64
}

fn losses(lost: i64, parts: &[f64; PARTS], inflation: i64) -> Losses {
    let of = |part: Part| whole(parts[part as usize]);
    let mut losses = Losses {
        lost,
        imbalance: of(Part::Imbalance),
        walkthrough: of(Part::Walkthrough),
        startup: of(Part::Startup),
        lock_algorithm: of(Part::LockAlgorithm),
        lock_contention: of(Part::LockContention),
        scheduling: of(Part::Scheduling),
        serial: of(Part::Serial),
        starvation: of(Part::Starvation),
        inflation,
        oversubscription: of(Part::Oversubscription),
        unexplained: 0,
    };
    losses.unexplained = lost - losses.explained();
    losses
}

impl Losses {
    /// What the causes explain together.
    pub fn explained(&self) -> i64 {
        self.imbalance
            + self.walkthrough
            + self.startup
            + self.lock_algorithm
            + self.lock_contention
            + self.scheduling
            + self.serial
            + self.starvation
            + self.inflation
            + self.oversubscription
    }
}

/// Time at the base divided by the time here.
pub(super) fn speedup(base: f64, here: f64) -> f64 {
    if here > 0.0 && base > 0.0 { base / here } else { 1.0 }
}

/// True for what has a team.
pub(super) fn is_parallel(kind: RegionKind) -> bool {
    kind != RegionKind::Serial
}
