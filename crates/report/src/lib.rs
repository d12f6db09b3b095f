//! How does a person, or a script, read what holds a program up?
//!
//! One value, `(&Run, &[Diagnosis])`, has two faces that cannot disagree. The first diagnosis is the one that
//! is told; the others are listed, a line each.
//!
//! - [`render`] gives the short answer for a terminal: at most one screen, in a [`Look`].
//! - [`json`] gives every number of it, and many more, as a value of the schema in
//!   `docs/json-schema/report.schema.json`; [`json_text`] writes that value.
//!
//! ```
//! use holdup_model::Run;
//! use holdup_report::{Look, json, render};
//!
//! let answer = render(&Run::default(), &[], Look { width: 80, color: false, unicode: true });
//! assert!(answer.starts_with("Nothing was recorded"));
//! assert_eq!(json(&Run::default(), &[])["schema"], 1);
//! ```
//!
//! Names that come from the program are hostile: none reaches a terminal before it has been escaped, and no
//! control character leaves this crate but line breaks and the colour codes of the chosen look.

#![forbid(unsafe_code)]

mod bar;
mod course;
mod escape;
mod findings;
mod hot;
mod json;
mod lines;
mod look;
mod names;
mod numbers;
mod schema;
mod shares;
mod surroundings;
mod terminal;
mod warnings;

pub use escape::escaped;
pub use json::{SCHEMA, json, json_text};
pub use look::Look;
pub use terminal::render;
