//! Where the cycles of a simulated run went, and what to make of it.
//!
//! A simulation books each cycle of each thread to one component ([`CycleStack`]). From that come, in reading order: the
//! stacks of groups of threads that do the same ([`aggregate`]; paper 3, section 2.3), of functions and source lines
//! ([`by_line`], [`by_function`]), cache lines that are shared in vain ([`false_sharing`]), and the components by which more
//! cores are not worth what they should be ([`growth`]).
//!
//! ```
//! use holdup_cycles::{CycleNames, aggregate};
//! use holdup_model::cycles::{CycleComponent, CycleStack, Simulated, SimulatedThread};
//!
//! let mut stack = CycleStack::default();
//! stack.book(CycleComponent::MemDram, 60);
//! stack.book(CycleComponent::SyncBarrier, 40);
//! let threads = vec![SimulatedThread { stack, instructions: 50, ..SimulatedThread::default() }];
//! let told = aggregate(&Simulated { cycles: 100, threads, ..Simulated::default() }, &CycleNames::default());
//! assert_eq!(told.stack.get(CycleComponent::MemDram), 60);
//! ```

#![forbid(unsafe_code)]

mod groups;
mod growth;
mod places;
mod sharing;

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Frame;
use holdup_model::counts::{SectionKind, SectionPlace};
use holdup_model::cycles::{CycleStack, Simulated};

pub use groups::{Aggregate, GroupKind, ThreadGroup, aggregate};
pub use growth::{Growth, growth};
pub use places::{PlaceCycles, by_function, by_line};
pub use sharing::{FalseSharing, SharedBytes, false_sharing, shared_bytes};

/// What addresses of a simulated program are called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CycleNames {
    /// Frames of an instruction, innermost first, by its address in the recorded process.
    pub code: BTreeMap<u64, Vec<Frame>>,
    /// Variables, by the address of a byte of them.
    pub data: BTreeMap<u64, Variable>,
}

impl CycleNames {
    /// The frame of an instruction that a person wrote, else its innermost one.
    pub fn place(&self, address: u64) -> Option<&Frame> {
        Frame::place_of(self.code.get(&address)?)
    }
}

/// A variable, and the part of it that an address is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable {
    /// Its name; hostile.
    pub name: String,
    /// The part: `[2].lock`, `+0x40`; empty for its beginning. Hostile.
    pub part: String,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// The file name of the program or library that has it. Hostile.
    pub module: String,
    /// The source file of its declaration. Hostile.
    pub file: Option<String>,
    /// The line of its declaration.
    pub line: Option<u32>,
}

/// Where the cycles of a parallel section went: of what its threads did in it, in all its instances.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionCycles {
    /// What ends it.
    pub kind: SectionKind,
    /// Where it ends.
    pub end: SectionPlace,
    /// Where it begins.
    pub begin: SectionPlace,
    /// How often it was executed.
    pub instances: u32,
    /// Instructions of all threads in it.
    pub instructions: u64,
    /// Their cycles.
    pub stack: CycleStack,
}

/// Addresses of code that need a name where these simulations are told of.
pub fn code_addresses<'a>(runs: impl IntoIterator<Item = &'a Simulated>) -> BTreeSet<u64> {
    let mut addresses = BTreeSet::new();
    for run in runs {
        addresses.extend(run.threads.iter().map(|thread| thread.entry).filter(|entry| *entry != 0));
        addresses.extend(run.places.iter().map(|place| place.address));
        for user in run.shared_lines.iter().flat_map(|line| &line.users) {
            addresses.extend(&user.instructions);
        }
    }
    addresses
}

/// Addresses of bytes whose variables need a name: those of shared lines that were used.
pub fn data_addresses<'a>(runs: impl IntoIterator<Item = &'a Simulated>) -> BTreeSet<u64> {
    let mut addresses = BTreeSet::new();
    for line in runs.into_iter().flat_map(|run| &run.shared_lines) {
        let used = line.users.iter().fold(0, |used, user| used | user.reads | user.writes);
        addresses.extend(sharing::bits(used).map(|byte| line.address.wrapping_add(byte)));
    }
    addresses
}
