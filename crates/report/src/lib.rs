//! How does a person, or a script, read what holds a program up?
//!
//! One value, `(&Run, &[Diagnosis])`, has two faces that cannot disagree. The first diagnosis is the one that
//! is told; the others are listed, a line each.
//!
//! - [`render`] gives the short answer for a terminal: at most one screen, in a [`Look`].
//! - [`json`] gives every number of it, and many more, as a value of the schema in
//!   `docs/json-schema/report.schema.json`; [`json_text`] writes that value.
//! - [`page`] gives the long answer: a page of HTML that needs nothing else, with charts, a timeline, and the lines of
//!   the [`source_files`] where they are at hand.
//! - [`render_scale`], [`scale_json`] and [`scale_page`] are the same three faces of how a program scales.
//! - [`render_why`], [`why_json`] and [`why_page`] are those of what makes threads unequal.
//! - [`render_sim`], [`sim_json`], [`sim_csv`] and [`sim_page`] are those of where the cycles of a simulated run go.
//! - [`render_stack`], [`stack_json`] and [`stack_page`] are those of a measured speedup stack.
//! - [`render_answer`] and [`answer_page`] are those of any [`Answer`](holdup_answer::Answer); what `holdup policies` says is one,
//!   and [`policies_json`] has its numbers.
//! - [`render_characterize`] and [`characterize_json`], [`characterize_page`] and [`characterize_pictures`] are those of which programs behave alike.
//! - [`Explanation`] is the page about a kind of finding: what it is, how it is known, how to fix it.
//!
//! ```
//! use holdup_model::Run;
//! use holdup_report::{Look, json, render};
//!
//! let answer = render(&Run::default(), &[], Look::plain(80));
//! assert!(answer.starts_with("Nothing was recorded"));
//! assert_eq!(json(&Run::default(), &[])["schema"], 1);
//! ```
//!
//! Names that come from the program are hostile: none reaches a terminal before it has been escaped, and no
//! control character leaves this crate but line breaks and the colour codes of the chosen look.

#![forbid(unsafe_code)]

mod answer;
mod bar;
mod bars;
mod characterize;
mod check;
mod course;
mod diff;
mod escape;
mod explain;
mod findings;
mod hot;
mod ink;
mod json;
mod lines;
mod look;
mod names;
mod numbers;
mod page;
mod palette;
mod policies;
mod repeated;
mod scaling;
mod schema;
#[cfg(test)]
mod schemas;
mod shares;
mod shorten;
mod sim;
mod source_file;
mod stack;
mod surroundings;
mod tabular;
mod terminal;
pub mod top;
mod tree;
mod warnings;
mod what_if;
mod why;

pub use answer::render_answer;
#[cfg(feature = "png")]
pub use characterize::picture_png;
pub use characterize::{
    CHARACTERIZE_SCHEMA, CharacterizeTold, PictureFile, characterize_json, characterize_json_text,
    characterize_pictures, render_characterize,
};
pub use check::{
    CHECK_SCHEMA, check_github, check_json, check_json_text, check_junit, check_sarif, render_check,
};
pub use diff::{DIFF_SCHEMA, diff_json, diff_json_text};
pub use escape::escaped;
pub use explain::{Explanation, explanations};
pub use json::{json, json_text};
pub use look::Look;
pub use page::{
    PageOptions, answer_page, characterize_page, page, scale_page, shell_words, sim_page, source_files,
    stack_page, why_page,
};
pub use policies::{POLICIES_SCHEMA, policies_json, policies_json_text};
pub use scaling::{
    RANKS_SCHEMA, SCALE_SCHEMA, ranks_json, ranks_json_text, render_ranks, render_scale, scale_json,
    scale_json_text,
};
pub use schema::SCHEMA;
pub use sim::{
    PaddedRun, SIM_SCHEMA, SimRun, SimTold, render_sim, sim_csv, sim_json, sim_json_text, sim_source_files,
};
pub use source_file::SourceFile;
pub use stack::{STACK_SCHEMA, render_stack, stack_json, stack_json_text};
pub use terminal::{render, render_brief};
pub use what_if::{what_if_json, what_if_json_text};
pub use why::{
    Removed, WHY_SCHEMA, WhyScene, Without, render_why, why_json, why_json_text, why_section_name,
    why_source_files,
};
