//! Recordings that are kept in the repository, and what every command says of them.
//!
//! `tests/recordings/list.tsv` says how each recording was made ([`Recipe`]), and [`make`] makes it so. [`Subject`]s are
//! those recordings, and questions about several of them (`questions.tsv`). [`Outputs::of`] asks a `holdup` binary all that
//! applies to a subject; what it said when a person last looked at it is in `tests/golden/`: text to be read there
//! (`NAME.txt`), JSON and pages compressed (`NAME.zst`). [`changes`] says what two of these differ by, as facts.
//!
//! Recordings are made once and then kept: another run has other times. What is said of them depends on nothing but
//! their bytes: neither on the machine, nor on its files, its clock or its load.

mod ask;
mod changes;
mod list;
mod make;
mod neutral;
mod normal;
mod outputs;
mod site;

pub use ask::Subject;
pub use changes::{Change, Shown, changes, table};
pub use list::{By, Origin, Recipe, Setting, recipes, recordings};
pub use make::make;
pub use neutral::{FOLDERS, check_neutral};
pub use outputs::{Outputs, differences, goldens};
