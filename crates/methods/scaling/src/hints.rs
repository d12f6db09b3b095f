//! What would help, and how much: hints with predicted gains, each from evidence that is worth at least a hundredth of
//! the program's time.

mod barriers;
mod locks;
mod loops;
mod tasks;
mod threads;

pub(super) use threads::FewerForAll;

use holdup_model::openmp::WorkKind;
use holdup_model::{Arrange, Nanos, Process, Site, SiteId};
use holdup_replay::LEAST_ERROR;
use holdup_replay::schedule::{self, RecordedLoop, TaskGraph};
use holdup_sections::Place;

use super::compare::Costs;
use super::point::Point;
use super::profile::{Key, Profile};
use super::team::Part;
use super::{Hint, HintGain, HintKind, RegionScaling};

/// Gains below this share of the program's time are not told.
const LEAST_SHARE: f64 = 0.01;

/// One region at one number of threads, as hints need it.
pub(super) struct At<'a> {
    pub(super) threads: u32,
    pub(super) profile: &'a Profile,
    pub(super) costs: Costs,
    /// How far the runs' useful time is from each other: half of the range, as a share of its middle.
    pub(super) spread: f64,
}

/// One region over all numbers of threads.
pub(super) struct Case<'a> {
    pub(super) index: usize,
    pub(super) region: &'a RegionScaling,
    /// The process of the median run at the most threads, which has the names.
    pub(super) process: &'a Process,
    /// Ascending; the last one is what hints are for.
    pub(super) at: Vec<At<'a>>,
    /// The program's wall time at the most threads (ns).
    pub(super) wall: f64,
    pub(super) cores: u32,
}

impl<'a> Case<'a> {
    /// `None` where the region was not executed at the most threads, or is in another: what is gained there is not
    /// gained for the program.
    pub(super) fn of(
        points: &'a [Point<'a>],
        key: &Key,
        index: usize,
        region: &'a RegionScaling,
    ) -> Option<Self> {
        let last = points.last()?;
        last.median().by_key.get(key).filter(|profile| !profile.nested)?;
        let at = |point: &'a Point<'a>| {
            let profile = point.median().by_key.get(key)?;
            let runs = point.profiles.iter().filter_map(|run| run.by_key.get(key)?.useful());
            let (least, most) = runs
                .fold((f64::INFINITY, 0f64), |(least, most), useful| (least.min(useful), most.max(useful)));
            let spread = if most > 0.0 && least <= most { (most - least) / (most + least) } else { 0.0 };
            let costs = Costs::of(profile, point.threads());
            Some(At { threads: point.threads(), profile, costs, spread })
        };
        let main = last.chosen.runs[last.chosen.median()];
        Some(Case {
            index,
            region,
            process: main.process,
            at: points.iter().filter_map(at).collect(),
            wall: last.costs.time,
            cores: main.run.effective_cores_of(main.process),
        })
    }

    pub(super) fn here(&self) -> &At<'a> {
        &self.at[self.at.len() - 1]
    }

    pub(super) fn profile(&self) -> &'a Profile {
        self.here().profile
    }

    /// What a part costs at the most threads (ns of wall time).
    pub(super) fn cost(&self, part: Part) -> f64 {
        self.here().costs.parts[part as usize]
    }

    /// Wall time in whole executions stands for that in all of them: times this.
    pub(super) fn scale(&self) -> f64 {
        let profile = self.profile();
        if profile.whole_time > 0 { profile.time as f64 / profile.whole_time as f64 } else { 0.0 }
    }

    /// Twice the standard error of what is known from a sample of executions (ns of wall time).
    pub(super) fn doubt(&self) -> f64 {
        2.0 * self.here().costs.error
    }

    pub(super) fn is_worth(&self, gain: f64) -> bool {
        gain >= LEAST_SHARE * self.wall && gain >= 1.0
    }

    /// The team's threads, rounded.
    pub(super) fn team(&self) -> u32 {
        self.profile().team().round().max(1.0) as u32
    }

    fn is_here(&self, region: Option<SiteId>) -> bool {
        let place = |site: Option<&Site>| site.and_then(Place::of);
        place(region.and_then(|id| self.process.sites.get(id.index()))) == place(self.region.place.as_ref())
    }

    /// Loops of this region of which all is recorded, at one place.
    pub(super) fn loops(&self, kind: WorkKind, at: Option<SiteId>) -> Vec<RecordedLoop> {
        let mut loops = schedule::loops(&self.process.openmp);
        loops.retain(|recorded| {
            recorded.kind == kind && recorded.place == at && self.is_here(recorded.region)
        });
        loops
    }

    /// Tasks of this region.
    pub(super) fn task_graphs(&self) -> Vec<TaskGraph> {
        let mut graphs = schedule::task_graphs(&self.process.openmp);
        graphs.retain(|graph| self.is_here(graph.region()));
        graphs
    }

    /// What a hint can give at most (ns of wall time): the region lasts no less than its useful work on all places. Less memory
    /// and other numbers of threads make that less, too.
    fn most(&self, kind: HintKind) -> f64 {
        let Costs { time, places, useful, .. } = &self.here().costs;
        let keeps_work = !matches!(kind, HintKind::Memory | HintKind::FewerThreads);
        let useful = useful.filter(|_| keeps_work).unwrap_or(0.0);
        (time - useful / places.max(1.0)).max(0.0)
    }

    fn site(&self, id: Option<SiteId>) -> Option<Site> {
        self.process.sites.get(id?.index()).cloned()
    }

    /// A place as words: ` at f (a.c:12)`; nothing where it is not known.
    pub(super) fn at_place(&self, id: Option<SiteId>) -> String {
        id.filter(|id| id.index() < self.process.sites.len())
            .map_or(String::new(), |id| format!(" at {}", self.process.site(id).told(None, &str::to_owned)))
    }

    pub(super) fn hint(&self, kind: HintKind, place: Option<SiteId>, text: String, gain: Gain) -> Hint {
        let Gain { time, low, high, bound, method } = gain;
        let whole = |time: f64| time.round() as i64;
        let noise = LEAST_ERROR * self.wall;
        let most = self.most(kind);
        Hint {
            kind,
            region: Some(self.index),
            place: self.site(place),
            text,
            gain: time.map(|time| HintGain {
                time: whole(time),
                low: whole((low.min(time) - noise).max(low.min(0.0))),
                high: whole((high + noise).min(most).max(time)),
            }),
            bound,
            method: method.to_owned(),
        }
    }
}

/// What a hint gives (ns of wall time), and how that was found.
pub(super) struct Gain {
    time: Option<f64>,
    low: f64,
    high: f64,
    bound: bool,
    method: &'static str,
}

impl Gain {
    pub(super) fn predicted(time: f64, low: f64, high: f64, method: &'static str) -> Self {
        Self { time: Some(time), low, high, bound: false, method }
    }

    /// No more than that can be gained.
    pub(super) fn at_most(time: f64, doubt: f64, method: &'static str) -> Self {
        Self { time: Some(time), low: (time - doubt).max(0.0), high: time + doubt, bound: true, method }
    }

    pub(super) fn bounded(mut self) -> Self {
        self.bound = true;
        self
    }

    pub(super) fn unknown(method: &'static str) -> Self {
        Self { time: None, low: 0.0, high: 0.0, bound: false, method }
    }
}

/// A length of time for people.
pub(super) fn shown(time: f64) -> Nanos {
    Nanos::new(time.max(0.0).round() as u64)
}

/// What may be nothing but noise: a comparison of times, and how long waking takes.
const OF_TIMES: [HintKind; 2] = [HintKind::FewerThreads, HintKind::Runtime];

impl Hint {
    /// True where the interval of its gain has no part in which nothing is gained.
    pub(super) fn is_sure(&self) -> bool {
        self.gain.is_some_and(|gain| gain.low > 0)
    }

    /// Others used this share of the CPUs: so much of the region may be theirs.
    fn doubted(mut self, used_by_others: f64, region: f64) -> Self {
        if let Some(gain) = &mut self.gain {
            gain.low = (gain.low - (used_by_others * region).round() as i64).max(gain.low.min(0));
        }
        self
    }
}

/// The hints for one region, best first; those that may give nothing come after those that give something in any case.
pub(super) fn hints(case: &Case<'_>, used_by_others: f64) -> Vec<Hint> {
    let mut hints = loops::hints(case);
    hints.extend(barriers::hints(case));
    hints.extend(locks::hints(case));
    hints.extend(tasks::hints(case));
    hints.extend(threads::hints(case));
    let region = case.here().costs.time;
    let is_busy = used_by_others > 0.0;
    let doubted = hints.into_iter().map(|hint| hint.doubted(used_by_others, region));
    let is_told = |hint: &Hint| match OF_TIMES.contains(&hint.kind) {
        true => !is_busy && hint.is_sure(),
        false => !is_busy || hint.is_sure(),
    };
    let mut hints: Vec<Hint> = doubted.filter(is_told).collect();
    hints.arrange_by_key(|hint| {
        (
            !hint.is_sure(),
            hint.gain.is_none(),
            std::cmp::Reverse(hint.gain.map_or(0, |gain| gain.time)),
            hint.kind,
        )
    });
    hints
}
