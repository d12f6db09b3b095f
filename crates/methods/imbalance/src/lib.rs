//! Which line introduces the imbalance: LIME (Oh, Hughes, Venkataramani, Prvulovic, ICSE 2011; "the paper" below).
//!
//! [`why`] takes [`Counts`] and gives a [`Why`]: for each static parallel section how much of its time threads idle, and
//! which branch, loop, call or memory access makes them unequal, each with a score, the exact share of the variance of
//! time that is decided there (the *charge*), and how sure that is.
//!
//! In reading order: the rows that statistics work on (`rows`), units of work dealt out anew (`deal`), the control flow
//! (`program`), hardware events without their superiors (`gram_schmidt`, section 3.1), events as columns (`events`), clusters
//! (`cluster`, 3.2), their kinds and leaders (`leaders`, 3.3 and 3.4), the regression (`regress`, 3.5), what a block is worth
//! (`worth`) and what it decides (`charge`), causes with their places (`causes`), how sure they are (`bootstrap`), the two
//! methods (`paper`, 3.6, and `stacked`), how unequal threads are (`measure`), and a section as a whole (`section`).

#![forbid(unsafe_code)]

mod bootstrap;
mod causes;
mod charge;
mod cluster;
mod copies;
mod deal;
mod events;
mod gram_schmidt;
mod leaders;
mod measure;
#[cfg(test)]
mod oracle;
mod paper;
mod program;
mod recursion;
mod regress;
mod rows;
mod section;
mod stacked;
mod worth;

use program::Program;
use section::look;

use holdup_model::counts::{BlockId, CountSource, Counts, NativeMatch, SectionKind, SectionPlace, TimeUnit};
use holdup_model::{Arrange, Frame, Nanos};

/// How to look for causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhyOptions {
    /// Which method.
    pub method: Method,
    /// Clustering stops when the largest correlation is below this (section 3.2).
    pub threshold: f64,
    /// Thresholds at which it is tried whether a cause is found too: the paper's 0.6 to 0.95.
    pub tried_thresholds: (f64, f64),
    /// Causes with a score below this are left out (section 5.2).
    pub least_score: f64,
    /// How many times the bootstrap draws; 0 for no intervals.
    pub draws: u32,
}

/// Which method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// As the paper's section 3 says, each dynamic instance by itself.
    Paper,
    /// Fixed: instances stacked, selection bounded, the charge as the judge.
    #[default]
    Stacked,
}

/// What makes threads unequal.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// How it was looked for.
    pub options: WhyOptions,
    /// Who counted.
    pub source: CountSource,
    /// What times are in.
    pub time_unit: TimeUnit,
    /// The sections, the one with the most idle time first.
    pub sections: Vec<SectionWhy>,
    /// What the reader must know, a sentence each.
    pub warnings: Vec<String>,
}

/// One static section.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionWhy {
    /// What ends it.
    pub kind: SectionKind,
    /// Where it ends.
    pub end: SectionPlace,
    /// Where it begins.
    pub begin: SectionPlace,
    /// How many dynamic instances there were.
    pub instances: u32,
    /// How many threads the largest of them had.
    pub threads: u32,
    /// Σ idle / Σ (threads × longest) over all instances: the average share of its time that a thread idles (Table 1).
    pub imbalance: f64,
    /// (longest − shortest) / longest, the mean over instances weighted by their idle time.
    pub spread: f64,
    /// The same two of the times measured natively, where there are any.
    pub native: Option<NativeImbalance>,
    /// Idle time of all instances, Σ_t (longest − t), in the unit of time: the weight of the section.
    pub idle: u64,
    /// The instance with the most idle time; `None` without any.
    pub worst: Option<WorstInstance>,
    /// The time that its threads have for it: Σ (threads × longest) of all instances.
    pub capacity: u64,
    /// This section's idle time as a share of that of all sections.
    pub share: f64,
    /// The same as a share of the time that all threads have in all sections, Σ (threads × longest): what the section's
    /// imbalance costs.
    pub cost: f64,
    /// Rows of the per-thread figures: thread numbers, in order.
    pub thread_numbers: Vec<u32>,
    /// Time of each of these threads, summed over instances.
    pub time: Vec<u64>,
    /// Share of the variance of time (within instances) that the causes shown account for: Σ of their charges.
    pub explained: f64,
    /// 1 − `explained`.
    pub unexplained: f64,
    /// The causes, the first to look at first.
    pub causes: Vec<Cause>,
    /// Why there are none, or how much those there are can be trusted.
    pub verdict: Verdict,
    /// Why the counts are those of one order of many, if they are.
    pub depends_on_schedule: Option<String>,
    /// How many units of work were dealt out anew, evenly by time, before looking for causes; 0 if there were none.
    pub dealt_units: u64,
}

/// The instance of a section with the most idle time, of equals the first.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstInstance {
    /// Its number in the order of time, from 1.
    pub number: u32,
    /// Its share of the section's idle time.
    pub share: f64,
    /// Time of each thread of [`SectionWhy::thread_numbers`] in it; 0 for those that did not take part.
    pub time: Vec<u64>,
}

/// Imbalance of the times measured natively.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeImbalance {
    /// As [`SectionWhy::imbalance`].
    pub imbalance: f64,
    /// As [`SectionWhy::spread`].
    pub spread: f64,
    /// What the longest thread takes more than the shortest, in the mean of instances.
    pub difference: Nanos,
    /// How it is known which thread is which.
    pub matched: NativeMatch,
    /// Native time of each thread of [`SectionWhy::thread_numbers`]; empty where it is not known which thread is which.
    pub time: Vec<Nanos>,
    /// Squared correlation of native times with executed instructions, within instances: the share of the imbalance in
    /// time that unequal execution explains. `None` where either is constant, where it is not known which thread is which, or
    /// where [`difference`](NativeImbalance::difference) is [too small](NativeImbalance::is_little).
    pub by_instructions: Option<f64>,
}

impl SectionWhy {
    /// Share of its time that a thread would idle on average if all instances were one: less than
    /// [`imbalance`](SectionWhy::imbalance) where not the same threads are late in each.
    pub fn imbalance_of_sums(&self) -> f64 {
        let longest = self.time.iter().copied().max().unwrap_or(0) as f64;
        let mean = self.time.iter().map(|time| *time as f64).sum::<f64>() / self.time.len().max(1) as f64;
        if longest > 0.0 { 1.0 - mean / longest } else { 0.0 }
    }
}

impl NativeImbalance {
    /// What meeting itself takes, differently from thread to thread: differences below this say nothing of sections. Threads that
    /// do nothing between two barriers took 2 to 7 µs of CPU time for it, in programs of 8 threads on 2 cores.
    pub const MEETING: Nanos = Nanos::new(20_000);

    /// True if the differences between threads are too small to say anything of the section.
    pub fn is_little(&self) -> bool {
        self.difference < Self::MEETING
    }
}

/// What can be said of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Causes were found.
    Found,
    /// Threads idle for less than 1 %: there is nothing to find.
    Balanced,
    /// Threads execute equally, but natively take differently long: caches, memory or the machine, not control flow.
    ExecuteEqually,
    /// There is imbalance, and no control flow that is related to it more than chance would be.
    Unexplained,
    /// Fewer than four rows: no statistics are possible; the exact charge alone is shown.
    TooFewThreads,
    /// One thread alone: not a parallel section.
    OneThread,
    /// The code that differs was made at run time, and has no name here.
    GeneratedCode,
}

/// A cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// What it is.
    pub kind: CauseKind,
    /// The leader: the block whose last instruction decides. For hardware events the block of the instruction.
    pub leader: Option<BlockId>,
    /// Where control goes for more of the imbalance.
    pub target: Option<BlockId>,
    /// The place to show: the branch's, the call's, the loop's or the instruction's; innermost frame first.
    pub at: Vec<Frame>,
    /// The target's place.
    pub to: Vec<Frame>,
    /// Where a loop goes on or ends, if the cause is its number of turns.
    pub latch: Option<Vec<Frame>>,
    /// β · s (Eq. 1 and 2), averaged over instances by their idle time with [`Method::Paper`].
    pub score: f64,
    /// The exact share of the variance of time that goes through it.
    pub charge: f64,
    /// 95 % interval of the score, by resampling threads; `None` where it was not asked for or cannot be had.
    pub interval: Option<(f64, f64)>,
    /// The lowest and highest threshold of those tried at which this cause is found.
    pub stable: Option<(f64, f64)>,
    /// In how many of the section's instances it was found ([`Method::Paper`]); all of them when stacked.
    pub instances: u32,
    /// How often each thread of [`SectionWhy::thread_numbers`] took the leader's edge, summed over instances.
    pub counts: Vec<u64>,
    /// Score above the limit but hardly any instructions behind it: correlated with the cause, not the cause.
    pub minor: bool,
    /// The instructions at the end of the leader, where source and binary may disagree: (address, text).
    pub listing: Vec<(u64, String)>,
    /// True if the source lines of the block disagree with where its deciding instruction says it is: optimised code.
    pub misplaced: bool,
    /// True for a loop whose charge is that of its nest: what is in it, or around it, makes up for what it decides beyond all.
    pub with_nest: bool,
}

/// What a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseKind {
    /// Threads take a branch differently often.
    Branch,
    /// They take different numbers of turns through a loop.
    Loop,
    /// They call differently often, or different functions.
    Call,
    /// They recurse differently deep or often.
    Recursion,
    /// They go on from code that waits differently often: each has as much to do as it finds there.
    Wait,
    /// They begin at different code.
    Start,
    /// A call into a library takes differently long for the same number of calls.
    Library,
    /// Caches miss differently often.
    CacheMiss,
    /// Translation buffers miss differently often.
    TlbMiss,
    /// Branches are mispredicted differently often.
    BranchMiss,
    /// They queue differently long at a shared resource.
    Queueing,
}

impl WhyOptions {
    /// What is used where nobody asks for something else.
    pub const DEFAULT: WhyOptions = WhyOptions {
        method: Method::Stacked,
        threshold: 0.9,
        tried_thresholds: (0.6, 0.95),
        least_score: 0.1,
        draws: 200,
    };
}

impl Default for WhyOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Looks for what makes threads unequal.
pub fn why(counts: &Counts, options: &WhyOptions) -> Why {
    let program = Program::new(counts);
    let mut warnings = counts.warnings.clone();
    let mut sections: Vec<SectionWhy> = counts
        .sections
        .iter()
        .filter_map(|section| look(&program, section, options, &mut warnings))
        .collect();
    let idle = sections.iter().map(|section| section.idle as f64).sum::<f64>();
    let all: f64 = sections.iter().map(|section| section.capacity as f64).sum();
    for section in sections.iter_mut().filter(|_| idle > 0.0) {
        section.share = section.idle as f64 / idle;
        section.cost = section.idle as f64 / all;
    }
    sections.arrange_by_key(|section| std::cmp::Reverse(section.idle));
    Why { options: *options, source: counts.source, time_unit: counts.time_unit, sections, warnings }
}
