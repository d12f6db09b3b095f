//! A program's recorded instructions on a machine that the user need not own: where the cycles of each thread go.
//!
//! The simulator is an interval simulator (paper 3, sections 2.1 and 2.2). In reading order: what is simulated ([`Program`],
//! [`Feed`]), the machine ([`Machine`]), a core's time (`core`), its branch predictor (`branch`), the memory system
//! (`memory`), and threads on cores with their synchronization in simulated time (`system`).
//!
//! Nothing here does I/O or reads a clock, and the same input gives the same bytes.

#![forbid(unsafe_code)]

mod branch;
mod change;
mod collector;
mod core;
mod list;
pub mod machine;
mod memory;
mod padding;
mod prefetch;
mod program;
mod sample;
mod served;
mod system;
mod tlb;
mod touched;

pub use change::Changes;
pub use list::{ListFeed, OwnedItem};
pub use machine::{Machine, MachineError, class_by_name};
pub use memory::CacheModel;
pub use padding::Padding;
pub use program::{
    Access, Act, Block, Bookmark, CallWithin, Code, Exit, Feed, Instruction, Item, Program, Reason,
    SimThread, Skipped, Spun,
};
pub use sample::{Plan, simulate_sampled};
pub use served::Served;
pub use system::{Options, Progress, Steering, simulate};
