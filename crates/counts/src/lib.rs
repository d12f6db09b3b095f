//! How often did each thread do what in each parallel section?
//!
//! [`counts`] reads a recording of the instruction front-end and gives [`Counts`], which the analysis takes. The steps:
//! each thread's stream becomes its course, pieces between marks (`course`; from streams with blocks by the same rules as
//! the front-end's own counting: `replayed`); condition variables that are barriers are told from queues (`conditions`);
//! pieces that end together are an instance, instances with the same places a section (`sections`, `places`); the
//! emulator's blocks become basic blocks, and executions events (`events`); and it is looked whether the order in which
//! threads came to locks decided what they did (`schedule`). Sections that are reached along several paths are one (`paths`).
//!
//! [`simulated_counts`] has simulated cycles for times, and events of caches, branches and shared resources beside the edges.
//! [`add_native_times`] adds the times that the same sections took in an ordinary recording of the same program ([`add_own_times`]: of the same run), [`compare_schedules`] looks
//! whether another run of it deals the work out otherwise, and [`other_runs`] is what is kept of both.
//! [`text`] is the format by which other tools give counts.

#![forbid(unsafe_code)]

mod assignment;
mod conditions;
mod course;
mod error;
mod events;
mod meets;
mod native;
mod other_runs;
mod paths;
mod places;
mod replayed;
mod schedule;
mod sections;
mod simulated;
mod tally;

pub mod text;

mod counts;

pub use counts::counts;
pub use error::CountsError;
pub use native::{add_native_times, add_own_times};
pub use other_runs::{add_other_runs, other_runs};
pub use schedule::{compare_schedules, seems_to_depend};
pub use simulated::{SimulatedSection, simulated_counts, simulated_sections};

#[doc(inline)]
pub use holdup_model::counts::Counts;
