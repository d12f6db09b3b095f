//! Locks that hardly anybody waits for: to take and release them is work, and there is much of it where they are many and fine.

use std::collections::BTreeMap;

use holdup_model::figures::{grouped, percent, times};
use holdup_model::{Nanos, ObjectId, Site, SiteId, ThreadId};

use super::lock_code::takes_or_releases;
use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;

/// With fewer samples in them nothing is said.
const FEWEST_SAMPLES: u64 = 20;

/// Of the active time.
const LEAST_SHARE: f64 = 0.05;

/// Where waiting for locks costs more than this part of that, waiting is what there is to say.
const MOST_WAITING: f64 = 0.25;

/// A place is named if it has this part of the time.
const LEAST_OF_PLACE: f64 = 0.2;

/// Locks are named if they are this part of all that were taken.
const MOST_TAKEN: f64 = 0.8;

/// What fixing saves at least, likely, and at most, as parts of the time in these functions: something cheaper may have to take their
/// place, being recorded makes them dearer, and the program's own instructions behind an atomic one wait for it, too.
const LEAST_PART: f64 = 0.5;
const LIKELY_PART: f64 = 0.75;
const LARGEST_PART: f64 = 1.25;

const HINT: &str = "Take a lock once for more work, leave it out where no other thread can come, or let each thread put together its part \
    and add that up at the end.";

/// The active time in some functions.
#[derive(Default)]
pub(super) struct Taking {
    pub(super) samples: u64,
    /// Of these so many in the kernel.
    pub(super) in_kernel: u64,
    pub(super) threads: BTreeMap<ThreadId, Nanos>,
    /// By the places in the program that called them.
    pub(super) places: BTreeMap<SiteId, Nanos>,
}

impl Taking {
    /// In those that this says of a site that it is in one.
    pub(super) fn of(case: &Case<'_>, is_one: impl Fn(&Site) -> bool) -> Self {
        let takes: Vec<bool> = case.process.sites.iter().map(is_one).collect();
        let is_taking = |site: Option<SiteId>| site.is_some_and(|site| takes[site.index()]);
        let mut taking = Self::default();
        for (thread, look) in case.samples.all().filter(|(_, look)| is_taking(look.site)) {
            taking.samples += 1;
            taking.in_kernel += u64::from(look.in_kernel.is_some());
            *taking.threads.entry(thread).or_default() += look.active;
            if let Some(place) = look.place {
                *taking.places.entry(place).or_default() += look.active;
            }
        }
        taking
    }

    pub(super) fn time(&self) -> Nanos {
        self.threads.values().copied().sum()
    }

    /// The words for it, with the place that has most of it behind `what`.
    pub(super) fn description(
        &self,
        case: &Case<'_>,
        what: &str,
        evidence: Vec<String>,
        hint: &str,
        method: &'static str,
    ) -> Description {
        let place = most_first(&self.places).first().map(|(place, _)| *place);
        let at = place.map(|place| format!(", mostly in {}", case.site(place))).unwrap_or_default();
        Description {
            object: None,
            threads: main_ones(&self.threads),
            place,
            what: format!("{what}{at}"),
            evidence,
            hint: hint.to_owned(),
            on_path: None,
            method,
            stretches: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// That of working threads.
    pub(super) fn lost(&self, case: &Case<'_>) -> Nanos {
        let working = self.threads.iter().filter(|(thread, _)| case.working.threads.contains(thread));
        working.map(|(_, time)| *time).sum()
    }
}

/// True if there is one.
pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) -> bool {
    let taking = Taking::of(case, takes_or_releases);
    let lost = taking.lost(case);
    let active: Nanos = case.times.iter().map(|times| times.active).sum();
    let waiting: Nanos = case.losses.locks.values().map(|charge| charge.total()).sum();
    let is_little = taking.samples < FEWEST_SAMPLES || lost.share_of(active) < LEAST_SHARE;
    if is_little || waiting.share_of(lost) > MOST_WAITING {
        return false;
    }
    let gain = case.gain_of_work(lost, [LEAST_PART, LIKELY_PART, LARGEST_PART]);
    let mut candidate = Candidate::new(FindingKind::Lock, lost, move |case| describe(case, &taking));
    candidate.gain = Some(gain);
    candidate.is_work = true;
    candidates.push(candidate);
    true
}

fn describe(case: &Case<'_>, taking: &Taking) -> Description {
    let time = taking.time();
    let places = most_first(&taking.places);
    let named = places.iter().filter(|(_, own)| own.share_of(time) >= LEAST_OF_PLACE);
    let functions: Vec<String> = named.map(|(place, _)| case.names.function(*place)).collect();
    let mut distinct: Vec<&str> = Vec::new();
    for name in &functions {
        if !distinct.contains(&name.as_str()) {
            distinct.push(name);
        }
    }
    let from = match distinct.as_slice() {
        [] => String::new(),
        names => format!(", mostly called from {}", names.join(" and ")),
    };
    let active: Nanos = case.times.iter().map(|times| times.active).sum();
    let mut evidence = vec![format!(
        "{} samples, {} of the active time, are in the functions that take and release locks{from}.",
        grouped(taking.samples),
        percent(time.share_of(active))
    )];
    evidence.extend(taken(case));
    let what = "taking and releasing locks that hardly anybody waits for";
    taking.description(
        case,
        what,
        evidence,
        HINT,
        "samples of threads at work in functions that take and release locks",
    )
}

/// How often locks were taken, which mostly, and how long they were waited for.
pub(super) fn taken(case: &Case<'_>) -> Option<String> {
    let is_lock = |object: ObjectId| case.role(object).is_lock();
    let locks = || case.objects.iter().filter(|cost| is_lock(cost.object));
    let known = locks().filter_map(|cost| cost.acquisitions).fold(0, u64::saturating_add);
    let all = known.saturating_add(case.process.lost.uses);
    if known == 0 {
        return None;
    }
    let share = |count: Option<u64>| count.unwrap_or(0) as f64 / all as f64 >= MOST_TAKEN;
    let families = case.families.iter().filter(|family| is_lock(family.sum.object));
    let family =
        families.filter(|family| share(family.sum.acquisitions)).map(|family| case.family(family)).next();
    let single = || locks().find(|cost| share(cost.acquisitions)).map(|cost| case.object(cost.object));
    let which = family.or_else(single).map_or_else(String::new, |name| format!(", mostly {name},"));
    let at_least = if case.process.lost.uses > 0 { "at least " } else { "" };
    let waited = match locks().map(|cost| cost.wait).sum() {
        Nanos::ZERO => "nobody waited for them".to_owned(),
        time => format!("threads waited for them for {time} in all"),
    };
    Some(format!("Locks{which} were taken {at_least}{}; {waited}.", times(known)))
}
