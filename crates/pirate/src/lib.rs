//! What does a thread lose when it has less of the shared cache, or of the memory's bandwidth?
//!
//! Take it away, and look. A [`Pirate`] is a thread on another core that keeps so much of the shared cache filled with its
//! own lines while the profiled thread runs; a [`Thief`] reads memory at a stated rate. Both begin and end with the
//! profiled thread's stretches, which a [`Gate`] tells, and both say afterwards what they really took: each [`Stretch`] of
//! a pirate has its proof, timed loads at random places of what it should have held.
//!
//! 1. [`Place::choose`] finds two cores that share the last level of cache.
//! 2. [`calibrate`] measures, right before use, how long hits and misses take and how much of the level is to be had:
//!    other guests of the host may use most of it. [`steady`] says whether that stays so.
//! 3. [`survey`] measures, with a [`Victim`] of known size, what pirates of growing size leave to a thread, and
//!    [`Survey::pirate_for`] says which leaves so much: what a pirate holds is taken from all who use the cache, not only
//!    from the thread beside it.
//! 4. [`Plan::steal`] or [`Plan::control`], [`Pirate::new`], [`Pirate::run`]; then [`Verdict::of`] the stretches.
//!
//! Where the machine can allot cache by itself, a [`CacheShare`] does that ([`Resctrl`]). Whatever is changed on the machine is told to a
//! [`Guardian`] before, a process that changes it back when this one is killed.
//!
//! Where something cannot be had, a [`Refusal`] says why. `docs/stack.md` has what was measured.
//!
//! ```no_run
//! use std::path::Path;
//! use holdup_pirate::{Gate, Pirate, Place, Plan, Refusal, Verdict, allowed_cpus, calibrate, steady, survey};
//!
//! # fn main() -> Result<(), Refusal> {
//! # struct Never;
//! # impl Gate for Never {
//! #     fn wait_wanted(&self) -> bool { false }
//! #     fn ready(&self) {}
//! #     fn still(&self) -> bool { false }
//! # }
//! # let gate = Never;
//! let root = Path::new("/");
//! let place = Place::choose(root, &allowed_cpus())?;
//! let calibration = calibrate(root, &place)?;
//! steady(&[&calibration])?;
//! let survey = survey(root, &place, &calibration)?;
//! let bytes = survey.pirate_for(survey.whole() / 2)?;
//! let pirate = Pirate::new(root, Plan::steal(&place, &calibration, bytes)?)?;
//! let stretches = pirate.run(&gate)?;
//! if Verdict::of(&stretches) != Verdict::Held {
//!     println!("to be repeated");
//! }
//! # Ok(())
//! # }
//! ```

mod refusal;

mod clock;

mod cores;

mod instructions;

mod timer;

mod memory;

mod walk;

mod sweep;

mod probes;

mod curve;

mod calibrate;

mod gate;

mod stretch;

mod fetches;

mod pirate;

mod pace;

mod thief;

mod victim;

mod survey;

mod terminal;

mod attributes;

mod undo;

mod guardian;

mod resctrl;

mod share;

mod huge;

mod quiet;

pub use attributes::{
    FULLY_UTILIZED, has_utilization_clamps, least_utilization, set_least_utilization, takes_short_turns,
};
pub use calibrate::{Calibration, calibrate, steady};
pub use cores::{Confined, Level, Pages, Place, allowed_cpus};
pub use curve::{Point, Range, available, holdable, knee};
pub use fetches::{FetchCounters, Fetches, Hardware};
pub use gate::{Gate, Switch};
pub use guardian::{Change, Guardian, serve};
pub use huge::allow_huge_pages;
pub use pirate::{Pirate, Plan};
pub use probes::Limit;
pub use quiet::core_share;
pub use refusal::Refusal;
pub use resctrl::{Allotment, Mounted, Resctrl, ResctrlError, Tree};
pub use share::{CacheShare, ways_of_part};
pub use stretch::{BUSY, CONTROL_BUSY, LEAST_CPU, MOST_MISSED, Stretch, Verdict};
pub use survey::{Row, Survey, left_beside, survey};
pub use thief::{Theft, Thief};
pub use undo::Undo;
pub use victim::{Chased, Victim};
