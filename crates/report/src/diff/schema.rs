//! The shape of `holdup diff --json`, schema 1; `docs/json-schema/diff.schema.json` is made of it.

use holdup_compare::{Against, Change, Measure, Presence, Subject};
use serde::Serialize;

use crate::schema::Place;

/// The version of the JSON that [`diff_json`](crate::diff_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const DIFF_SCHEMA: u32 = 1;

/// What changed between recordings. Schema 1: members may be added, none is taken away and none changes its meaning.
/// Times are whole nanoseconds (names end in _ns); differences may be negative. Names of programs, threads, functions,
/// files and objects are as the programs gave them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup diff --json"))]
pub(crate) struct Diff<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = DIFF_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    #[serde(with = "AgainstWord")]
    pub(crate) against: Against,
    pub(crate) before: Side<'a>,
    pub(crate) after: Side<'a>,
    /// The wall time.
    pub(crate) wall: ChangeOfTime,
    /// What the difference of the wall time consists of, the greatest differences first. Their differences add up to
    /// that of the wall time exactly.
    pub(crate) contributions: Vec<Contribution<'a>>,
    /// Findings. One that a run does not tell counts there as 0 (a lock: as what the lock cost), though it may cost up to
    /// 1.5 % of the wall time.
    pub(crate) findings: Vec<Row<'a, Findings>>,
    /// Locks, barriers and other objects. What each means is in the schema of reports. Objects of one name are added up.
    pub(crate) objects: Vec<Row<'a, Objects>>,
    /// Places where threads wait for objects (wait) and are in system calls that block (call), by working thread.
    pub(crate) sites: Vec<Row<'a, Sites>>,
    /// Threads, those of one start function or sort of name added up. The one of kind nobody has the time with no thread
    /// active.
    pub(crate) threads: Vec<Row<'a, Threads>>,
    /// Regions, phases and units of work that the program marked.
    pub(crate) labels: Vec<Row<'a, Labels>>,
    /// Functions in which samples show threads at work. One that is not among the hottest of a run counts there as the
    /// last of them.
    pub(crate) functions: Vec<Row<'a, Functions>>,
    /// How it scales, with --against-threads.
    pub(crate) scaling: Option<Scaling>,
    /// What surrounded the runs, where that differs.
    pub(crate) environment: Vec<Surrounding<'a>>,
    /// What to keep in mind, a sentence each.
    pub(crate) warnings: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Against", rename_all = "snake_case")]
pub(crate) enum AgainstWord {
    /// Before and after a change.
    Change,
    /// The same work with few threads (before) and with many (after): amounts before of the wall time, of the
    /// contributions and of all costs are times the working threads before, divided by those after: what they would be
    /// without loss.
    Threads,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Side<'a> {
    /// The program and its arguments, of the run in the middle.
    pub(crate) command: &'a [String],
    /// The file name of the program.
    pub(crate) program: &'a str,
    /// The wall time of each run, shortest first.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub(crate) walls_ns: Vec<u64>,
    /// Working threads at once, of the run in the middle: what its costs are divided by.
    pub(crate) workers: u32,
    /// Threads of the run in the middle.
    pub(crate) threads: usize,
    /// The mean efficiency.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) efficiency: f64,
    /// The mean number of active threads.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Contribution<'a> {
    /// Which part of the wall time: useful, unexplained, or a kind of finding, as in the cost identity of a report.
    pub(crate) class: &'static str,
    pub(crate) cost: ChangeOfTime,
    /// What the part consists of, the greatest differences first.
    pub(crate) causes: Vec<Cause<'a>>,
    /// What the differences of the causes leave of the part's difference; 0 without causes.
    pub(crate) rest_ns: i64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cause<'a> {
    /// A finding's heading, or for the class useful a function.
    pub(crate) what: &'a str,
    #[serde(with = "PresenceWord")]
    pub(crate) presence: Presence,
    pub(crate) cost: ChangeOfTime,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Scaling {
    /// The mean wall time before over that after.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) speedup: f64,
    /// The speedup times the working threads before, divided by those after.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) efficiency: f64,
    /// The wall time at an efficiency of 1.
    pub(crate) ideal_ns: u64,
    /// CPU time of all threads together; not scaled: what it grows by is work that the threads add. Null where a run does
    /// not tell.
    pub(crate) cpu: Option<ChangeOfTime>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Surrounding<'a> {
    /// What differs.
    pub(crate) what: &'static str,
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
    /// Whether it makes times hard to compare: another machine, other limits.
    pub(crate) hinders: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Presence", rename_all = "snake_case")]
pub(crate) enum PresenceWord {
    /// On both sides.
    Both,
    /// Only after.
    New,
    /// Only before.
    Gone,
}

/// What changed of a time.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChangeOfTime {
    /// The mean before.
    before_ns: i64,
    /// The mean after.
    after_ns: i64,
    /// The mean after less that before.
    difference_ns: i64,
    /// The low end of the 95 % interval of the difference (Welch's t-test); null with one run on each side.
    low_ns: Option<i64>,
    /// Its high end.
    high_ns: Option<i64>,
    /// Whether the interval leaves out 0; null without an interval.
    beyond_noise: Option<bool>,
}

/// What changed of a number of things.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChangeOfNumber {
    before: i64,
    after: i64,
    difference: i64,
    low: Option<i64>,
    high: Option<i64>,
    beyond_noise: Option<bool>,
}

impl From<Change> for ChangeOfTime {
    fn from(change: Change) -> Self {
        Self {
            before_ns: change.before,
            after_ns: change.after,
            difference_ns: change.difference,
            low_ns: change.interval.map(|(low, _)| low),
            high_ns: change.interval.map(|(_, high)| high),
            beyond_noise: change.is_beyond_noise(),
        }
    }
}

impl From<Change> for ChangeOfNumber {
    fn from(change: Change) -> Self {
        Self {
            before: change.before,
            after: change.after,
            difference: change.difference,
            low: change.interval.map(|(low, _)| low),
            high: change.interval.map(|(_, high)| high),
            beyond_noise: change.is_beyond_noise(),
        }
    }
}

/// One thing, and what changed of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "RowOf{C}"))]
pub(crate) struct Row<'a, C> {
    /// The sort of thing: mutex, imbalance, thread, work.
    pub(crate) kind: &'static str,
    /// What it is called; as after where it is there.
    pub(crate) what: &'a str,
    #[serde(with = "PresenceWord")]
    pub(crate) presence: Presence,
    /// In how many runs before it is.
    pub(crate) runs_before: usize,
    /// In how many runs after it is.
    pub(crate) runs_after: usize,
    pub(crate) where_before: Place,
    pub(crate) where_after: Place,
    #[serde(flatten)]
    pub(crate) changes: C,
}

/// What changed of a row, in the order of its measures.
pub(crate) struct Changes<'a> {
    pub(crate) measures: &'static [Measure],
    pub(crate) of: &'a [Option<Change>],
}

impl Changes<'_> {
    /// What changed of the measure of this name; none where a run does not tell.
    fn get<T: From<Change>>(&self, word: &str) -> Option<T> {
        let at = self.measures.iter().position(|measure| measure.word == word)?;
        self.of.get(at).copied().flatten().map(T::from)
    }
}

/// What changed of the things of one sort.
pub(crate) trait OfSubject {
    /// Which sort.
    const SUBJECT: Subject;

    fn of(changes: &Changes<'_>) -> Self;
}

/// A type for the changes of each sort of thing. The members are the words of its measures.
macro_rules! subjects {
    ($($name:ident { $($(#[$text:meta])* $member:ident: $change:ident,)* })*) => {
        $(
            #[derive(Serialize)]
            #[cfg_attr(test, derive(schemars::JsonSchema))]
            pub(crate) struct $name {
                $($(#[$text])* $member: Option<$change>,)*
            }

            impl OfSubject for $name {
                const SUBJECT: Subject = Subject::$name;

                fn of(changes: &Changes<'_>) -> Self {
                    Self { $($member: changes.get(stringify!($member)),)* }
                }
            }
        )*
    };
}

subjects! {
    Findings {
        /// Null where a run does not tell.
        cost: ChangeOfTime,
        /// What a replay says that fixing it saves; null where a run does not tell.
        gain: ChangeOfTime,
    }
    Objects {
        /// Null where a run does not tell, as all of these.
        cost: ChangeOfTime,
        wait: ChangeOfTime,
        waits: ChangeOfNumber,
        acquisitions: ChangeOfNumber,
        hold: ChangeOfTime,
    }
    Sites {
        /// Null where a run does not tell.
        wait: ChangeOfTime,
        /// Null where a run does not tell.
        call: ChangeOfTime,
    }
    Threads {
        /// Null where a run does not tell, as all of these.
        criticality: ChangeOfTime,
        active: ChangeOfTime,
        waiting: ChangeOfTime,
        cpu: ChangeOfTime,
        threads: ChangeOfNumber,
    }
    Labels {
        /// Time in it, all threads added up; null where a run does not tell.
        time: ChangeOfTime,
        /// How often it began; null where a run does not tell.
        times: ChangeOfNumber,
    }
    Functions {
        /// Null where a run does not tell.
        critical: ChangeOfTime,
        /// Null where a run does not tell.
        active: ChangeOfTime,
    }
}

#[cfg(test)]
mod tests {
    use holdup_compare::Counted;
    use serde_json::Value;

    use super::*;

    fn has_all<C: OfSubject + Serialize>() {
        let change = Change { before: 1, after: 2, difference: 1, interval: None };
        let measures = C::SUBJECT.measures();
        let of = C::of(&Changes { measures, of: &vec![Some(change); measures.len()] });
        let told = serde_json::to_value(of).expect("JSON");
        assert_eq!(told.as_object().map(serde_json::Map::len), Some(measures.len()), "{told}");
        for measure in measures {
            let member = match measure.counted {
                Counted::Nanos => "difference_ns",
                Counted::Number => "difference",
            };
            assert_eq!(told[measure.word][member], Value::from(1), "{:?} {}", C::SUBJECT, measure.word);
        }
    }

    #[test]
    fn every_measure_has_its_member() {
        has_all::<Findings>();
        has_all::<Objects>();
        has_all::<Sites>();
        has_all::<Threads>();
        has_all::<Labels>();
        has_all::<Functions>();
    }
}
