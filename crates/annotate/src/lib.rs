//! What can a Rust program tell holdup about itself?
//!
//! - [`region`] marks the part of the run that is of interest, until the guard that it gives is dropped.
//! - [`phase`] says that the process enters a phase, which lasts until the next one.
//! - [`work_unit`] marks a unit of work of this thread: a request, a tile, a document.
//! - [`spin`] marks a loop that waits. Without it such a loop looks like work.
//! - [`criticality`] and [`own_criticality`] say what threads have had of the process's time so far, under `holdup top` and
//!   `holdup steer`.
//! - [`is_recording`] is true while holdup records this process.
//!
//! Nothing has to be linked or enabled: holdup's preloaded library defines the functions behind these calls, and
//! they are looked for by name at the first call of each. Where they are not there, a call is one relaxed load.
//! A program that is linked statically is never entered by holdup, and there nothing is looked for.
//!
//! Labels are C strings, so that a call neither copies nor allocates; holdup stores at most their first 256
//! bytes. A call may be made from any thread, not from a signal handler.
//!
//! ```
//! let _region = holdup_annotate::region(c"solve");
//! for step in 0..2 {
//!     holdup_annotate::phase(if step == 0 { c"read" } else { c"compute" });
//!     let _tile = holdup_annotate::work_unit(c"tile");
//! }
//! assert!(!holdup_annotate::is_recording(), "nobody records a documentation test");
//! ```

mod calls;
mod criticality;
mod guards;

pub use calls::{is_recording, phase};
pub use criticality::{ThreadCriticality, criticality, own_criticality};
pub use guards::{Region, Spin, WorkUnit, region, spin, work_unit};
