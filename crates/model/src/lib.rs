//! What happened in a run of a threaded program, as types.
//!
//! A front-end observes a program; [`Process`] holds what it saw, in columns: threads, sync objects, waits,
//! holds, wake-ups, blocking calls. [`Timeline::build`] turns that into one abutting row of [`Segment`]s for
//! each thread and the [`Edge`]s between them (who released whom). Every analysis reads a `Timeline` and fills
//! a [`Stack`], whose components add up to its total.
//!
//! ```
//! use holdup_model::{Nanos, Process, State, Time, Timeline};
//!
//! let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
//! let main = process.add_thread("main", Time::from_nanos(0), Some(Time::from_nanos(100)));
//! let timeline = Timeline::build(&process);
//! assert_eq!(timeline.threads[main.index()].time_in(|state| state == State::Active), Nanos::new(100));
//! ```
//!
//! There is no I/O, no clock and no serialization here, and nothing depends on the order of a hash map: the
//! same input gives the same output.

#![forbid(unsafe_code)]

mod alone;
mod arrange;
mod awake_waits;
mod build;
mod completions;
mod condition_barriers;
mod core_time;
pub mod counts;
mod course;
mod cpus;
pub mod cycles;
mod efficiency;
mod environment;
mod families;
pub mod figures;
mod housekeepers;
mod ids;
mod interrupted;
mod loss_class;
mod median;
pub mod names;
mod object_kind;
mod on_core;
pub mod openmp;
mod own_locks;
mod places;
mod polled_joins;
mod process;
mod recording_cost;
mod roles;
mod rounds;
mod routines;
mod run;
mod scheduling;
pub mod selector;
mod sides;
mod site;
mod sorts;
mod spun_locks;
mod stack;
mod steered;
mod stretches;
mod thread_times;
mod time;
mod timeline;
mod together;
mod wakes;
mod window;

pub use alone::{AloneCount, AloneSpan, NotAlone};
pub use arrange::Arrange;
pub use awake_waits::{AwakeWaits, awake_waits};
pub use core_time::{CoreTime, core_time};
pub use course::{Course, Fixed, Gained, from_fixed, share, to_fixed};
pub use cpus::CpuSet;
pub use efficiency::Efficiency;
pub use environment::{
    CoreKind, Environment, FrequencyRange, Load, MemoryNode, Pin, Placement, Quota, Swapped, Throttling,
    Usage,
};
pub use families::{Families, Family};
pub use housekeepers::{Stop, repeated, stops};
pub use ids::{ObjectId, SiteId, ThreadId};
pub use loss_class::{ClassTimes, LossClass, ThreadSums};
pub use median::median;
pub use object_kind::ObjectKind;
pub use places::Places;
pub use polled_joins::{PolledJoin, PolledJoins};
pub use process::{
    ATOMIC_WAIT, Block, BusyLock, Call, Hold, LockCost, LostEvents, Marker, MarkerKind, Mode, ObjectUse,
    Outcome, Process, SyncObject, Thread, Wait, Wake, WakeCount,
};
pub use recording_cost::{CostPart, CostRange, RecordingCost};
pub use roles::Roles;
pub use routines::{Activity, Routine, RoutineKind};
pub use run::{ExitStatus, Run, Unnamed, cpu_time, program_of};
pub use scheduling::{
    Access, AccessKind, CACHE_LINE, CpuReading, Doing, InKernel, Left, OnCore, Sample, SeenBy,
};
pub use site::{Frame, Site};
pub use sorts::{by_sort, name_without_number, sort_of_thread};
pub use stack::{Stack, StackComponent, Unit};
pub use steered::{FastSpan, RunEnergy, Steered, ThreadProspect};
pub use stretches::{Ends, Meeting, Stretch, meetings, stretches};
pub use thread_times::ThreadTimes;
pub use time::{Nanos, Time};
pub use timeline::{Edge, EdgeKind, Row, Segment, State, Timeline};
pub use together::most_at_once;
pub use wakes::{Ending, endings, rounds};
