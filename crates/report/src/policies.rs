//! The faces of what policies that make threads fast give: what `holdup policies` says to people and to scripts.
//!
//! One value, [`PoliciesTold`], is told in a terminal ([`render_policies`]), as JSON ([`policies_json`]), and on a page
//! (`policies_page`, which stands with the other pages). Words and sentences come from one place, so that the faces agree.

mod json;
pub(crate) mod schema;
mod terminal;
pub(crate) mod told;

use holdup_policies::ProgramPolicies;

pub use json::{policies_json, policies_json_text};
pub use schema::POLICIES_SCHEMA;
pub use terminal::render_policies;

/// Programs under policies, on one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoliciesTold {
    /// The machine's name.
    pub machine: String,
    /// Its frequency, in GHz.
    pub frequency: f64,
    /// That of a fast core, in GHz.
    pub fast: f64,
    /// The threshold α of Algorithm 1.
    pub alpha: f64,
    /// Its threshold β.
    pub beta: f64,
    /// How many threads are fast at once, at most.
    pub fast_threads: u32,
    /// Whether the machine has constants for energies.
    pub has_energy: bool,
    /// The programs, in the order in which they were given.
    pub programs: Vec<ProgramPolicies>,
    /// What the reader must know of all of them.
    pub warnings: Vec<String>,
}
