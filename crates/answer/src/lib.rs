//! What a command found out, as a document.
//!
//! A method makes an [`Answer`] of what it computed: sentences, tables, bars. What shows it, in a terminal or on a page, knows
//! answers and no methods, so that the two never say different things, and a command needs nothing but what makes its answer.
//!
//! Texts are as they are meant, with all characters and names of any length: who shows them escapes, shortens and breaks them.
//! A number stands before its unit with a space between the two, as [`holdup_model::figures`] and `Nanos` write them.
//!
//! ```
//! use holdup_answer::{Answer, Block, Section, Table};
//!
//! let threads = [("main", 120), ("worker", 480)];
//! let answer = Answer {
//!     command: "holdup example",
//!     headline: "worker did most of the work.".to_owned(),
//!     sections: vec![Section {
//!         heading: "Which thread".to_owned(),
//!         blocks: vec![
//!             Table::of("Threads", &threads)
//!                 .words("thread", |(name, _)| (*name).to_owned())
//!                 .numbers("work", |(_, work)| format!("{work} ms"))
//!                 .block(),
//!         ],
//!         ..Section::default()
//!     }],
//!     ..Answer::default()
//! };
//! let Block::Table(table) = &answer.sections[0].blocks[0] else { unreachable!("a table") };
//! assert_eq!((table.columns.len(), table.rows()), (2, 2));
//! ```

#![forbid(unsafe_code)]

mod table;

use holdup_model::Stack;

pub use table::{Cells, Column, Most, Room, Rows, Table, Weight};

/// What a command found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The command: `holdup diff`.
    pub command: &'static str,
    /// What it is about: the title of the page.
    pub subject: String,
    /// The answer, in a sentence or two.
    pub headline: String,
    /// What was run, word by word; empty where that is no single command.
    pub program: Vec<String>,
    /// The numbers to know first. They are in a sentence or a table too.
    pub figures: Vec<KeyFigure>,
    /// What is wrong with the answer.
    pub warnings: Vec<String>,
    /// All else, the most important first.
    pub sections: Vec<Section>,
    /// What to keep in mind.
    pub notes: Vec<String>,
}

/// A number with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFigure {
    /// What it is.
    pub name: &'static str,
    /// The number with its unit: `12.4 s`.
    pub value: String,
}

/// A part of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The question that it answers, or what it is about.
    pub heading: String,
    /// How that is known, or under which conditions.
    pub aside: String,
    /// What it says, a sentence or two each. Where it has none the heading says all.
    pub lead: Vec<String>,
    /// What that rests on.
    pub blocks: Vec<Block>,
}

/// A piece of a section. Tables and bars belong to the headings and texts before them.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading within the section.
    Heading(String),
    /// A few sentences.
    Text(String),
    /// A bar on the page. A terminal has its amounts in the table behind it.
    Bar {
        /// What it shows.
        label: String,
        /// Its parts.
        stack: Stack,
    },
    /// The colours of the bars before it, with what they stand for.
    Key(Vec<(&'static str, String)>),
    /// Rows and columns.
    Table(Table),
}
