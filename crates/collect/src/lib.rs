//! From a command to a recording.
//!
//! [`record`] starts a program with the injected library ([`library`]) in a session of its own ([`session`]), drains what
//! its processes write ([`drain`]) into a recording until it ends. [`name_file`] then finds the names of what was seen while
//! the files are at hand. With an [`Emulation`] the program runs under QEMU, and its instructions are recorded too.
//! Meanwhile [`environment`] looks at what surrounds the program. Programs that must not be entered are recognised first
//! ([`target`]) and run as they are. [`run_plain`] runs one without recording it, for comparison;
//! [`start_live`] runs one whose threads' criticality can be read meanwhile. [`doctor`] says what a
//! machine allows.

mod address_names;
mod alone;
mod attach;
mod block_names;
mod caller;
mod cgroups;
pub mod doctor;
mod drain;
mod emulation;
mod environment;
mod error;
mod files;
mod host;
mod image_names;
mod instrumented;
mod kernel;
mod launch;
mod library;
mod live;
mod log;
mod machine;
mod names;
mod output;
mod package;
mod plain;
mod polling;
mod process_names;
mod record;
mod session;
mod setting;
mod shared_objects;
mod source_text;
mod started;
mod target;
mod truncation;
mod window;

pub use address_names::{AddressNames, address_names};
pub use alone::{AloneGate, AloneOptions, Beside, CounterSource, Counting};
pub use attach::attach;
pub use caller::{as_caller, caller_of_sudo};
pub use emulation::{Emulation, InstructionMode, Interest};
pub use error::CollectError;
pub use holdup_kernel::{KernelError, Trial, opens};
pub use holdup_symbols::{DataSymbol, FileCounts, ask_debuginfod};
pub use host::{CacheKind, Family, Figure, HostCache, HostFacts, Topology, measure_host};
pub use instrumented::counts_itself;
pub use kernel::MAX_COST;
pub use live::{LiveRun, start_live};
pub use machine::{allowed_cores, room};
pub use names::{may_ask_debuginfod, name_all, name_file};
pub use plain::{PlainRun, run_plain};
pub use record::{Ended, Holds, Options, record, record_alone};
pub use setting::{Output, Setting};
pub use source_text::{SourceLines, read_source};
pub use started::status_of_started;
pub use target::{describe_target, find_program};
pub use truncation::outlive_truncation;
pub use window::Window;
