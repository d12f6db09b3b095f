//! A recorded run in the formats of other tools.
//!
//! Each function takes a [`holdup_model::Run`] and writes all of its processes; none changes what was recorded, and all
//! times count from the run's start. What each format can carry, and how to open it, is in `docs/export.md`.
//!
//! - [`firefox`] gives a profile for the Firefox Profiler: states, stacks and markers of each thread.
//! - [`perfetto`] gives a trace for Perfetto: slices, wake-ups as flows, counters.
//! - [`speedscope`] and [`folded`] give time by call stack, for flame graphs; [`Weight`] says which time.
//! - [`tables`] writes everything as tables into a folder, as CSV or Parquet ([`TableFormat`]; Parquet needs the feature
//!   `parquet`). [`TABLES`] says what is in them. [`table`] writes one table of other columns.
//!
//! ```
//! use holdup_export::{Weight, folded};
//! use holdup_model::{Process, Run, Time};
//!
//! let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
//! process.add_thread("main", Time::from_nanos(0), None);
//! let run = Run { processes: vec![process], ..Run::default() };
//! let mut text = Vec::new();
//! folded(&run, Weight::Active, &mut text)?;
//! assert_eq!(text, b"main;[not sampled] 100\n");
//! # Ok::<(), holdup_export::ExportError>(())
//! ```
//!
//! Processes are taken one at a time, and threads one at a time where the format allows it, so that memory is that of the
//! largest process, not of the run. The same run gives the same bytes. Names come from the program and are hostile:
//! in all formats but Parquet, which is for programs, characters that are not seen as themselves are written as escapes.

#![forbid(unsafe_code)]

mod error;
mod names;
mod pieces;
mod rows;
mod subject;
mod text;
mod weights;

mod firefox;
mod folded;
mod perfetto;
mod speedscope;
mod tables;

pub use error::ExportError;
pub use firefox::firefox;
pub use folded::folded;
pub use perfetto::perfetto;
pub use speedscope::speedscope;
pub use tables::{Cell, Column, ColumnKind, TABLES, Table, TableFormat, table, tables};
pub use weights::Weight;
