//! The faces of a characterization: what `holdup characterize` says to people and to scripts.
//!
//! One value, [`CharacterizeTold`], is told in a terminal ([`render_characterize`]), as JSON ([`characterize_json`]), on a page
//! (`characterize_page`, which stands with the other pages) and as pictures. Words come from one place, so that the faces agree.

mod dendrogram;
mod json;
mod pictures;
mod plot;
#[cfg(feature = "png")]
mod png;
pub(crate) mod scene;
pub(crate) mod schema;
mod terminal;
pub(crate) mod words;

use holdup_characterize::Characterization;

pub use json::{characterize_json, characterize_json_text};
pub use pictures::{PictureFile, characterize_pictures};
#[cfg(feature = "png")]
pub use png::picture_png;
pub use schema::CHARACTERIZE_SCHEMA;
pub use terminal::render_characterize;

/// A characterization and what is known of its numbers.
#[derive(Clone, Debug)]
pub struct CharacterizeTold {
    /// What was found.
    pub found: Characterization,
    /// What a row has, in words: `cycle stacks`.
    pub what: String,
    /// Whether the numbers are shares of a whole, so that differences are points of a hundred.
    pub is_share: bool,
    /// Whether all is told in the terminal, not only what fits on some screens.
    pub in_full: bool,
    /// What else to know, a sentence each. Hostile.
    pub notes: Vec<String>,
}
