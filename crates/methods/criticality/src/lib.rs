//! What holds a threaded program up: criticality stacks, and what each wait comes from (paper 4: *Criticality Stacks:
//! Identifying Critical Threads in Parallel Programs using Synchronization Behavior*).
//!
//! [`diagnose`] takes a process of a [`holdup_model::Run`] and gives a [`Diagnosis`]: the criticality of each
//! thread, what each lock, barrier and other object cost and who was waited for, the critical path, and
//! [`Finding`]s, which say what to fix. Everything that holdup shows comes from this one value.
//!
//! ```
//! use holdup_model::{Process, Run, Time};
//!
//! let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
//! process.add_thread("main", Time::from_nanos(0), None);
//! let run = Run { processes: vec![process], cores: 2, ..Run::default() };
//! let diagnosis = holdup_criticality::diagnose(&run, 0);
//! assert_eq!(diagnosis.criticality.threads, [100.0]);
//! assert!(diagnosis.findings.is_empty());
//! ```
//!
//! The steps, in reading order: who held which lock when (`holders`), the pass over all state changes that charges each wait to what it comes from (`blame`), the sums of that
//! by object (`objects`), chain (`chains`) and class of loss (`losses`), why cores were scarce (`scarcity`), the critical
//! path (`path`), what samples stand for (`samples`), the lines and functions at work (`hot`), the course of the run
//! (`over_time`), [`criticality`] and [`bottle_graph`], the words for it (`findings`), and what else the environment did
//! (`environment`). A run of many processes is one program to [`ProcessTree`] (`tree`).
//!
//! Nothing here does I/O, reads a clock, or depends on the order of a hash map or of the recorded columns.

#![forbid(unsafe_code)]

mod diagnosis;

mod blame;
mod bottle;
mod chains;
mod criticality;
mod diagnose;
mod environment;
mod finding_kind;
mod findings;
mod gains;
mod holders;
mod hot;
mod losses;
mod note;
mod objects;
mod over_time;
mod path;
mod ranks;
mod repeats;
mod samples;
mod scarcity;
mod shared_lines;
mod sweep;
mod tree;
mod wording;

pub use bottle::bottle_graph;
pub use chains::MOST_CHAINS;
pub use criticality::{OnlineCriticality, criticality};
pub use diagnose::diagnose;
pub use diagnosis::{
    Bottle, Chain, ChainLink, CostIdentity, CriticalPath, Criticality, Curve, CurvePoint, Diagnosis,
    FamilyCost, Finding, Gain, HoldTime, HolderShare, HotSpot, HotSpots, NobodyCause, ObjectCost, OverTime,
    PathPiece, PathStep, Phase, Slice, WaiterShare, WhatIf,
};
pub use finding_kind::FindingKind;
pub use findings::LEAST_SHARE;
pub use gains::{Depth, predict_gains};
pub use hot::MOST_HOT_SPOTS;
pub use note::{EnvironmentNote, NoteKind};
pub use over_time::MOST_THREADS_OF_A_PHASE;
pub use ranks::{Rank, Ranks};
pub use repeats::{Elsewhere, FindingRepeats, RunRepeats};
pub use tree::{Came, Forecast, Jobs, ProcessTree, ProgramShare, TreeStep};
