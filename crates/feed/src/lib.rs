//! From a recording's instruction streams to what the simulator executes.
//!
//! [`Prepared`] reads all streams of a recording once. Code becomes micro-ops (`code`). Marks become what each thread says
//! it did (`stream`, `told`), and that becomes acts on numbered objects (`script`): creations, joins, locks, barriers and
//! semaphores are left to simulated time. A wait for a condition ends with the wake-up that ended it when it was recorded
//! (`wakes`), unless the condition is a barrier ([`holdup_model::Process::find_condition_barriers`]). Chunks of loops that are dealt out at run time are kept as
//! units (`units`), so that they can be dealt anew. Of locks, barriers and flags that the program makes of the processor's
//! own instructions no mark tells: they are found by what all threads do at a word (`words`, `order`).
//!
//! [`RecordedFeed`] then goes through the streams, once for each simulation. It only decodes: all that is to be known of a
//! mark is in the scripts.
//!
//! Simulations begin here too (`simulated`).
//!
//! What code of runtimes did, and what threads did while they waited, is not in the streams.

#![forbid(unsafe_code)]

mod calls;
mod code;
mod error;
mod feed;
mod files;
mod order;
mod prepared;
mod script;
mod simulated;
mod stream;
mod told;
mod units;
mod wakes;
mod words;

pub use error::FeedError;
pub use feed::RecordedFeed;
pub use prepared::Prepared;
