//! What all pages have in common: the head, the links to sections, the notes, and what the page loads.

use askama::Template;

use super::header::Header;
use super::policy;

/// The styles of every page; those of one page stand before the last, which is for narrow screens and for paper.
const STYLES: [&str; 3] = [
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
];
const NARROW: &str = include_str!("../../page/narrow.css");

/// The scripts of every page; those of one page stand before the last, which starts them.
const SCRIPTS: [&str; 3] =
    ["'use strict';", include_str!("../../page/marks.js"), include_str!("../../page/tables.js")];
const START: &str = include_str!("../../page/start.js");

/// A page that is being put together.
pub(super) struct Frame {
    /// The command whose answer it is.
    pub(super) command: &'static str,
    /// What it is about.
    pub(super) title: String,
    /// Styles of its own.
    pub(super) styles: Vec<&'static str>,
    /// Scripts of its own.
    pub(super) scripts: Vec<&'static str>,
    /// Its head.
    pub(super) header: Header,
    /// Where its sections are, and what the line of links calls them.
    links: Vec<(String, String)>,
    /// Its sections, as markup.
    parts: Vec<String>,
    /// What to keep in mind.
    pub(super) notes: Vec<String>,
    /// Data for its scripts, as markup.
    pub(super) data: String,
}

#[derive(Template)]
#[template(path = "frame.html")]
struct Page {
    command: &'static str,
    policy: String,
    title: String,
    style: String,
    script: String,
    header: Header,
    links: Vec<(String, String)>,
    has_answer: bool,
    parts: Vec<String>,
    notes: Vec<String>,
    data: String,
    version: &'static str,
}

impl Frame {
    /// A page with nothing but a head.
    pub(super) fn new(command: &'static str, title: String, header: Header) -> Self {
        Self {
            command,
            title,
            styles: Vec::new(),
            scripts: Vec::new(),
            header,
            links: Vec::new(),
            parts: Vec::new(),
            notes: Vec::new(),
            data: String::new(),
        }
    }

    /// Adds a section: where it is, what the line of links calls it, and its template.
    pub(super) fn add(&mut self, id: &str, link: &str, section: impl Template) {
        self.link(id, link);
        self.insert(section);
    }

    /// Adds a template to which no link leads, or more than one.
    pub(super) fn insert(&mut self, section: impl Template) {
        self.parts.push(rendered(section));
    }

    /// Adds a link to a place on the page.
    pub(super) fn link(&mut self, id: &str, name: &str) {
        self.links.push((id.to_owned(), name.to_owned()));
    }

    /// The page: no network, no script but its own. The same input gives the same bytes.
    pub(super) fn page(mut self) -> String {
        let style = [&STYLES[..], &self.styles, &[NARROW]].concat().concat();
        let script = [&SCRIPTS[..], &self.scripts, &[START]].concat().join("\n");
        if !self.notes.is_empty() {
            self.link("notes", "Notes");
        }
        rendered(Page {
            command: self.command,
            policy: policy::policy(&script, &style),
            title: self.title,
            style,
            script,
            header: self.header,
            has_answer: self.links.iter().any(|(id, _)| id == "answer"),
            // There is nowhere to go on a page of one section.
            links: if self.links.len() > 1 { self.links } else { Vec::new() },
            parts: self.parts,
            notes: self.notes,
            data: self.data,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}

fn rendered(template: impl Template) -> String {
    template.render().expect("a String takes all that is written to it")
}
