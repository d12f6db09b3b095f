//! The short answer of `holdup why`: what makes threads unequal in the section that matters most, first; then how sure that
//! is, what each thread did, and all sections as a table.

use holdup_imbalance::{Cause, SectionWhy, Why};
use holdup_model::Frame;

use super::{WhyScene, chart, removed, told, words};
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped, wrapped_short};
use crate::numbers::{counted, grouped, percent};
use crate::tabular::{Column, table};
use crate::{Look, escape};

/// At most so many sections are told in detail, and none with less than this share of all idle time but the first.
const MOST_SECTIONS: usize = 3;
const SMALL_SECTION: f64 = 0.1;

/// At most so many sections have a row, and so many causes are told of one.
const MOST_ROWS: usize = 10;
const MOST_CAUSES: usize = 3;

/// At most so many instructions of a leader, and notes, are told.
const MOST_INSTRUCTIONS: usize = 8;
const MOST_NOTES: usize = 8;

/// What details are indented by.
const INDENT: usize = 4;

/// Lines that are as far apart are read together.
const CLOSE: u32 = 12;

/// The most columns of a line of source or an instruction.
const SOURCE: usize = 200;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_why(why: &Why, scene: &WhyScene, look: Look) -> String {
    let mut lines = wrapped(&told::heading(why, scene, look), 0, Ink::Strong, look);
    if let Some(because) = told::because(why, scene, look) {
        lines.extend(wrapped(&because, 0, Ink::Strong, look));
    }
    let detailed = detailed(why, scene);
    for (index, section) in detailed.iter().enumerate() {
        lines.push(Line::default());
        lines.extend(self::section(index, section, why, scene, look));
    }
    for part in [sections(why, scene, look), foot(why, &detailed, scene, look)] {
        if !part.is_empty() {
            lines.push(Line::default());
            lines.extend(part);
        }
    }
    painted(&lines, look)
}

/// The sections that are told in detail.
fn detailed<'a>(why: &'a Why, scene: &WhyScene) -> Vec<&'a SectionWhy> {
    let most = if scene.all { usize::MAX } else { MOST_SECTIONS };
    let is_told = |(index, section): &(usize, &SectionWhy)| {
        scene.all || *index == 0 || (section.share >= SMALL_SECTION && !told::is_quiet(section))
    };
    why.sections.iter().enumerate().filter(is_told).map(|(_, section)| section).take(most).collect()
}

/// The causes of a section that are told, each with the letter that marks it.
fn causes<'a>(section: &'a SectionWhy, scene: &WhyScene) -> Vec<(String, &'a Cause)> {
    let most = if scene.all { usize::MAX } else { MOST_CAUSES };
    let told = section.causes.iter().filter(|cause| scene.all || !cause.minor).take(most);
    told.enumerate().map(|(index, cause)| (letter(index), cause)).collect()
}

/// `a`, `b` … `z`, `27`, …
pub(crate) fn letter(index: usize) -> String {
    match u8::try_from(index).ok().filter(|index| *index < 26) {
        Some(index) => char::from(b'a' + index).to_string(),
        None => (index + 1).to_string(),
    }
}

fn section(index: usize, section: &SectionWhy, why: &Why, scene: &WhyScene, look: Look) -> Vec<Line> {
    let rank = format!("{} ", index + 1);
    let heading = words::section_name(section, look);
    let mut lines = wrapped_short(&heading, rank.len(), Ink::Strong, look);
    if let Some(first) = lines.first_mut() {
        *first = first.clone().begun_with(&rank, Ink::Faint);
    }
    let mut add = |text: String| lines.extend(wrapped_short(&shown(&text, look), INDENT, Ink::Text, look));
    add(told::facts(section, look));
    add(told::imbalance(why, section));
    for text in [
        told::worst(section),
        told::native(section),
        told::schedule(section).map(|text| escape::sentence(&text, look)),
        told::dealt(section),
    ] {
        text.into_iter().for_each(&mut add);
    }
    // The answer's first sentences have said it of the first section, if nothing was found there.
    let is_said = index == 0 && section.causes.iter().all(|cause| cause.minor);
    if let Some(text) = told::verdict(section, why).filter(|_| !is_said) {
        add(text);
    }
    let causes = causes(section, scene);
    for (place, (name, cause)) in causes.iter().enumerate() {
        // The answer begins with the first cause of the first section: its sentence is not said again.
        let said = (index, place) == (0, 0) && !cause.minor;
        let title = match said {
            true => told::cause_title(cause, look),
            false => format!("{}.", told::cause_clause(cause, scene, look)),
        };
        lines.push(Line::default());
        lines.extend(self::cause(name, &title, cause, section, why, scene, look));
    }
    if let Some(text) = removed::sentence(section, &scene.removed) {
        lines.push(Line::default());
        lines.extend(wrapped(&shown(&text, look), INDENT, Ink::Strong, look));
    }
    let chart = match told::is_quiet(section) {
        true => Vec::new(),
        false => chart::chart(section, why.time_unit, scene, &causes, INDENT, look),
    };
    if !chart.is_empty() {
        lines.push(Line::default());
        lines.extend(chart);
    }
    if let Some(text) = told::unexplained(section, why) {
        lines.push(Line::default());
        lines.extend(wrapped(&shown(&text, look), INDENT, Ink::Text, look));
    }
    lines
}

/// Our own sentences in the characters of the look.
fn shown(text: &str, look: Look) -> String {
    escape::visible(text, look)
}

fn cause(
    name: &str,
    title: &str,
    cause: &Cause,
    section: &SectionWhy,
    why: &Why,
    scene: &WhyScene,
    look: Look,
) -> Vec<Line> {
    let inner = INDENT + 2;
    let mut lines = wrapped(title, inner, Ink::Strong, look);
    if let Some(first) = lines.first_mut() {
        *first = first.clone().begun_with(&format!("{:INDENT$}{name} ", ""), Ink::Faint);
    }
    lines.extend(source(cause, scene, inner, look));
    let mut certain = told::certainty(why, section, cause);
    if told::has_score(section) {
        certain.insert(0, format!("Score {}", words::score_told(cause)));
    }
    lines.extend(wrapped(&format!("{}.", certain.join("; ")), inner, Ink::Text, look));
    if let Some(inlined) = told::inlined(cause, look) {
        lines.extend(wrapped(&inlined, inner, Ink::Faint, look));
    }
    if let Some(why) = told::instructions(cause).filter(|_| !cause.listing.is_empty()) {
        lines.extend(wrapped(why, inner, Ink::Text, look));
        lines.extend(listing(cause, inner + 2, look));
    }
    lines
}

/// The line of source itself, and that of its target where they differ.
fn source(cause: &Cause, scene: &WhyScene, indent: usize, look: Look) -> Vec<Line> {
    let mut told: Vec<(u32, &str)> = Vec::new();
    let places = [Some(cause.at.as_slice()), cause.latch.as_deref(), Some(cause.to.as_slice())];
    let first = Frame::place_of(&cause.at).and_then(|frame| frame.file.clone());
    for frame in places.into_iter().flatten().filter_map(|place| Frame::place_of(place)) {
        // Lines of another file beside these numbers would be misread.
        if let (Some(line), Some(text)) = (frame.line.filter(|_| frame.file == first), scene.line(frame))
            && told.iter().all(|(other, _)| *other != line)
        {
            told.push((line, text));
        }
    }
    // What is close together is read in the order of the file, else the deciding line comes first.
    let most = told.iter().map(|(line, _)| *line).max().unwrap_or(0);
    let least = told.iter().map(|(line, _)| *line).min().unwrap_or(0);
    if most - least <= CLOSE {
        told.sort_unstable();
    }
    let width = most.to_string().len();
    let edge = if look.unicode { "│" } else { "|" };
    let texts: Vec<String> = told.iter().map(|(_, text)| text.trim_end().replace('\t', "    ")).collect();
    let depth = |text: &String| text.len() - text.trim_start_matches(' ').len();
    let least = texts.iter().filter(|text| !text.is_empty()).map(depth).min().unwrap_or(0);
    told.iter()
        .zip(&texts)
        .map(|((line, _), text)| {
            let text = escape::visible(text.get(least..).unwrap_or(""), look);
            let room = look.columns() - indent - width - 3;
            Line::indented(indent)
                .with(&format!("{line:>width$} {edge} "), Ink::Faint)
                .with(&escape::cut_end(&text, room.min(SOURCE), look), Ink::Text)
        })
        .collect()
}

/// The last instructions of the leader: what decides comes last.
fn listing(cause: &Cause, indent: usize, look: Look) -> Vec<Line> {
    let from = cause.listing.len().saturating_sub(MOST_INSTRUCTIONS);
    cause.listing[from..]
        .iter()
        .map(|(address, text)| {
            let room = look.columns() - indent - 18;
            let text = escape::cut(&escape::visible(text, look), room.min(SOURCE), look);
            Line::indented(indent).with(&format!("{address:>#12x}  "), Ink::Faint).with(&text, Ink::Text)
        })
        .collect()
}

/// All sections as a table (paper 2, Table 1).
fn sections(why: &Why, scene: &WhyScene, look: Look) -> Vec<Line> {
    let most = if scene.all { usize::MAX } else { MOST_ROWS };
    let told: Vec<&SectionWhy> = why.sections.iter().take(most).collect();
    if why.sections.len() < 2 {
        return Vec::new();
    }
    let place =
        |section: &&SectionWhy| escape::cut(&words::section_place(section, look), look.columns() / 2, look);
    // Sections that end at one place differ in where they begin.
    let ends: Vec<String> = told.iter().map(place).collect();
    let is_double = (1..ends.len()).any(|index| ends[..index].contains(&ends[index]));
    let from = |section: &&SectionWhy| {
        let is_known = Frame::place_of(&section.begin.frames).is_some();
        if is_double && is_known { words::line(&section.begin.frames, look) } else { String::new() }
    };
    let native = |section: &&SectionWhy| {
        let native = section.native.as_ref().filter(|native| !native.is_little());
        native.map_or_else(String::new, |native| percent(native.imbalance))
    };
    let explained = |section: &&SectionWhy| match section.causes.is_empty() {
        true => String::new(),
        false => percent(section.explained),
    };
    let cause = |section: &&SectionWhy| {
        let first = section.causes.iter().find(|cause| !cause.minor);
        first.map_or_else(String::new, |cause| {
            format!("{} {}", words::cause_word(cause.kind), words::line(&cause.at, look))
        })
    };
    let mut lines = table(
        vec![
            Column::words("section", ends.iter().cloned()),
            Column::words("from", told.iter().map(from)).optional(),
            Column::words(
                "kind",
                told.iter().map(|section| words::section_kind_short(section.kind).to_owned()),
            )
            .optional(),
            Column::numbers("imbalance", told.iter().map(|section| percent(section.imbalance))),
            Column::numbers("explained", told.iter().map(explained)).optional(),
            Column::words("first cause", told.iter().map(cause)).optional(),
            Column::numbers("spread", told.iter().map(|section| percent(section.spread))).optional(),
            Column::numbers("instances", told.iter().map(|section| grouped(u64::from(section.instances))))
                .optional(),
            Column::numbers("threads", told.iter().map(|section| section.threads.to_string())).optional(),
            Column::numbers("natively", told.iter().map(native)).optional(),
        ],
        look,
    );
    if let Some(more @ 1..) = why.sections.len().checked_sub(told.len()) {
        let text = format!("and {}", counted(more as u64, "more section", "more sections"));
        lines.extend(wrapped(&text, 2, Ink::Faint, look));
    }
    lines
}

/// How it was found, what a reader must know, and what was left out.
fn foot(why: &Why, detailed: &[&SectionWhy], scene: &WhyScene, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &str, ink: Ink, text: &str| {
        lines.extend(labelled(label, ink, vec![Line::default().with(text, Ink::Text)], look));
    };
    if !why.sections.is_empty() {
        add("method", Ink::Faint, &shown(&told::method(why), look));
    }
    let notes: Vec<&String> = why.warnings.iter().filter(|note| !note.trim().is_empty()).collect();
    for note in notes.iter().take(MOST_NOTES) {
        add("note", Ink::Warning, &escape::sentence(note, look));
    }
    if let Some(more @ 1..) = notes.len().checked_sub(MOST_NOTES) {
        add(
            "",
            Ink::Faint,
            &format!("and {}: holdup why --json", counted(more as u64, "more note", "more notes")),
        );
    }
    let left =
        detailed.iter().map(|section| section.causes.len() - causes(section, scene).len()).sum::<usize>();
    let quiet = why.sections.len() - detailed.len();
    let left: Vec<String> = [(left, "cause", "causes"), (quiet, "section", "sections")]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count as u64, &format!("more {one}"), &format!("more {many}")))
        .collect();
    if !left.is_empty() {
        add("more", Ink::Faint, &format!("{}: --all", left.join(", ")));
    }
    lines
}
