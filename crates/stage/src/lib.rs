//! Where programs are built and run, for tests and measurements: what is under test is started here, never linked.
//!
//! A [`Stage`] is a directory of one test's own. [`Stage::compile`] puts a program into it, in C; [`Stage::form`] one form
//! of a workload, in any language. What was compiled is kept in the target directory, by what it was made of, so that the
//! second test that wants a program, or the second run of the tests, finds it made. [`run`] and [`start`] run programs, and
//! never wait for ever. [`lime`], [`sim`] and [`planted`] read the tables in `workloads/`. [`golden`] makes recordings that
//! are kept, and asks commands about them.
//!
//! Nothing here knows where the `holdup` binary is: tests have it from Cargo, measurements from their arguments.

mod cpu_quota;
mod forms;
pub mod golden;
mod kept;
pub mod lime;
mod machine;
pub mod planted;
pub mod planted_openmp;
mod proc;
mod process;
pub mod sim;
mod stage;

pub use cpu_quota::CpuQuota;
pub use forms::{CLANG, CLANG_CPP, Form, python};
pub use kept::directory as kept_directory;
pub use machine::{can_mount, child_of, eventually, in_own_mounts, is_installed, is_root, skip};
pub use proc::{children_of, processes_with, settings_of};
pub use process::{Ended, Running, run, shell_status, start, text};
pub use stage::Stage;

use std::path::{Path, PathBuf};

/// The top of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}
