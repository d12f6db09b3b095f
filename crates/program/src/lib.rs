//! What is this program file, and may holdup's library enter it?
//!
//! `LD_PRELOAD` is not harmless everywhere. A static program ignores it, a 32-bit one prints a complaint
//! of the dynamic linker, a set-user-id one must not be touched, and a program with AddressSanitizer
//! aborts. So the recorder asks before it starts a program, and the injected library asks again at every
//! exec inside the measured program. Both ask [`classify`], with
//!
//! - a [`FileBytes`], through which the file's bytes are read (`pread` in practice, a slice in tests), and
//! - the [`Facts`] that `stat`, `getxattr` and the caller's own ids tell.
//!
//! The answer is a [`Verdict`]: enter, leave alone for a [`Reason`] that has a sentence for the user, or
//! "a script, ask about its [`Interpreter`]". The caller opens the interpreter and asks again, at most
//! [`SCRIPT_DEPTH`] times, as the kernel does.
//!
//! ```
//! use holdup_program::{Caller, Facts, Verdict, classify};
//!
//! let me = Caller { real_user: 1000, effective_user: 1000, real_group: 100, effective_group: 100,
//!                   privileges_fixed: false };
//! let facts = Facts { mode: 0o100755, owner: 0, group: 0, has_capabilities: false, caller: me };
//! match classify(b"#!/bin/sh -e\necho hello\n".as_slice(), facts) {
//!     Verdict::Script(interpreter) => assert_eq!(interpreter.path(), b"/bin/sh"),
//!     other => panic!("{other:?}"),
//! }
//! ```
//!
//! The crate runs on the stacks of measured programs between their call of exec and the real one. Hence no
//! heap, no dependency, no panic, less than 1.5 KiB of stack, and a bound on every loop, whatever the file's
//! bytes say. Only what the kernel and the dynamic linker read is read (program headers, the dynamic section,
//! the hash table of dynamic symbols); section headers may be stripped or wrong without anybody noticing.

#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod verdict;

mod facts;

mod bytes;

mod script;

mod elf;

mod dynamic;

mod sanitizer;

mod classify;

pub use bytes::FileBytes;
pub use classify::classify;
pub use facts::{Caller, Facts};
pub use sanitizer::{Sanitizer, sanitizer_library};
pub use script::{Interpreter, SCRIPT_DEPTH};
pub use verdict::{Reason, Verdict};
