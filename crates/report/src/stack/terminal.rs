//! The short answer of `holdup stack`: what costs most, what fixing it would save, and what more cache would.

use holdup_model::{Stack, StackComponent};
use holdup_speedup::{Component, PhasePoint, PhaseStack, PointStack, REACHED, Speedup, SpeedupProfile};
use textwrap::core::display_width;

use super::told::LEAST_TOLD;
use super::{told, words};
use crate::bars::bar;
use crate::escape::sentences;
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped, wrapped_short};
use crate::numbers::{counted, percent, time};
use crate::tabular::{Column, table};
use crate::{Look, escape};

/// At most so many phases, groups, reasons, discarded measurements and notes are told.
const MOST_PHASES: usize = 4;
const MOST_GROUPS: usize = 4;
const MOST_DISCARDED: usize = 4;
const MOST_NOTES: usize = 8;

/// A phase that could save less than this share of the wall time is not told, but counted.
const SMALL_PHASE: f64 = 0.005;

/// The longest and the shortest bar in columns.
const LONGEST: usize = 60;
const SHORTEST: usize = 12;

/// What details are indented by.
const INDENT: usize = 4;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_stack(profile: &SpeedupProfile, look: Look) -> String {
    let mut lines = wrapped(&told::heading(profile, look), 0, Ink::Strong, look);
    if let Some(advice) = told::whole(profile).and_then(|whole| told::advice(profile, whole)) {
        lines.extend(wrapped(advice, 0, Ink::Text, look));
    }
    for part in [bars, components, cache, phases, instances, simulated, foot] {
        let part = part(profile, look);
        if !part.is_empty() {
            lines.push(Line::default());
            lines.extend(part);
        }
    }
    painted(&lines, look)
}

/// A bar for the whole program at each number of threads.
fn bars(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let Some(whole) = told::whole(profile) else { return Vec::new() };
    let rows: Vec<(&PhasePoint, &PointStack)> =
        whole.points.iter().filter_map(|point| Some((point, point.stack.as_ref()?))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let stacks: Vec<Stack> = rows.iter().map(|(_, stack)| stack.stack()).collect();
    let most = stacks.iter().map(|stack| stack.reach().1).fold(f64::MIN_POSITIVE, f64::max);
    let figures: Vec<[String; 3]> = rows
        .iter()
        .map(|(point, stack)| {
            let measured = words::speedup(stack.curves.measured, look);
            [point.threads.to_string(), time(point.time, look), measured]
        })
        .collect();
    let titles = ["threads", "time", "speedup"];
    let width = |column: usize| {
        let cells = figures.iter().map(|row| display_width(&row[column]));
        cells.chain([titles[column].len()]).max().unwrap_or(0)
    };
    let mut ends = [2 + width(0), 0, 0];
    for column in 1..3 {
        ends[column] = ends[column - 1] + 2 + width(column);
    }
    let begin = ends[2] + 2;
    if begin + SHORTEST > look.columns() {
        let column =
            |index: usize| Column::numbers(titles[index], figures.iter().map(|row| row[index].clone()));
        return table(vec![column(0), column(1), column(2)], look);
    }
    let length = look.columns().saturating_sub(begin).clamp(SHORTEST, LONGEST);
    let titled = |line: Line, cells: [&str; 3], ink| {
        cells.iter().zip(ends).fold(line, |line, (cell, end)| line.right_aligned(cell, end, ink))
    };
    let mut lines = vec![titled(Line::default(), titles, Ink::Faint)];
    for (stack, figures) in stacks.iter().zip(&figures) {
        let line = titled(Line::default(), figures.each_ref().map(String::as_str), Ink::Text);
        lines.push(bar(line.at_column("", begin, Ink::Text), stack, most, length, look));
    }
    lines
}

/// What the speedup with the most threads is lost to.
fn components(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let Some((point, stack)) = told::whole(profile).and_then(told::last) else { return Vec::new() };
    if point.threads == profile.base {
        return Vec::new();
    }
    let title = format!("lost of {}", point.threads);
    let missing = |component: Component| stack.get(component).is_none();
    let all = stack.stack();
    let is_told = |component: &&StackComponent| {
        component.key != REACHED
            && (component.amount.abs() >= LEAST_TOLD || Component::named(&component.key).is_none())
    };
    let rows: Vec<&StackComponent> = all.components().iter().rev().filter(is_told).collect();
    let amount = |component: &StackComponent| Speedup::of(component.amount);
    let mut lines = Vec::new();
    if rows.is_empty() {
        lines.push(Line::indented(2).with("Nothing of a size to name is lost.", Ink::Text));
    } else {
        lines.extend(table(
            vec![
                Column::words("", rows.iter().map(|part| part.letter.into_iter().collect())),
                Column::words("what", rows.iter().map(|part| part.label.to_string())),
                Column::numbers(&title, rows.iter().map(|part| words::speedup(amount(part), look))),
                Column::numbers(
                    "times faster without",
                    rows.iter().map(|part| told::gain(stack, amount(part)).unwrap_or_default()),
                )
                .optional(),
            ],
            look,
        ));
    }
    if let Some(text) = told::imbalance(stack, look) {
        lines.extend(wrapped(&text, 2, Ink::Text, look));
    }
    let unknown: Vec<Component> =
        Component::ALL.into_iter().filter(|component| missing(*component)).collect();
    if !unknown.is_empty() {
        for (what, reason) in told::missing(point, look) {
            let text = format!("{what}: not known. {reason}");
            lines.extend(labelled(
                "missing",
                Ink::Warning,
                vec![Line::default().with(&text, Ink::Text)],
                look,
            ));
        }
    }
    lines
}

/// What more cache would give, for the phases that count.
fn cache(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let several = told::phases(profile).count() > 1;
    for phase in told::phases(profile).take(MOST_PHASES) {
        let Some(point) = phase.points.last() else { continue };
        let alone = point.groups.len() == 1;
        for group in point.groups.iter().take(MOST_GROUPS) {
            if let Some(text) = told::sensitivity(group, alone, look) {
                let place =
                    if several { format!("In {}: ", words::phase(phase, look)) } else { String::new() };
                let text = format!("{place}{}", if several { lower(&text) } else { text });
                lines.extend(labelled(
                    "more cache",
                    Ink::Faint,
                    vec![Line::default().with(&text, Ink::Text)],
                    look,
                ));
            }
            if let Some(text) = told::counted_with(group) {
                lines.extend(labelled(
                    "counters",
                    Ink::Faint,
                    vec![Line::default().with(&text, Ink::Text)],
                    look,
                ));
            }
        }
    }
    lines
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The phases that could save something, with what they lose.
fn phases(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let wall = told::whole(profile).and_then(|whole| whole.points.last()).map(|point| point.time);
    let Some(wall) = wall else { return Vec::new() };
    let all: Vec<&PhaseStack> = told::phases(profile).collect();
    let counts = |phase: &&&PhaseStack| {
        phase.potential_gain.is_none_or(|gain| gain.share_of(wall) >= SMALL_PHASE) && phase.share > 0.0
    };
    // One phase that is nearly all of the program has been told.
    if all.len() < 2 && all.iter().all(|phase| phase.share > 0.9) {
        return Vec::new();
    }
    let told: Vec<&&PhaseStack> = all.iter().filter(counts).take(MOST_PHASES).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut lines = wrapped("phases, by what perfect scaling would save", 2, Ink::Faint, look);
    for (index, phase) in told.iter().enumerate() {
        let rank = format!("{} ", index + 1);
        let mut heading =
            wrapped_short(&words::phase(phase, look), rank.len(), Ink::Strong, look).into_iter();
        lines.extend(heading.next().map(|line| line.begun_with(&rank, Ink::Faint)));
        lines.extend(heading);
        lines.extend(wrapped(&phase_told(phase, look), INDENT, Ink::Text, look));
    }
    if let Some(more @ 1..) = all.len().checked_sub(told.len()) {
        let text = format!("and {}: holdup stack --json", counted(more as u64, "more phase", "more phases"));
        lines.extend(wrapped(&text, 2, Ink::Faint, look));
    }
    lines
}

/// A phase in a sentence or two.
fn phase_told(phase: &PhaseStack, look: Look) -> String {
    let share = format!("{} of the time", percent(phase.share));
    let Some((point, stack)) = told::last(phase) else {
        let why = phase.points.last().map(|point| told::missing(point, look)).unwrap_or_default();
        let why = why.first().map_or_else(String::new, |(_, reason)| format!(" {reason}"));
        return format!("{share}; its speedup is not known.{why}");
    };
    let lost: Vec<String> = told::largest(stack)
        .into_iter()
        .take(3)
        .map(|part| format!("{} {}", part.label, words::speedup(Speedup::of(part.amount), look)))
        .collect();
    let lost = if lost.is_empty() {
        "next to nothing is lost".to_owned()
    } else {
        format!("lost: {}", lost.join(", "))
    };
    let saves = match phase.potential_gain {
        Some(gain) if gain.get() > 0 => format!(", perfect scaling would save {}", time(gain, look)),
        _ => String::new(),
    };
    format!(
        "{share}{saves}; speedup {} of {}; {lost}.",
        words::speedup(stack.curves.measured, look),
        point.threads
    )
}

/// Copies of a program with one thread.
fn instances(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for of in &profile.instances {
        if of.points.is_empty() {
            continue;
        }
        let title = format!("copies of {}", escape::name(&of.name, look));
        let cell = |value: Option<holdup_speedup::Speedup>| {
            value.map_or_else(|| "not known".to_owned(), |value| words::speedup(value, look))
        };
        let component = |point: &holdup_speedup::instances::InstancesPoint, wanted| {
            cell(point.components.iter().find(|(known, _)| *known == wanted).map(|(_, amount)| *amount))
        };
        lines.extend(table(
            vec![
                Column::numbers(&title, of.points.iter().map(|point| point.copies.to_string())),
                Column::numbers("cache each", of.points.iter().map(told::cache_of)).optional(),
                Column::numbers("throughput", of.points.iter().map(|point| cell(point.measured))),
                Column::numbers("cache", of.points.iter().map(|point| component(point, Component::Cache))),
                Column::numbers("memory", of.points.iter().map(|point| component(point, Component::Memory))),
            ],
            look,
        ));
        if let Some(text) = of.points.last().and_then(told::demand) {
            lines.extend(wrapped(&text, 2, Ink::Text, look));
        }
        for missing in of.points.iter().flat_map(|point| &point.missing).take(2) {
            lines.extend(labelled(
                "missing",
                Ink::Warning,
                vec![Line::default().with(&sentences(&missing.reason, look), Ink::Text)],
                look,
            ));
        }
    }
    lines
}

/// What the simulator says of the same program.
fn simulated(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let told = profile.simulated.iter().flat_map(|stack| {
        let text = told::simulated(profile, stack, look);
        labelled("simulated", Ink::Faint, vec![Line::default().with(&text, Ink::Text)], look)
    });
    told.collect()
}

/// What does not count, how far the numbers go, and what measuring took.
fn foot(profile: &SpeedupProfile, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &str, ink: Ink, text: String| {
        lines.extend(labelled(label, ink, vec![Line::default().with(&text, Ink::Text)], look));
    };
    let discarded = told::all_discarded(profile, look);
    for told in discarded.iter().take(MOST_DISCARDED) {
        add("discarded", Ink::Faint, told.clone());
    }
    if let Some(more @ 1..) = discarded.len().checked_sub(MOST_DISCARDED) {
        let text = format!(
            "and {}: holdup stack --json",
            counted(more as u64, "more measurement", "more measurements")
        );
        add("", Ink::Faint, text);
    }
    for note in profile.notes.iter().filter(|note| !note.trim().is_empty()).take(MOST_NOTES) {
        add("note", Ink::Warning, sentences(note, look));
    }
    if let Some(more @ 1..) = profile.notes.len().checked_sub(MOST_NOTES) {
        add(
            "",
            Ink::Faint,
            format!("and {}: holdup stack --json", counted(more as u64, "more note", "more notes")),
        );
    }
    if let Some(text) = told::cache(profile) {
        add("cache", Ink::Faint, text);
    }
    if let Some(text) = told::effort(&profile.effort, profile.base, look) {
        add("measured", Ink::Faint, text);
    }
    lines
}
