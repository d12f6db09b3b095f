//! Where was a thread, and what is the code (or the lock) at this address called?
//!
//! A recording holds addresses and copies of stacks, nothing else: taking names inside the measured program would
//! cost it time, and unwinding there could crash it. This crate answers both questions from outside, afterwards or while
//! the program runs, from the files that were mapped into it.
//!
//! - A [`Module`] is one mapped file, as the program's own loader listed it; a [`Mapping`] is one executable mapping of a
//!   process that runs, as the kernel tells of it.
//! - A [`Symbolizer`] owns the opened files of one process image and everything that was parsed from them. It begins with
//!   all modules ([`Symbolizer::new`]) or empty ([`Symbolizer::live`], [`Symbolizer::add`]).
//! - [`Symbolizer::unwind`] turns a [`StackCopy`] into return addresses ([`Unwound`]), by call frame information: right
//!   without frame pointers, and mostly without knowing `rbp`. [`UnwindEnd`] says why it ended, so that broken stacks can
//!   be counted, not guessed at.
//! - [`Symbolizer::frames`] turns an address into [`Frame`]s: function, file, line, inlined calls. Code that was made at
//!   run time is in no file; [`JitCode`] has the names that its runtime wrote down.
//! - [`Symbolizer::data_symbol`] names a variable: the lock at this address is `cache.lock`, defined at `cache.c:31`.
//!
//! Files are opened at once (to compare build ids), parsed when the first address falls into them. Debug information
//! is looked for in the file, beside it, by build id, by debug link, in the compressed miniature symbol table that
//! some distributions ship, and in split DWARF files.
//!
//! Everything read here is hostile: recordings and files can be cut off, altered, or written by an enemy. A name that
//! cannot be read is no name, and never a panic. Names come out raw, at most [`MAX_NAME_BYTES`] long; escaping them is
//! the business of whoever shows them. Two limits remain. Files are memory-mapped, so a file that is cut short *while*
//! it is being read kills the reader with SIGBUS, as with every other tool that maps files. And DWARF in which very many
//! units share one large table, which takes intent to write, costs time and memory by the product of both.
//!
//! ```
//! use holdup_symbols::{Module, Options, Symbolizer};
//!
//! let gone = Module { path: "/nowhere/app".into(), bias: 0x5000, start: 0x5000, end: 0x9000, build_id: None };
//! let (mut symbolizer, warnings) = Symbolizer::new(vec![gone], Options::default());
//! assert_eq!(warnings.len(), 1);
//! let frame = symbolizer.frames(0x6004, false).remove(0);
//! assert_eq!((frame.function, frame.module.as_deref(), frame.address), (None, Some("app"), 0x1004));
//! ```

mod bytes;
mod calls;
mod climb;
mod demangle;
mod dwarf;
mod elf;
mod error;
mod files;
mod frame_base;
mod functions;
mod go_table;
mod image;
mod jit;
mod linkage;
mod mapping;
mod member;
mod module;
mod modules;
mod passed_on;
mod search;
mod step;
mod symbol_table;
mod symbolizer;
mod unwind;
mod unwind_tables;
mod variable;

pub use demangle::{MAX_NAME_BYTES, demangle};
pub use error::Warning;
pub use files::{FileCounts, Files};
pub use functions::{Function, Functions};
pub use image::MissingNames;
pub use jit::JitCode;
pub use mapping::{ANONYMOUS, Added, Mapping};
pub use module::Module;
pub use search::{DEBUGINFOD_CLIENT, DEBUGINFOD_SERVERS, Options, ask_debuginfod, asks_debuginfod};
pub use symbolizer::{CodeBytes, DataSymbol, Frame, Symbolizer};
pub use unwind::{MAX_FRAMES, StackCopy, UnwindEnd, Unwound};
