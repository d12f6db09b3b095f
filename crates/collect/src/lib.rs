//! From a command to a recording.
//!
//! [`record`] starts a program with the injected library ([`library`]) in a session of its own ([`session`]),
//! drains what its processes write ([`drain`]) into a recording until it ends. [`name_all`] then finds the names of
//! what was seen while the files are at hand. Programs that must not be entered are recognised first
//! ([`target`]) and run as they are. [`doctor`] says what a machine allows.

pub mod doctor;
mod drain;
mod error;
mod launch;
mod library;
mod machine;
mod names;
mod record;
mod session;
mod shared_objects;
mod target;

pub use error::CollectError;
pub use machine::{allowed_cores, event_opens, room};
pub use names::name_all;
pub use record::{Ended, Options, record};
pub use target::describe_target;
