//! The speedup stack, measured on the machine itself: how much of the perfect speedup is lost to sharing the cache, to
//! sharing memory, and to waiting for each other (paper 1).
//!
//! Measured are, at each number of threads, a run in which all threads run together, and runs in which one thread of each
//! parallel phase runs by itself while the others are held, with all of the shared cache or with a part of it
//! ([`Measurements`]). [`profile`] turns that into a [`SpeedupProfile`]: for each phase the speedup curves on machines that
//! have some of the bottlenecks only, and the components, which are their differences. What was not measured is missing
//! there, with the reason; it is never 0.
//!
//! In reading order: where each thread's time went (`course`), which phases there are (`phases`), what a lone thread needs
//! for its work (`alone`), threads that do the same (`groups`) and how they share the cache (`sharing`), the time for the
//! same work over the size of the cache (`curve`), from times to components (`steps`), what more cache would give
//! (`sensitivity`), all of it for each phase (`build`), and how running alone went (`watched`). [`instances`] does the same for several copies of a program
//! with one thread (paper 1, section 5).
//!
//! Of a machine that is simulated, the same is exact: [`speedup_stack`] (section 2).

#![forbid(unsafe_code)]

mod alone;
mod build;
mod component;
mod course;
mod crowd;
mod curve;
mod effort;
mod groups;
pub mod instances;
mod measurements;
mod noise;
mod notes;
mod phases;
mod point;
mod profile;
mod rotation;
mod sensitivity;
mod sharing;
mod simulated;
mod steps;
mod watched;

pub use build::profile;
pub use component::{Component, Missing, NOT_TOLD_APART, Order, REACHED, Speedup};
pub use curve::{CacheCurve, CachePoint};
pub use measurements::{AloneRun, Beside, CacheFacts, Counters, Measurements, ThreadPoint, Verdict};
pub use profile::{
    Curves, Discarded, Effort, GroupCurve, Noise, PhaseKind, PhasePoint, PhaseStack, PointStack, Sensitivity,
    SpeedupProfile, ThiefPoint, Together, Watched,
};
pub use rotation::{Rotation, worth_profiling};
pub use simulated::{SpeedupLoss, SpeedupStack, SpeedupStep, speedup_stack};
