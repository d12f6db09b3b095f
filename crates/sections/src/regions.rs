//! Which parallel regions of OpenMP are in which others, and how long they took.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{Instance, Region};
use holdup_model::{Process, ThreadId};

use crate::Place;

/// Places of regions that more than one thread executed in any of the runs: a region inside of one of these is nested.
/// What only ever one thread executes is no region in which others could be nested.
pub fn real_teams<'a>(processes: impl Iterator<Item = &'a Process>) -> BTreeSet<Option<Place>> {
    let mut places = BTreeSet::new();
    for process in processes {
        for region in process.openmp.regions.iter().filter(|region| region.size > 1) {
            places.insert(Place::at(process, region.place));
        }
    }
    places
}

/// Time in a row's executions (ns): those that were not timed are taken to be like those that were.
pub fn time_of(region: &Region) -> u64 {
    let span = region.end.since(region.begin).get();
    match region.timed {
        0 if region.count <= 1 => span,
        0 => 0,
        timed => (u128::from(region.time.get()) * u128::from(region.count) / u128::from(timed))
            .min(u128::from(u64::MAX >> 16)) as u64,
    }
}

/// Where a region belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is in no other.
    Outermost,
    /// It is in another.
    Nested,
}

struct Standings<'a> {
    process: &'a Process,
    teams: &'a BTreeSet<Option<Place>>,
    rows: BTreeMap<Instance, &'a Region>,
    /// Instances that have others inside.
    around: BTreeSet<Instance>,
}

/// Deeper nesting than that is taken for damage.
const DEEPEST: usize = 64;

impl<'a> Standings<'a> {
    fn of(process: &'a Process, teams: &'a BTreeSet<Option<Place>>) -> Self {
        let regions = &process.openmp.regions;
        let rows = regions.iter().map(|region| (region.instance, region)).collect();
        let around = regions.iter().filter_map(|region| region.parent).collect();
        Self { process, teams, rows, around }
    }

    fn is_real(&self, region: &Region) -> bool {
        self.teams.contains(&Place::at(self.process, region.place))
    }

    /// `None` for one that one thread executes, and regions inside of it: what it does itself is between these.
    fn at(&self, region: &Region) -> Option<Standing> {
        let mut parent = region.parent;
        for _ in 0..DEEPEST {
            let Some(instance) = parent else { break };
            match self.rows.get(&instance) {
                Some(row) if self.is_real(row) => return Some(Standing::Nested),
                Some(row) => parent = row.parent,
                // The region around it was not told.
                None => return Some(Standing::Nested),
            }
        }
        let is_around = !self.is_real(region) && self.around.contains(&region.instance);
        (!is_around).then_some(Standing::Outermost)
    }
}

/// The regions of a process, each with where it belongs.
#[derive(Clone, Debug)]
pub struct Regions<'a> {
    /// The thread that spends the most time in regions that are in no others.
    pub master: ThreadId,
    /// In order of time. What a thread does by itself around other regions is none.
    pub rows: Vec<(&'a Region, Standing)>,
}

impl<'a> Regions<'a> {
    /// Those of `process`; `teams` are the places of regions that are executed by several threads: see [`real_teams`].
    pub fn of(process: &'a Process, teams: &BTreeSet<Option<Place>>) -> Self {
        let standings = Standings::of(process, teams);
        let regions = process.openmp.regions.iter();
        let mut rows: Vec<(&Region, Standing)> =
            regions.filter_map(|region| Some((region, standings.at(region)?))).collect();
        rows.sort_by_key(|(region, _)| (region.begin, region.thread, region.end, region.instance));
        let mut times: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for (region, _) in rows.iter().filter(|(_, standing)| *standing == Standing::Outermost) {
            *times.entry(region.thread).or_default() += time_of(region);
        }
        let most = times.into_iter().max_by_key(|&(thread, time)| (time, Reverse(thread)));
        Self { master: most.map_or(ThreadId::new(0), |(thread, _)| thread), rows }
    }

    /// Those that are in no others, as far as the master met them.
    pub fn outermost(&self) -> impl Iterator<Item = &'a Region> + '_ {
        let met = |(region, standing): &&(&Region, Standing)| {
            *standing == Standing::Outermost && region.thread == self.master
        };
        self.rows.iter().filter(met).map(|(region, _)| *region)
    }
}
