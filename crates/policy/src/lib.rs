//! Acting on criticality: which threads should be fast next, and what that costs in energy.
//!
//! Source: Du Bois, Eyerman, Sartor, Eeckhout, "Criticality Stacks", ISCA'13, sections 3.2, 5.2, 7 and 8
//! (`papers/4-criticality-stacks.txt`), in what follows "the paper".
//!
//! In reading order: what is computed while the program runs ([`CriticalityUnit`], [`WaitTable`]), what of it a policy is
//! shown ([`Slice`], [`Moment`]) and what it answers ([`Policy`]), the policies ([`Critical`] is the paper's Algorithm 1, the
//! others are what it is compared with), who asks them when ([`Governor`]), what a faster thread would give ([`Prospects`]), and [`energy`].
//!
//! Nothing here does I/O, reads a clock or knows what a core is. Whoever calls tells the time, in units of their own (a
//! simulator in cycles of its base clock, a live one in nanoseconds): "ticks" here. The paper's timer, too, keeps absolute
//! time, whatever the frequency of a core.

#![forbid(unsafe_code)]

mod bottlenecks;
mod choice;
mod critical;
mod criticality;
pub mod energy;
mod governor;
mod policy;
mod prospects;
mod ratio;
mod simple;
mod waiting;

pub use bottlenecks::Bottlenecks;
pub use choice::Choice;
pub use critical::{Alone, Critical, Rules, ScheduledOut};
pub use criticality::{Counters, CriticalityUnit, UnitWork};
pub use governor::{Change, Governor, Record, SliceRecord, Span};
pub use policy::{Moment, Policy, Slice, ThreadSlice};
pub use prospects::{Prospect, Prospects};
pub use ratio::Ratio;
pub use simple::{All, CacheMisses, Chosen, Weights, best_single, most};
pub use waiting::{Bottleneck, WaitTable};
