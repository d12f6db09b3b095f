//! Recorded loops and tasks, dealt out anew: what would another schedule, another chunk size, a cut-off or another number
//! of threads give?
//!
//! [`loops`] and [`task_graphs`] take whole instances of parallel regions apart: into [`RecordedLoop`]s, whose chunks are
//! known one by one, and [`TaskGraph`]s. [`redeal`] and [`reschedule`] do them again in virtual time and give a [`Redone`]:
//! the time they would take, beside that which they took and that which the unchanged ones take in virtual time. Of a
//! loop with a static schedule only what each thread did is known; [`balanced`] says what it could gain at the most,
//! and calls that a bound.
//!
//! What is assumed: an iteration costs the same whoever executes it and whenever (memory that is shared, nearer or
//! warmer is not modelled); iterations of one chunk cost the same as each other; getting a chunk and making a task cost
//! what they cost in the recording.
//!
//! In reading order: what a prediction is (`redone`), loops (`loops`, `deal`), tasks (`graph`, `takeapart`, `run`).

mod deal;
mod graph;
mod loops;
mod redone;
mod run;
mod takeapart;

pub use deal::{Schedule, balanced, redeal};
pub use graph::{TaskChange, TaskGraph};
pub use loops::{LoopChunk, RecordedLoop, loops};
pub use redone::Redone;
pub use run::reschedule;
pub use takeapart::task_graphs;
