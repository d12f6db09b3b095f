//! One run's parallel regions, and what is between them.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::Region;
use holdup_model::{ClassTimes, LossClass, Process, Site, SiteId, ThreadId, ThreadSums, Timeline};
use holdup_sections::{Main, Place, Regions, Standing, TaskSums, time_of};

use super::RegionKind;
use super::instance::{Columns, team};
use super::locks::{Fastest, LockUse, Vendors};
use super::profile::{Key, Profile};
use super::span::at;
use super::team::{LOCKS, OUTSIDE, SIGNALS};
use super::team::{Part, Sums, part};

/// What one run spent in its regions.
#[derive(Clone, Debug, Default)]
pub(super) struct Profiles {
    pub(super) by_key: BTreeMap<Key, Profile>,
    /// Executions that were to be recorded whole, and of which something is missing.
    pub(super) damaged: u64,
    /// Executions that had not ended when the process did.
    pub(super) open: u64,
    /// True if more than one thread met regions that are in no other.
    pub(super) several_masters: bool,
}

fn site(process: &Process, id: Option<SiteId>) -> Option<Site> {
    process.sites.get(id?.index()).cloned()
}

/// What the run spent in each of its regions, and between them on the thread that meets them.
pub(super) fn profiles(
    main: &Main<'_>,
    timeline: &Timeline,
    teams: &BTreeSet<Option<Place>>,
    fastest: &Fastest,
) -> Profiles {
    let (process, cores) = (main.process, main.run.effective_cores_of(main.process));
    let courses = ThreadSums::of(timeline);
    let columns = Columns::of(process);
    let Regions { master, rows } = Regions::of(process, teams);
    let mut profiles = Profiles::default();
    let mut between = Between::new(process, &courses, master);
    for (region, standing) in rows {
        let beside = standing == Standing::Outermost && region.thread != master;
        profiles.several_masters |= beside;
        profiles.open += u64::from(region.open);
        let nested = standing == Standing::Nested || beside;
        let key = Key { kind: RegionKind::Parallel, nested, place: Place::at(process, region.place) };
        let profile = profiles
            .by_key
            .entry(key)
            .or_insert_with_key(|key| Profile::new(key, site(process, region.place)));
        let time = time_of(region);
        profile.count(region.count.max(1), time, u64::from(region.size.max(1)));
        if !nested {
            between.leave_out(region, time);
        }
        if !region.whole || region.open {
            continue;
        }
        let rows = columns.rows(region.instance);
        let Some(team) = team(region, &rows) else {
            profiles.damaged += 1;
            continue;
        };
        let parted = part(&team, &courses, cores);
        profile.add(team.end - team.begin, &parted);
        profile.evidence.add(&team, &parted);
        profile.evidence.tasks.add(&TaskSums::of(rows.tasks, rows.runs));
    }
    let (key, serial) = between.profile();
    profiles.by_key.insert(key, serial);
    add_locks(process, fastest, &mut profiles);
    profiles
}

/// What the thread that meets the regions does between them.
struct Between<'a> {
    courses: &'a ThreadSums,
    master: ThreadId,
    wall: u64,
    in_regions: u64,
    hindered: ClassTimes,
}

impl<'a> Between<'a> {
    fn new(process: &Process, courses: &'a ThreadSums, master: ThreadId) -> Self {
        let hindered = courses.between(master, at(process.start), at(process.end));
        Self { courses, master, wall: process.wall().get(), in_regions: 0, hindered }
    }

    fn leave_out(&mut self, region: &Region, time: u64) {
        let (begin, end) = (at(region.begin), at(region.end));
        let inside = self.courses.between(self.master, begin, end);
        // Of many that were not told one by one it is not known what was in them and what between.
        let inside = if region.count > 1 { inside.share(time, end.saturating_sub(begin)) } else { inside };
        self.hindered = self.hindered.without(&inside);
        self.in_regions += time;
    }

    fn profile(self) -> (Key, Profile) {
        let key = Key { kind: RegionKind::Serial, nested: false, place: None };
        let profile = alone(&key, self.wall.saturating_sub(self.in_regions), &self.hindered);
        (key, profile)
    }
}

/// The profile of time in which one thread is on its own. That the others cannot work is added when it is compared,
/// when their number is known.
pub(super) fn alone(key: &Key, time: u64, hindered: &ClassTimes) -> Profile {
    let mut profile = Profile::new(key, None);
    let mut sums = Sums::default();
    let mut left = time;
    for (part, classes) in [
        (Part::Oversubscription, &[LossClass::OffCore][..]),
        (Part::LockContention, &LOCKS),
        (Part::Other, &SIGNALS),
        (Part::Other, &OUTSIDE),
        (Part::Other, &[LossClass::Unknown]),
    ] {
        let time = hindered.of_all(classes).min(left);
        sums.book(part, time);
        left -= time;
    }
    profile.count(1, time, 1);
    profile.add_sums(time, time, &sums);
    profile
}

/// Acquisitions of locks belong to the region around them, nested or not.
fn add_locks(process: &Process, fastest: &Fastest, profiles: &mut Profiles) {
    let vendors = Vendors::of(process);
    let mut uses: BTreeMap<(Option<Place>, Option<Place>), (bool, LockUse)> = BTreeMap::new();
    for row in &process.openmp.acquires {
        let lock = LockUse::of(process, &vendors, fastest, row);
        let key = (Place::at(process, row.region), Place::at(process, row.place));
        let entry = uses.entry(key);
        entry.and_modify(|(_, sum)| sum.add(&lock)).or_insert((row.region.is_some(), lock));
    }
    for ((region, _), (is_inside, lock)) in uses {
        let parallel = |nested| Key { kind: RegionKind::Parallel, nested, place: region.clone() };
        let serial = Key { kind: RegionKind::Serial, nested: false, place: None };
        let keys = if is_inside { vec![parallel(false), parallel(true), serial] } else { vec![serial] };
        let of = keys.into_iter().find(|key| profiles.by_key.contains_key(key));
        if let Some(profile) = of.and_then(|key| profiles.by_key.get_mut(&key)) {
            profile.locks.push(lock);
        }
    }
}
