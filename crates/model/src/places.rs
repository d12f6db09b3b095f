//! One site for each place: call stacks that come to the same line of the program are not told apart.

use std::collections::{BTreeMap, BTreeSet};

use crate::completions::Completions;
use crate::{Call, Process, Routine, RoutineKind, SiteId};

/// By site: the one that stands for all that have the same place. It is the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    same: Vec<SiteId>,
    /// By site: the routine in which a thread that is on a core there waits.
    spins: Vec<Option<&'static Routine>>,
    /// By site: the routine in which a thread there has nothing to do.
    idles: Vec<Option<&'static Routine>>,
    /// By site: whether it is in a routine of those who wait for the end of what they gave to others.
    joins: Vec<bool>,
    /// By site: whether it is in a routine of those who wait for room in a queue.
    rooms: Vec<bool>,
    /// By site: of the ends that are waited for, whether who waits there does a part itself.
    shares: Vec<bool>,
    /// By site: of the ends that are waited for, whether they are those of threads.
    ends: Vec<bool>,
    /// By site: whether a thread that sleeps at this place has nothing to do.
    idle: Vec<bool>,
}

impl Places {
    pub(crate) fn of(process: &Process) -> Self {
        let routines = |wanted| -> Vec<Option<&'static Routine>> {
            process.sites.iter().map(|site| site.routine(|kind| kind == wanted)).collect()
        };
        let is_in = |wanted| routines(wanted).iter().map(Option::is_some).collect();
        let [spins, idles] = [RoutineKind::Spin, RoutineKind::Idle].map(routines);
        let [joins, rooms] = [RoutineKind::Join, RoutineKind::Room].map(is_in);
        let mut first = BTreeMap::new();
        let same = process.sites.iter().enumerate().map(|(index, site)| {
            let id = SiteId::new(index as u32);
            let Some(frame) = site.place() else { return id };
            // Without a line, calls from one function differ in their address only.
            let address = if frame.line.is_some() { 0 } else { frame.address };
            // A runtime that a line of the program calls may work there, or wait.
            let spin = spins[index].map(|routine| routine.name);
            *first
                .entry((&frame.function, &frame.file, frame.line, &frame.module, address, spin))
                .or_insert(id)
        });
        let none = vec![false; process.sites.len()];
        let same = same.collect();
        let mut places =
            Self { same, spins, idles, joins, rooms, shares: none.clone(), ends: none.clone(), idle: none };
        let sleeps = process.blocks.iter().filter(|block| block.call == Call::Sleep);
        let sites: BTreeSet<SiteId> = sleeps.filter_map(|block| block.site).collect();
        for site in sites {
            if places.idles(Some(site))
                && let Some(place) = places.at(Some(site))
            {
                places.idle[place.index()] = true;
            }
        }
        places
    }

    /// True where a thread is in a routine of those who have nothing to do.
    pub fn idles(&self, site: Option<SiteId>) -> bool {
        site.is_some_and(|site| self.idles[site.index()].is_some())
    }

    /// As [`Places::idles`], where that is one of a runtime's own helpers.
    pub fn serves(&self, site: Option<SiteId>) -> bool {
        site.and_then(|site| self.idles[site.index()]).is_some_and(|routine| routine.serves)
    }

    /// True where a thread that is blocked waits until others have done all that it gave them.
    pub fn joins(&self, site: Option<SiteId>) -> bool {
        site.is_some_and(|site| self.joins[site.index()])
    }

    /// True where a thread that is blocked waits for room in a queue.
    pub fn waits_for_room(&self, site: Option<SiteId>) -> bool {
        site.is_some_and(|site| self.rooms[site.index()])
    }

    /// As [`Places::only_joins`], and those others then wait for more: they do not end.
    pub fn only_gives(&self, site: Option<SiteId>) -> bool {
        self.only_joins(site) && !site.is_some_and(|site| self.ends[site.index()])
    }

    /// As [`Places::joins`], and of what it gave them it does no part itself.
    pub fn only_joins(&self, site: Option<SiteId>) -> bool {
        self.joins(site) && !site.is_some_and(|site| self.shares[site.index()])
    }

    /// Waits at these places are for what was given to others, though no routine's name says so.
    pub(crate) fn take_completions(&mut self, completions: &Completions) {
        for (site, same) in self.same.iter().enumerate() {
            self.joins[site] |= completions.sites.contains(same);
            self.shares[site] |= completions.shared.contains(same);
            self.ends[site] |= completions.ends.contains(same);
        }
    }

    /// True where a thread that sleeps has nothing to do: in a runtime that looks now and then.
    pub fn is_idle(&self, site: Option<SiteId>) -> bool {
        site.is_some_and(|site| self.idle.get(site.index()) == Some(&true))
    }

    /// The routine in which a thread that is on a core at this place waits.
    pub fn spin(&self, site: Option<SiteId>) -> Option<&'static Routine> {
        site.and_then(|site| self.spins.get(site.index()).copied().flatten())
    }

    /// True where a thread that is on a core searches for work.
    pub fn seeks_work(&self, site: Option<SiteId>) -> bool {
        self.spin(site).is_some_and(|routine| routine.seeks_work)
    }

    /// The site that stands for the place of this one.
    pub fn at(&self, site: Option<SiteId>) -> Option<SiteId> {
        site.map(|site| self.same.get(site.index()).copied().unwrap_or(site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Site, Time};

    #[test]
    fn stacks_that_come_to_one_line_are_one_place() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1));
        let mut add = |inner: &str, line| {
            let frame = |function: &str, line| Frame {
                function: Some(function.to_owned()),
                line,
                module: Some("app".to_owned()),
                ..Frame::default()
            };
            process
                .add_site(Site { frames: vec![frame(inner, None), frame("update", line)], ..Site::default() })
        };
        let sites = [
            add("pthread_mutex_lock", Some(3)),
            add("pthread_mutex_timedlock", Some(3)),
            add("pthread_mutex_lock", Some(9)),
        ];
        let places = Places::of(&process);
        let found: Vec<_> = sites.iter().map(|&site| places.at(Some(site))).collect();
        assert_eq!(found, [Some(sites[0]), Some(sites[0]), Some(sites[2])]);
        assert_eq!(places.at(None), None);
    }
}
