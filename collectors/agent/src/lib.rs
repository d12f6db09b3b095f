//! What the collectors inside a measured program share.
//!
//! A hook in an injected library asks [`enter`] for the right to record; what it gets, [`Recorder`], writes
//! [`holdup_trace::wire`] records into the chunks of the process's file. Around that: how a process joins a
//! session and survives `fork` ([`process`], [`life`]), how threads begin and end ([`threading`]), the thread's own block
//! ([`thread`]), the original functions that were interposed ([`link`], [`scope`]), CPU time ([`cpu`]), call stacks
//! ([`stack`]), the modules they lead through ([`modules`]), OpenMP ([`openmp`]), how often locks are used ([`uses`]), what
//! that costs ([`lock_cost`]), of locks that are waited for all the time too (`busy`), by what descriptors threads send
//! to each other ([`channels`]), and which of them matter ([`hot`]), what is said to an emulator's plugin ([`marks`]) or to who
//! listens inside ([`listener`]), how one thread is let run by itself ([`alone`]), and each thread's criticality while it
//! runs ([`live`]).
//!
//! What is asked everywhere knows nothing of who asks: [`life`] and [`thread`] hold states, [`Recorder`] writes, and only
//! [`process`] and [`threading`] know all parts, which they begin and end in order. In between is [`enter`], which makes a
//! forked child join again, and gives a thread its slot: what is needed for that does without it.
//!
//! Nothing here allocates, takes a lock that the program could hold, or calls anything that is interposed. The
//! only function of the C library that is called by name is `dl_iterate_phdr`.

#![no_std]

mod acquires;
mod allowance;
pub mod alone;
pub mod arch;
mod busy;
pub mod channels;
pub mod cpu;
mod descriptors;
mod directory;
mod entry;
pub mod hot;
pub mod key;
pub mod life;
pub mod link;
pub mod listener;
pub mod live;
mod loader;
pub mod lock_cost;
pub mod mapping;
pub mod marks;
pub mod modules;
pub mod openmp;
pub mod patience;
pub mod process;
mod recorder;
mod runtimes;
pub mod scope;
mod slots;
pub mod stack;
pub mod thread;
pub mod threading;
pub mod uses;
pub mod waits;
mod wanted;

pub use entry::enter;
pub use recorder::Recorder;
