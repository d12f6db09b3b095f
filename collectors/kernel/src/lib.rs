//! What does the kernel know of a program's threads that nobody inside the program sees?
//!
//! When each one runs, on which processor, and whether it stopped because it waits or because another one was preferred;
//! what it does while it runs; who makes it runnable; where it waits. All of this is asked from outside: the program is
//! neither changed nor stopped, and it may be static, written in Go, or have been running for days.
//!
//! - A [`Watch`] has the opened events of a target: of all that one thread starts ([`Watch::over_children`]), or of a
//!   running process ([`Watch::over_process`]). [`Watch::drain`] hands out [`Event`]s, [`Watch::wait`] waits for them.
//! - [`Abilities`] says beforehand what is allowed here; a [`Refusal`] says why something is not, and which command
//!   would change that. Both ask a [`System`]: [`Linux`], or a test's own.
//! - [`Processes`] reads of `/proc` what needs no event: threads and names, CPU time and run-queue delay, mapped code.
//! - A [`Lookout`] tells in which system call a thread is blocked, and copies its stack, without stopping it.
//! - [`Completeness`] says whether the switch records can be believed.
//!
//! Times are in ns by `CLOCK_MONOTONIC`. Every name, path and stack here is what a program put there; nothing is
//! believed, and nothing escaped.
//!
//! ```no_run
//! use holdup_kernel::{KernelError, Linux, Wanted, Watch, What};
//! use std::{process::Command, thread, time::Duration};
//!
//! # fn main() -> Result<(), KernelError> {
//! // The thread that opens the events is the one that starts the program, and nothing else.
//! let opened = thread::spawn(|| {
//!     let watch = Watch::over_children(&Linux, Wanted::default())?;
//!     Ok::<_, KernelError>((watch, Command::new("true").spawn()))
//! });
//! let (mut watch, _child) = opened.join().expect("it does not panic")?;
//! watch.wait(Duration::from_millis(20));
//! watch.drain(|event| {
//!     if let What::Switch(switch) = event.what {
//!         println!("{} thread {}: {switch:?}", event.time_ns, event.tid);
//!     }
//! });
//! # Ok(())
//! # }
//! ```

mod ids;

mod event;

mod attributes;

mod system;

mod linux;

mod refusal;

mod abilities;

mod cpus;

mod descriptors;

mod ring;

mod records;

mod tracepoint;

mod parse;

mod sources;

mod cpu_ring;

mod watch;

mod completeness;

mod counter;

mod threads;

mod lifetime;

mod blocked;

mod error;

pub use abilities::Abilities;
pub use attributes::{Attributes, Kind, Sampling, Start, Target};
pub use blocked::{Blocked, Call, Lookout, Sight};
pub use completeness::{Completeness, Counts};
pub use counter::{Counted, Counter, Reading};
pub use error::KernelError;
pub use event::{Event, Registers, Sample, Switch, Waker, What};
pub use ids::{Cpu, Pid, Tid};
pub use lifetime::Lifetime;
pub use linux::{Linux, Trial, opens};
pub use refusal::{Cause, Refusal};
pub use system::System;
pub use threads::{CodeMapping, Family, Processes, Scheduling};
pub use watch::{Drained, Waited, Wanted, Watch};
