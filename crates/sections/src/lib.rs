//! Where parallel sections begin and end, by one rule each, for all that tells or uses sections.
//!
//! Of streams of marks: [`Cut::at`] says what a mark means for the piece that the thread is in, and [`Looks`] tells a thread
//! that looks again at a condition from one that comes to it anew. Counts and simulations cut streams by these, so that a
//! piece has the same number in both. Which condition variables are barriers, `holdup_model::ConditionUse` says, for streams
//! and for timelines.
//!
//! Of timelines: [`main_of`] is the process of a run that is looked at, [`Working`] its threads that do the work,
//! [`Regions`] its parallel regions of OpenMP, and [`ForkJoin`] what other programs have in their place. A [`Place`] is
//! where one is, the same in all runs.

#![forbid(unsafe_code)]

mod cut;
mod fork_join;
mod late_looks;
mod looks;
mod main_process;
mod outside;
mod place;
mod regions;
mod tasks;
mod working;

pub use cut::{Boundary, Cut, is_barrier, is_dealt};
pub use fork_join::ForkJoin;
pub use late_looks::LateLooks;
pub use looks::Looks;
pub use main_process::{Main, has_failed, main_of};
pub use outside::Outside;
pub use place::Place;
pub use regions::{Regions, Standing, real_teams, time_of};
pub use tasks::{TaskSums, are_tiny, begins};
pub use working::{Working, is_joining};
