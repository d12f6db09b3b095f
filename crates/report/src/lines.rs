//! Lines of inked text, laid out in columns before any colour code is in them.

use std::fmt::Write;

use textwrap::core::{Word, display_width};

use crate::ink::Ink;
use crate::{Look, shorten};

/// The column at which the text behind a label begins.
const LABEL: usize = 16;

/// So many columns of text are shown on terminals of any width.
const ENOUGH: usize = 280;

/// One line: pieces of text with what they mean. The text is already escaped.
#[derive(Clone, Default, Debug)]
pub(crate) struct Line {
    spans: Vec<(String, Ink)>,
}

impl Line {
    /// A line that is indented by `columns`.
    pub(crate) fn indented(columns: usize) -> Self {
        Self::default().with(&" ".repeat(columns), Ink::Text)
    }

    /// This line with more text at its end.
    pub(crate) fn with(mut self, text: &str, ink: Ink) -> Self {
        self.spans.push((text.to_owned(), ink));
        self
    }

    /// This line with `text` in the place of its indentation, which is as wide.
    pub(crate) fn begun_with(mut self, text: &str, ink: Ink) -> Self {
        if let Some(indentation) = self.spans.first_mut() {
            *indentation = (text.to_owned(), ink);
        }
        self
    }

    /// This line with `text` so that it ends at column `end`, or behind what is there.
    pub(crate) fn right_aligned(self, text: &str, end: usize, ink: Ink) -> Self {
        let gap = end.saturating_sub(self.width() + display_width(text)).max(1);
        self.with(&" ".repeat(gap), Ink::Text).with(text, ink)
    }

    /// This line with `text` at column `start`, or one column behind what is there.
    pub(crate) fn at_column(self, text: &str, start: usize, ink: Ink) -> Self {
        let gap = start.saturating_sub(self.width()).max(1);
        self.with(&" ".repeat(gap), Ink::Text).with(text, ink)
    }

    /// Its width in columns.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(text, _)| display_width(text)).sum()
    }

    /// This line with another one at its end.
    pub(crate) fn joined(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// How most of it is set.
    pub(crate) fn ink(&self) -> Ink {
        self.spans.last().map_or(Ink::Text, |(_, ink)| *ink)
    }

    /// Its text.
    pub(crate) fn plain(&self) -> String {
        self.spans.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// Text broken into lines, each indented by `indent`.
pub(crate) fn wrapped(text: &str, indent: usize, ink: Ink, look: Look) -> Vec<Line> {
    inked(broken(text, look.columns() - indent), indent, ink)
}

/// As [`wrapped`], and no word is broken at its hyphens: names of components have some.
pub(crate) fn wrapped_whole(text: &str, indent: usize, ink: Ink, look: Look) -> Vec<Line> {
    let options =
        textwrap::Options::new(look.columns() - indent).word_splitter(textwrap::WordSplitter::NoHyphenation);
    inked(textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect(), indent, ink)
}

/// As [`wrapped`], but not much longer than a person reads: three lines, or as many as hold [`ENOUGH`] columns.
/// What is cut off leaves an ellipsis.
pub(crate) fn wrapped_short(text: &str, indent: usize, ink: Ink, look: Look) -> Vec<Line> {
    let room = look.columns() - indent;
    inked(broken_short(text, room, look), indent, ink)
}

/// Whether [`wrapped_short`] leaves this text whole.
pub(crate) fn fits_short(text: &str, indent: usize, look: Look) -> bool {
    let room = look.columns() - indent;
    broken(text, room).len() <= most_lines(room, look)
}

fn inked(lines: Vec<String>, indent: usize, ink: Ink) -> Vec<Line> {
    lines.iter().map(|line| Line::indented(indent).with(line, ink)).collect()
}

/// How many lines of `room` columns a text may take that is no longer than a person reads.
fn most_lines(room: usize, look: Look) -> usize {
    if look.is_whole() { usize::MAX } else { (ENOUGH / room).max(3) }
}

/// Text broken into pieces of at most `room` columns.
pub(crate) fn broken(text: &str, room: usize) -> Vec<String> {
    let options = textwrap::Options::new(room).word_separator(textwrap::WordSeparator::Custom(words));
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// The words of a text, a number and its unit being one.
fn words(text: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut ends: Vec<usize> = Vec::new();
    let mut end = 0;
    for word in textwrap::WordSeparator::AsciiSpace.find_words(text) {
        let is_behind_number = text[..end].trim_end().ends_with(|last: char| last.is_ascii_digit());
        let unit = word.word.trim_end_matches(|mark: char| mark.is_ascii_punctuation() && mark != '%');
        if is_behind_number && UNITS.contains(&unit) {
            ends.pop();
        }
        if display_width(word.word) > LONG_WORD {
            ends.extend(word.word.match_indices("::").map(|(at, separator)| end + at + separator.len()));
        }
        end += word.word.len() + word.whitespace.len();
        ends.push(end);
    }
    let mut begin = 0;
    Box::new(ends.into_iter().map(move |end| Word::from(&text[std::mem::replace(&mut begin, end)..end])))
}

/// A word of more columns may be broken between the parts of a path.
const LONG_WORD: usize = 28;

/// What stands behind numbers.
pub(crate) const UNITS: [&str; 12] = ["%", "ns", "µs", "ms", "s", "k", "M", "G", "T", "J", "GHz", "mW"];

/// As [`broken`], cut as in [`wrapped_short`].
pub(crate) fn broken_short(text: &str, room: usize, look: Look) -> Vec<String> {
    let most = most_lines(room, look);
    let mut lines = broken(text, room);
    if lines.len() > most {
        lines.truncate(most);
        let last = &mut lines[most - 1];
        // Two spaces: it is cut even where it has room, and between words.
        *last = shorten::cut_end(&format!("{last}  "), room.min(display_width(last) + 1), look.ellipsis());
    }
    lines
}

/// How many columns text has beside a label.
pub(crate) fn text_room(look: Look) -> usize {
    look.columns() - if look.is_narrow() { 4 } else { LABEL }
}

/// Pieces beside a label (on narrow terminals below it), as many in a line as fit. Without a label they continue
/// the ones before.
pub(crate) fn labelled(label: &str, ink: Ink, pieces: Vec<Line>, look: Look) -> Vec<Line> {
    const GAP: usize = 3;
    let first = Line::indented(2).with(label, ink);
    let (indent, mut lines, mut line) = if look.is_narrow() {
        (4, if label.is_empty() { Vec::new() } else { vec![first] }, Line::indented(4))
    } else {
        (LABEL, Vec::new(), first.at_column("", LABEL, Ink::Text))
    };
    let mut empty = true;
    for piece in pieces {
        let room = text_room(look);
        if !empty && line.width() + GAP + piece.width() > look.columns() {
            lines.push(std::mem::replace(&mut line, Line::indented(indent)));
            empty = true;
        }
        if piece.width() > room {
            for part in broken_short(&piece.plain(), room, look) {
                if !empty {
                    lines.push(std::mem::replace(&mut line, Line::indented(indent)));
                }
                line = line.with(&part, Ink::Text);
                empty = false;
            }
            continue;
        }
        if !empty {
            line = line.with(&" ".repeat(GAP), Ink::Text);
        }
        line.spans.extend(piece.spans);
        empty = false;
    }
    lines.push(line);
    lines
}

/// The text of all lines, with colour codes where the look wants them.
pub(crate) fn painted(lines: &[Line], look: Look) -> String {
    let mut out = String::new();
    for line in lines {
        if look.color {
            for (text, ink) in &line.spans {
                let style = ink.style();
                write!(out, "{style}{text}{style:#}").expect("a String takes all that is written to it");
            }
        } else {
            out.push_str(line.plain().trim_end());
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit_stay_in_one_line() {
        assert_eq!(broken("it waited 12.4 ms, as it was", 15), ["it waited", "12.4 ms, as it", "was"]);
        assert_eq!(broken("(efficiency 84 %).", 14), ["(efficiency", "84 %)."]);
        assert_eq!(broken("in 3 s or   so", 6), ["in 3 s", "or  ", "so"].map(str::trim_end));
        assert_eq!(broken("", 5), [""]);
        assert_eq!(broken("s % ms", 3), ["s %", "ms"]);
    }
}
