//! Source around the causes of a section, each cause's lines marked with its letter.

use holdup_model::{Arrange, Frame};
use std::collections::BTreeMap;

use holdup_imbalance::{Cause, CauseKind};

use super::super::text::LOOK;
use crate::escape;
use crate::why::{WhyScene, letter, words};

/// So many lines before the first and behind the last marked line.
const AROUND: u32 = 3;

/// Marked lines that are as far apart are in one piece of source.
const APART: u32 = 12;

/// At most so many pieces are shown of a section.
const MOST: usize = 6;

/// The most columns of a line of source, and of a file's name.
const COLUMNS: usize = 240;
const FILE: usize = 96;

/// Some lines of a file that follow one another.
pub(super) struct Excerpt {
    pub(super) file: String,
    pub(super) function: String,
    pub(super) is_newer: bool,
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) number: u32,
    /// The letters of causes that name this line, and what they say of it.
    pub(super) marks: String,
    pub(super) text: String,
}

/// Which causes name a line, and as what.
type Marks<'a> = BTreeMap<(&'a str, u32), (Vec<String>, &'a str)>;

/// The source of these causes, where it is at hand, that of the first one first.
pub(super) fn excerpts(causes: &[Cause], scene: &WhyScene) -> Vec<Excerpt> {
    let mut marks: Marks<'_> = BTreeMap::new();
    let mut order: Vec<(&str, u32)> = Vec::new();
    for (index, cause) in causes.iter().enumerate() {
        let places = [
            ("", Some(cause.at.as_slice())),
            (if cause.kind == CauseKind::Recursion { " recurs" } else { " turns" }, cause.latch.as_deref()),
            (" to", Some(cause.to.as_slice()).filter(|to| !words::is_same_line(to, &cause.at))),
        ];
        for (what, place) in places {
            let Some(frame) = place.and_then(|place| Frame::place_of(place)) else { continue };
            let (Some(file), Some(line)) = (frame.file.as_deref(), frame.line) else { continue };
            let function = frame.function.as_deref().unwrap_or("");
            let (told, _) = marks.entry((file, line)).or_insert_with(|| (Vec::new(), function));
            told.push(format!("{}{what}", letter(index)));
            order.push((file, line));
        }
    }
    let mut pieces: Vec<(&str, u32, u32)> = Vec::new();
    for &(file, line) in marks.keys() {
        match pieces.last_mut().filter(|piece| piece.0 == file && line - piece.2 <= APART) {
            Some(piece) => piece.2 = line,
            None => pieces.push((file, line, line)),
        }
    }
    // The piece that an earlier cause needs comes first.
    let rank = |piece: &(&str, u32, u32)| {
        order.iter().position(|(file, line)| *file == piece.0 && (piece.1..=piece.2).contains(line))
    };
    pieces.arrange_by_key(|piece| rank(piece));
    pieces
        .into_iter()
        .filter_map(|(file, first, last)| excerpt(file, (first, last), &marks, scene))
        .take(MOST)
        .collect()
}

fn excerpt(file: &str, (first, last): (u32, u32), marks: &Marks<'_>, scene: &WhyScene) -> Option<Excerpt> {
    let source = scene.sources.get(file)?;
    let lines = source.shown(first, last, AROUND)?.into_iter().map(|(number, text)| Line {
        number,
        marks: marks.get(&(file, number)).map_or_else(String::new, |(told, _)| told.join(", ")),
        text: escape::cut(&escape::visible(&text, LOOK), COLUMNS, LOOK),
    });
    Some(Excerpt {
        file: escape::cut(&escape::visible(file, LOOK), FILE, LOOK),
        function: escape::name(marks.get(&(file, first)).map_or("", |(_, function)| function), LOOK),
        is_newer: source.is_newer,
        lines: lines.collect(),
    })
}
