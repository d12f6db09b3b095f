//! Source of the program beside an answer.

use std::collections::BTreeMap;

/// A source file of the program, or what is known of it.
#[derive(Clone, Debug, Default)]
pub struct SourceFile {
    /// Its lines by their numbers, from 1, without line breaks; not all of them need to be here. Hostile.
    pub lines: BTreeMap<u32, String>,
    /// Whether it was changed after the recording: then its lines may not be those that ran.
    pub is_newer: bool,
}

impl SourceFile {
    /// A file of which all lines are here.
    pub fn whole(lines: impl IntoIterator<Item = String>, is_newer: bool) -> SourceFile {
        SourceFile { lines: (1..).zip(lines).collect(), is_newer }
    }

    /// The text of a line.
    pub(crate) fn line(&self, number: u32) -> Option<&str> {
        self.lines.get(&number).map(String::as_str)
    }

    /// The lines from one to another that are here, as they are shown. `None` where it has no such lines, and so is not
    /// the file that was compiled.
    pub(crate) fn shown(&self, first: u32, last: u32, around: u32) -> Option<Vec<(u32, String)>> {
        let from = first.saturating_sub(around).max(1);
        if first == 0 || !self.lines.contains_key(&first) || !self.lines.contains_key(&last) {
            return None;
        }
        let lines = self.lines.range(from..=last.saturating_add(around));
        Some(lines.map(|(number, text)| (*number, text.replace('\t', "    "))).collect())
    }
}
