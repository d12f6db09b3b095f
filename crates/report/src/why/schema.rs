//! The shape of `holdup why --json`, schema 1; `docs/json-schema/why.schema.json` is made of it.

use holdup_imbalance::{CauseKind, Verdict};
use holdup_model::counts::{CountSource, SectionKind, TimeUnit};
use serde::Serialize;

use super::removed;
use crate::schema::{Amount, Place};

/// The version of the JSON that [`why_json`](crate::why_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const WHY_SCHEMA: u32 = 1;

/// What makes threads unequal, parallel section by parallel section. Schema 1: members may be added, none is taken away
/// and none changes its meaning. Members whose name ends in _ns are whole nanoseconds; idle and time are whole numbers in
/// the unit that time_unit names; shares are numbers from 0 to 1 where nothing else is said. Numbers that could not be
/// computed are null. Names of functions, files, threads and objects, and the command, are as the program gave them:
/// escape them where they are shown. In sentences they are escaped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup why --json"))]
pub(crate) struct Why<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = WHY_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    pub(crate) run: RunFacts<'a>,
    pub(crate) method: MethodFacts,
    /// What idle and time are in.
    #[serde(with = "TimeUnitWord")]
    pub(crate) time_unit: TimeUnit,
    /// Parallel sections, the one with the most idle time first.
    pub(crate) sections: Vec<Section<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunFacts<'a> {
    /// The command that was run; empty where it is not known.
    pub(crate) command: &'a [String],
    /// Wall time of the native run; null without one.
    pub(crate) wall_ns: Option<u64>,
    /// Who counted.
    #[serde(with = "SourceWord")]
    pub(crate) source: CountSource,
    /// The threads that were counted.
    pub(crate) threads: Vec<CountedThread<'a>>,
    /// What a reader must know to trust the numbers, as sentences.
    pub(crate) warnings: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CountedThread<'a> {
    /// The thread's number, as in holdup report --json.
    pub(crate) thread: u32,
    /// Its name.
    pub(crate) name: Option<&'a str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "CountSource", rename_all = "kebab-case")]
pub(crate) enum SourceWord {
    /// An emulator.
    Emulated,
    /// The program itself.
    Instrumented,
    /// Another tool.
    Text,
    /// A simulator.
    Simulated,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "TimeUnit", rename_all = "kebab-case")]
pub(crate) enum TimeUnitWord {
    /// Executed instructions stand for time where the program was emulated.
    Instructions,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// Simulated cycles.
    Cycles,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MethodFacts {
    /// paper: the published method, each instance by itself. stacked: the corrected one, which stacks instances.
    #[cfg_attr(test, schemars(extend("enum" = methods())))]
    pub(crate) name: &'static str,
    /// Events whose counts correlate by this or more are clustered.
    pub(crate) threshold: Amount,
    /// The range of thresholds at which it was tried whether a cause is found too.
    pub(crate) tried_thresholds: [Amount; 2],
    /// Causes with a lower score are left out.
    pub(crate) least_score: Amount,
    /// How often the bootstrap drew; 0 where there are no intervals.
    pub(crate) draws: u32,
}

#[cfg(test)]
fn methods() -> [&'static str; 2] {
    use holdup_imbalance::Method::{Paper, Stacked};
    [Paper, Stacked].map(super::words::method)
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Section<'a> {
    /// What ends the section.
    #[serde(with = "SectionWord")]
    pub(crate) kind: SectionKind,
    /// The name of the barrier or region that ends it, if it has one.
    pub(crate) name: Option<&'a str>,
    /// Where it ends.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// Where it begins.
    pub(crate) begin: Begin<'a>,
    /// How often it was executed.
    pub(crate) instances: u32,
    /// The threads that took part, by number. time, counts and native.time_ns have a number for each, in this order.
    pub(crate) threads: &'a [u32],
    /// How many took part in the largest instance.
    pub(crate) most_threads: u32,
    /// Sum of idle time / sum of (threads times longest), over all instances: the average share of its time that a thread
    /// idles.
    pub(crate) imbalance: Amount,
    /// (longest - shortest) / longest, the mean over instances weighted by idle time.
    pub(crate) spread: Amount,
    /// The same of times that were measured natively; null without such a run.
    pub(crate) native: Option<Native>,
    /// Idle time of all instances: sum over threads of longest - own.
    pub(crate) idle: u64,
    /// The share of that of all sections.
    pub(crate) share: Amount,
    /// The same as a share of what all threads have of all sections, the sum of (threads times longest): what it costs.
    pub(crate) cost: Amount,
    /// The instance with the most idle time; null where there is none.
    pub(crate) worst_instance: Option<WorstInstance<'a>>,
    /// Time of each thread, summed over instances.
    pub(crate) time: &'a [u64],
    /// The share of the variance of time, within instances, that goes through the causes: the sum of their charges.
    pub(crate) explained: Amount,
    /// 1 - explained.
    pub(crate) unexplained: Amount,
    /// What can be said.
    #[serde(with = "VerdictWord")]
    pub(crate) verdict: Verdict,
    /// What is said of the section in words.
    pub(crate) sentences: Vec<String>,
    /// How much of the imbalance is gone without causes (holdup why --simulate); null where that was not simulated.
    pub(crate) removed: Option<Vec<Step>>,
    /// Why the counts are those of one order of many, if they are.
    pub(crate) depends_on_schedule: Option<&'a str>,
    /// Units of work that were dealt out anew, evenly by time, before looking for causes.
    pub(crate) dealt_units: u64,
    /// The causes, the first to look at first.
    pub(crate) causes: Vec<Cause<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "SectionKind", rename_all = "kebab-case")]
pub(crate) enum SectionWord {
    Barrier,
    ConditionBarrier,
    Join,
    TeamBarrier,
    Region,
    Other,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin<'a> {
    pub(crate) name: Option<&'a str>,
    #[serde(rename = "where")]
    pub(crate) place: Place,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Verdict", rename_all = "kebab-case")]
pub(crate) enum VerdictWord {
    /// Causes were found.
    Found,
    /// There is no imbalance.
    Balanced,
    /// Threads execute equally and differ natively.
    ExecuteEqually,
    /// Nothing goes with the imbalance more than chance would.
    Unexplained,
    /// Too few threads for statistics.
    TooFewThreads,
    /// One thread alone.
    OneThread,
    /// The code that differs was made at run time.
    GeneratedCode,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Native {
    pub(crate) imbalance: Amount,
    pub(crate) spread: Amount,
    /// What the longest thread takes more than the shortest, in the mean of instances.
    pub(crate) difference_ns: u64,
    /// How it is known which thread of the native run is which.
    pub(crate) matched_by: MatchedBy,
    /// Native time of each thread, summed over instances; empty where it is not known which is which.
    pub(crate) time_ns: Vec<u64>,
    /// Squared correlation of native times with executed instructions, within instances; null where either is constant, where
    /// threads differ by less than meeting itself takes, and where it is not known which is which.
    pub(crate) by_instructions: Option<Amount>,
}

/// The instance of a section with the most idle time.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WorstInstance<'a> {
    /// Its number in the order of time, from 1.
    pub(crate) number: u32,
    /// Its share of the section's idle time.
    pub(crate) share: Amount,
    /// Time of each thread in it, in the order of the section's threads; 0 for those that did not take part.
    pub(crate) time: &'a [u64],
}

/// How it is known which thread of the native run is which.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MatchedBy {
    /// They began in the same order.
    Order,
    /// Where one executes much, the other takes long.
    Behaviour,
    /// It is not known.
    Unknown,
}

/// What a simulation without some causes gave.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Step {
    /// What was taken away in the simulation.
    pub(crate) without: removed::Without,
    /// Idle time that stays.
    pub(crate) idle: u64,
    /// The share of the section's idle time that is gone; negative where there is more.
    pub(crate) removed: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cause<'a> {
    /// What makes threads unequal.
    pub(crate) kind: CauseClass,
    /// The same in more detail.
    #[serde(with = "CauseWord")]
    pub(crate) what: CauseKind,
    /// The line to look at: the branch's, call's, loop's or instruction's.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// The same place with the functions that it was inlined into, innermost first.
    pub(crate) inlined: Vec<Place>,
    /// Where control goes for more of the imbalance.
    pub(crate) to: Option<Place>,
    /// Where a loop goes on or ends, if the cause is its number of turns.
    pub(crate) latch: Option<Place>,
    /// The cause in words.
    pub(crate) sentence: String,
    /// Beta times leader score (paper 2, equations 1 and 2); with the published method it may exceed 1. Null where there
    /// are too few threads for statistics.
    pub(crate) score: Option<Amount>,
    /// The exact share of the variance of time that goes through it. Charges add up; one may be negative.
    pub(crate) charge: Amount,
    /// 95 % interval of the score, by resampling threads.
    pub(crate) interval: Option<[Amount; 2]>,
    /// The lowest and highest of the tried thresholds at which this cause is found.
    pub(crate) stable: Option<[Amount; 2]>,
    /// In how many of the section's instances it was found.
    pub(crate) instances: u32,
    /// How often each of the section's threads took the leader's edge, summed over instances.
    pub(crate) counts: &'a [u64],
    /// It goes with the cause, with hardly any instructions behind it, and is not the cause.
    pub(crate) minor: bool,
    /// Source lines and deciding instruction disagree: optimised code. Look at listing.
    pub(crate) misplaced: bool,
    /// The instructions at the end of the block that decides.
    pub(crate) listing: Vec<Instruction<'a>>,
}

/// What has to be changed: a program's control flow, or its use of the machine.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CauseClass {
    ControlFlow,
    Library,
    CacheMiss,
    TlbMiss,
    BranchMiss,
    Queueing,
}

impl From<CauseKind> for CauseClass {
    fn from(kind: CauseKind) -> Self {
        match kind {
            CauseKind::Branch
            | CauseKind::Loop
            | CauseKind::Call
            | CauseKind::Recursion
            | CauseKind::Wait
            | CauseKind::Start => Self::ControlFlow,
            CauseKind::Library => Self::Library,
            CauseKind::CacheMiss => Self::CacheMiss,
            CauseKind::TlbMiss => Self::TlbMiss,
            CauseKind::BranchMiss => Self::BranchMiss,
            CauseKind::Queueing => Self::Queueing,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "CauseKind", rename_all = "kebab-case")]
pub(crate) enum CauseWord {
    /// Threads take a branch differently often.
    Branch,
    /// They differ in the turns of a loop.
    Loop,
    /// They make a call differently often.
    Call,
    /// A recursion goes on for differently long.
    Recursion,
    /// They go on from code that waits, for work to take as a rule, differently often.
    Wait,
    /// They begin at different code.
    Start,
    /// A library takes differently long for the same calls.
    Library,
    /// Accesses miss a cache differently often.
    CacheMiss,
    /// Accesses miss the buffer of address translations differently often.
    TlbMiss,
    /// Branches are mispredicted differently often.
    BranchMiss,
    /// Accesses queue at shared resources for differently long.
    Queueing,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Instruction<'a> {
    pub(crate) address: u64,
    pub(crate) text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::words;

    #[derive(Serialize)]
    struct Told(#[serde(with = "CauseWord")] CauseKind);

    #[test]
    fn causes_have_the_words_that_sentences_have() {
        use CauseKind::*;
        for kind in
            [Branch, Loop, Call, Recursion, Wait, Start, Library, CacheMiss, TlbMiss, BranchMiss, Queueing]
        {
            let told = serde_json::to_value(Told(kind)).expect("JSON");
            assert_eq!(told, words::cause_word(kind).replace(' ', "-").to_lowercase());
        }
    }
}
