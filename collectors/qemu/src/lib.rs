//! The plugin that watches a program's instructions in QEMU's user mode.
//!
//! It answers: what did each thread execute between two things that it did with others? QEMU translates a program block by
//! block; we number the [`blocks`] and give each block a callback when it is translated ([`translation`]). What the callback
//! does depends on whose code it is ([`modules`], [`code`]). In the fast mode each of the [`threads`] ([`thread`]) has a [`counter`] of [`edges`] between blocks of
//! the program itself; instructions of libraries are charged to the block that called ([`calls`]). The injected library, which runs
//! inside the program, tells by [`marks`] where waits, barriers, regions and units of work begin and end: there the counts are
//! cut and written ([`sums`]) to the file that the recorder reads ([`channel`]). In the full mode a
//! [`tracer`] writes every block, with the addresses of its [`accesses`], instead. A [`pace`] keeps threads side by side, if that is wanted. The format is in
//! [`holdup_trace::instructions`]. Functions that may be barriers are watched by [`meets`].
//!
//! In the measured program's process, but not in the program: what runs here may allocate, since QEMU's heap is not the program's.

mod accesses;
mod api;
mod blocks;
mod callbacks;
mod calls;
mod channel;
mod code;
mod counter;
mod edges;
mod ending;
mod install;
mod linkage;
mod marks;
mod meets;
mod modules;
mod numbers;
mod options;
mod pace;
mod reserved;
mod sums;
mod thread;
mod threads;
mod tracer;
mod translation;
mod warm;
mod watch;

pub use install::{qemu_plugin_install, qemu_plugin_version};
