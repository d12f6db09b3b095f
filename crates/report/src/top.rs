//! A line of `holdup top --json`: what threads did in an interval. The command fills it; its shape stands here, with those
//! of the other answers.

use serde::Serialize;

/// The version of [`Line`]. It grows only where a member changes its meaning; members may be added at any time.
pub const TOP_SCHEMA: u32 = 1;

/// One line: an interval, and all processes and threads that are followed.
#[derive(Serialize, Clone, PartialEq, Debug)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(title = "A line of holdup top --json", extend("additionalProperties" = false))
)]
pub struct Line<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = TOP_SCHEMA)))]
    pub schema: u32,
    /// Time since holdup began to follow the program.
    pub age_ns: u64,
    /// The time that this line is of: since the line before.
    pub span_ns: u64,
    /// CPU time that holdup itself has used since it follows the program.
    pub own_cpu_ns: u64,
    /// Where the figures come from: docs/top.md.
    pub source: Source,
    /// The figures are estimated by looks.
    pub estimate: bool,
    /// What was followed has ended: the last line.
    pub ended: bool,
    /// What is followed.
    pub processes: Vec<Process<'a>>,
    /// In the order of --sort.
    pub threads: Vec<Thread<'a>>,
}

/// Where figures come from.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The library inside the program tells.
    Library,
    /// The kernel's context switches.
    Switches,
    /// Looks at what threads do, from time to time.
    Looks,
}

/// A process that is followed.
#[derive(Serialize, Clone, PartialEq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("additionalProperties" = false)))]
pub struct Process<'a> {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub name: &'a str,
    /// It has ended, or executed another program.
    pub ended: bool,
    /// Average number of active threads in the span.
    pub active: f64,
    /// Share of the span in which no thread was active.
    pub nobody_share: f64,
}

/// A thread of it.
#[derive(Serialize, Clone, PartialEq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("additionalProperties" = false)))]
pub struct Thread<'a> {
    /// The id of its process.
    pub pid: u32,
    /// Kernel id; 0 for ended threads that are told of together.
    pub tid: u32,
    /// Its number in the process, which is not used again; 4294967295 for ended threads that are told of together.
    pub number: u32,
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub state: State,
    /// What it waits for, where that is known.
    pub waits_for: Option<&'a str>,
    /// Criticality in the span / the span, 0 to 1.
    pub criticality_share: f64,
    /// Criticality since the process has been followed / that time.
    pub criticality_share_of_all: f64,
    /// Share of the span in which it was active.
    pub active_share: f64,
    /// How often it became active or ceased to be, in the span.
    pub changes_per_second: f64,
    /// Criticality since the process has been followed.
    pub criticality_ns: u64,
    /// Active time since the process has been followed.
    pub active_ns: u64,
    /// Changes since the process has been followed.
    pub changes: u64,
}

/// What a thread does.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It works.
    Active,
    /// It waits.
    Waits,
    /// It has ended.
    Ended,
}
