//! The time for OpenMP's locks: what the lock's algorithm takes, and what waiting for others takes (paper 5, section 3.3).
//!
//! The fastest acquisition of all is taken to have met nobody: acquisitions × the fastest is the algorithm's time, and
//! the rest is contention. Reading the clock is as long as a lock's fast path, and its noise as well; so the fastest is
//! the fastest *mean* of a thread at a place, where enough acquisitions were timed for one, and else a single one. Where
//! only a part was timed, fast acquisitions that were not are taken to be like those that were; all that had to wait
//! were timed.

use std::collections::BTreeMap;

use holdup_model::openmp::{Acquires, Vendor};
use holdup_model::{ObjectKind, Process, SiteId};
use holdup_sections::Place;

/// From this share of waits on, acquisitions that did not wait are slow because of the others, too: the lock's memory
/// goes from core to core.
const LEAST_WAITS: f64 = 0.01;

/// So many timed acquisitions make a mean.
const ENOUGH: u64 = 64;

/// The fastest acquisition (ns) of each kind of lock of each runtime, over all runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Fastest {
    means: BTreeMap<(ObjectKind, Option<Vendor>), f64>,
    /// Single ones, for where there are too few for means.
    single: BTreeMap<(ObjectKind, Option<Vendor>), f64>,
}

impl Fastest {
    pub(super) fn of<'a>(processes: impl Iterator<Item = &'a Process>) -> Self {
        let mut fastest = Fastest::default();
        for process in processes {
            let vendors = Vendors::of(process);
            for row in process.openmp.acquires.iter().filter(|row| row.timed > 0) {
                let (known, time) = if row.timed >= ENOUGH {
                    (&mut fastest.means, row.time.get() as f64 / row.timed as f64)
                } else {
                    (&mut fastest.single, row.fastest.get() as f64)
                };
                let least = known.entry((row.kind, vendors.at(process, row.region))).or_insert(time);
                *least = least.min(time);
            }
        }
        fastest
    }

    fn of_lock(&self, kind: ObjectKind, vendor: Option<Vendor>) -> Option<f64> {
        self.means.get(&(kind, vendor)).or_else(|| self.single.get(&(kind, vendor))).copied()
    }
}

/// Which runtime executes which region.
pub(super) struct Vendors {
    regions: BTreeMap<Place, Vendor>,
    /// The only one that told something.
    only: Option<Vendor>,
}

impl Vendors {
    pub(super) fn of(process: &Process) -> Self {
        let mut regions = BTreeMap::new();
        let mut all = Vec::new();
        for region in &process.openmp.regions {
            let place = region.place.and_then(|site| process.sites.get(site.index())).and_then(Place::of);
            if let Some(place) = place {
                regions.insert(place, region.vendor);
            }
            if !all.contains(&region.vendor) {
                all.push(region.vendor);
            }
        }
        Self { regions, only: if let [only] = all[..] { Some(only) } else { None } }
    }

    fn at(&self, process: &Process, region: Option<SiteId>) -> Option<Vendor> {
        let place = region.and_then(|site| process.sites.get(site.index())).and_then(Place::of);
        self.only.or_else(|| self.regions.get(&place?).copied())
    }
}

/// What acquiring locks at one place took all threads together (ns of thread-time).
#[derive(Clone, Debug)]
pub(super) struct LockUse {
    pub(super) place: Option<SiteId>,
    pub(super) kind: ObjectKind,
    pub(super) acquisitions: u64,
    /// How many of them had to wait.
    pub(super) waits: u64,
    /// Time in these.
    pub(super) waited: f64,
    /// Time in the others, from those that were timed.
    fast: f64,
    /// What the algorithm takes for all of them: acquisitions × the fastest.
    least: f64,
}

/// What acquiring locks at one place cost (ns of thread-time).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LockCost {
    pub(super) algorithm: f64,
    pub(super) contention: f64,
}

impl LockCost {
    pub(super) fn total(&self) -> f64 {
        self.algorithm + self.contention
    }
}

impl LockUse {
    /// What one thread's acquisitions at one place took.
    pub(super) fn of(process: &Process, vendors: &Vendors, fastest: &Fastest, row: &Acquires) -> Self {
        let fast = row.acquisitions.saturating_sub(row.waits) as f64;
        let each = fastest.of_lock(row.kind, vendors.at(process, row.region)).unwrap_or(0.0);
        // Fast ones of which none was timed took at least what the fastest elsewhere took.
        let mean = if row.timed > 0 { row.time.get() as f64 / row.timed as f64 } else { each };
        Self {
            place: row.place,
            kind: row.kind,
            acquisitions: row.acquisitions,
            waits: row.waits,
            waited: row.waiting.get() as f64,
            fast: fast * mean,
            least: row.acquisitions as f64 * each,
        }
    }

    /// Adds another thread's.
    pub(super) fn add(&mut self, other: &LockUse) {
        self.acquisitions += other.acquisitions;
        self.waits += other.waits;
        self.waited += other.waited;
        self.fast += other.fast;
        self.least += other.least;
    }

    /// What they cost. Where next to nobody had to wait, a lock that is slower than the fastest is further away, not
    /// contended: the paper could not know.
    pub(super) fn cost(&self) -> LockCost {
        let total = self.fast + self.waited;
        let is_wanted = self.waits as f64 >= LEAST_WAITS * self.acquisitions as f64;
        let algorithm = if is_wanted { self.least.min(total) } else { self.fast };
        LockCost { algorithm, contention: total - algorithm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{Nanos, ThreadId, Time};

    fn row(thread: u32, acquisitions: u64, timed: (u64, u64, u64), waits: (u64, u64)) -> Acquires {
        Acquires {
            thread: ThreadId::new(thread),
            place: None,
            region: None,
            kind: ObjectKind::OmpLock,
            acquisitions,
            timed: timed.0,
            time: Nanos::new(timed.1),
            fastest: Nanos::new(timed.2),
            waits: waits.0,
            waiting: Nanos::new(waits.1),
        }
    }

    /// The paper's Table 2 in small: two regions whose threads spend the same time acquiring; in one of them each has a
    /// lock for itself.
    #[test]
    fn without_contention_the_algorithm_takes_the_time() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1));
        process.add_thread("main", Time::from_nanos(0), None);
        let free = row(0, 1_000_000, (1_000, 21_000, 20), (0, 0));
        let wanted = row(0, 50_000, (10, 400, 25), (40_000, 20_000_000));
        process.openmp.acquires = vec![free.clone(), wanted.clone()];
        let (vendors, fastest) = (Vendors::of(&process), Fastest::of([&process].into_iter()));
        let of = |row| LockUse::of(&process, &vendors, &fastest, row);
        let free = of(&free).cost();
        assert_eq!((free.algorithm, free.contention), (21e6, 0.0));
        let wanted = of(&wanted).cost();
        assert_eq!((wanted.algorithm, wanted.contention), (1_050e3, 20e6 + 400e3 - 1_050e3));
    }

    #[test]
    fn the_algorithm_is_never_more_than_was_measured() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1));
        process.add_thread("main", Time::from_nanos(0), None);
        let only_waits = row(0, 10, (0, 0, 0), (10, 1_000));
        let free = row(0, 10, (1, 500, 500), (0, 0));
        process.openmp.acquires = vec![only_waits.clone(), free];
        let (vendors, fastest) = (Vendors::of(&process), Fastest::of([&process].into_iter()));
        let lock = LockUse::of(&process, &vendors, &fastest, &only_waits).cost();
        assert_eq!((lock.algorithm, lock.contention), (1_000.0, 0.0));
    }
}
