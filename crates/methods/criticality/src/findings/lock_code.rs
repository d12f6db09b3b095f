//! What the code that takes and releases locks takes of the processors, by samples.

use std::collections::BTreeSet;

use holdup_model::{Doing, Nanos, ObjectId, Segment, Site, SiteId, State, cpu_time};

use super::{Case, LEAST_SHARE};
use crate::Gain;

/// The functions in which locks are taken and released, without the underscores and marks before the name that glibc gives its own
/// copies; all that begin so.
const FUNCTIONS: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_rwlock_",
    "pthread_spin_",
    "omp_set_lock",
    "omp_unset_lock",
    "omp_set_nest_lock",
    "omp_unset_nest_lock",
    "GOMP_critical_",
    "kmpc_critical",
    "kmpc_end_critical",
];

/// With fewer samples in a lock's code nothing follows from them.
const FEWEST_SAMPLES: u64 = 20;
/// A lock whose cost is by this part in threads that have a core is not waited for asleep.
const MOSTLY_BUSY: f64 = 0.5;

/// What fixing saves at least, likely, and at most, as parts of the time in a lock's code: what was measured (docs/explain/lock.md).
const PARTS: [f64; 3] = [0.6, 0.9, 1.4];

/// True if code of this site is in one of the functions.
pub(super) fn takes_or_releases(site: &Site) -> bool {
    is_in(site, FUNCTIONS)
}

/// True if code of this site is in a function that the program calls, whose name begins so, or in what such a one calls.
pub(super) fn is_in(site: &Site, functions: &[&str]) -> bool {
    let own = site.frames.iter().position(|frame| frame.is_program()).unwrap_or(site.frames.len());
    site.frames[..own].iter().filter_map(|frame| frame.function.as_deref()).any(|name| {
        let name = name.trim_start_matches('_');
        let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
        functions.iter().any(|function| name.starts_with(function))
    })
}

/// True for code of a runtime of OpenMP that has no name, called by the program itself: what stands for barriers, loops and regions
/// is called by a function that has one.
fn is_nameless_in_openmp(site: &Site) -> bool {
    let own = site.frames.iter().position(|frame| frame.is_program()).unwrap_or(0);
    let inner = &site.frames[..own];
    !inner.is_empty() && inner.iter().all(|frame| frame.is_of_openmp() && frame.function.is_none())
}

impl Case<'_> {
    /// What it saves to take a lock, which costs so much, hardly ever, if most of that is in threads that have a core: they wait for a
    /// moment, get it from another core, and give it to one, all of which samples see. `None` if it is not.
    pub(super) fn gain_of_lock_code(&self, lock: ObjectId, cost: Nanos) -> Option<Gain> {
        let busy = self.working.cost((*self.losses.busy.get(&lock)? + self.spun_at(lock)).get());
        if busy.share_of(cost) < MOSTLY_BUSY || cost.share_of(self.wall()) < LEAST_SHARE {
            return None;
        }
        let functions = self.functions_of(lock);
        let running = || self.process.samples.iter().filter(|sample| sample.doing == Doing::Running);
        let is_in_code = |site: &SiteId| {
            let stack = self.process.site(*site);
            let place = || self.function_of(self.timeline.places.at(Some(*site))?);
            (takes_or_releases(stack) || is_nameless_in_openmp(stack))
                && place().is_some_and(|place| functions.contains(place))
        };
        let in_code = running().filter_map(|sample| sample.site).filter(is_in_code).count() as u64;
        if in_code < FEWEST_SAMPLES {
            return None;
        }
        let share = in_code as f64 / running().count() as f64;
        let gain = self.gain_of_work(Nanos::new((cpu_time(self.process).get() as f64 * share) as u64), PARTS);
        let asleep = cost.saturating_sub(busy);
        let with = |time: Nanos| (time + asleep).min(self.wall());
        Some(Gain { time: with(gain.time), low: with(gain.low), high: with(gain.high), ..gain })
    }

    /// How long the working threads spun at a lock, as samples show.
    fn spun_at(&self, lock: ObjectId) -> Nanos {
        let rows = self.working.threads.iter().map(|&thread| self.timeline.row(thread));
        let spins = |segment: &&Segment| segment.state == State::Spinning && segment.object == Some(lock);
        rows.flat_map(|row| row.segments.iter().filter(spins)).map(Segment::length).sum()
    }

    /// The functions in which a lock is waited for, and held.
    pub(super) fn functions_of(&self, lock: ObjectId) -> BTreeSet<&str> {
        let cost = || self.object_cost(lock).into_iter();
        let waited = cost().flat_map(|cost| &cost.waiters).filter_map(|waiter| waiter.site);
        let held = cost().flat_map(|cost| &cost.holders).filter_map(|holder| holder.site);
        let places = waited.chain(held).chain(cost().filter_map(|cost| cost.place));
        places.filter_map(|site| self.function_of(self.timeline.places.at(Some(site))?)).collect()
    }

    pub(super) fn function_of(&self, place: SiteId) -> Option<&str> {
        self.process.site(place).place()?.function.as_deref()
    }
}
