//! The short answer of `holdup sim`: where most cycles go, first; then the stacks of runs, groups and threads as bars, the
//! lines that cost most, lines that are shared in vain, and resources that are full.

use holdup_cycles::PlaceCycles;
use holdup_model::cycles::Family;
use holdup_model::cycles::{CycleComponent, CycleStack};
use holdup_model::{Arrange, StackComponent};
use holdup_speedup::SpeedupStack;

use super::bars::{Bar, bars};
use super::rows::rows;
use super::view::{View, share, told_cpi};
use super::{SimTold, told, words};
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped, wrapped_short, wrapped_whole};
use crate::numbers::percent;
use crate::tabular::{Column, table};
use crate::why::words as why;
use crate::{Look, escape, numbers};

/// At most so many threads have a row of their own; neighbours are told together where there are more.
const MOST_THREADS: usize = 12;

/// Neighbours whose stacks differ by less than this part are told together in any case.
const ALIKE: f64 = 0.02;

/// The same for simulations, places, sections, shared lines and warnings.
const MOST_RUNS: usize = 16;
const MOST_PLACES: usize = 8;
const MOST_SECTIONS: usize = 6;
const MOST_LINES: usize = 3;
const MOST_WARNINGS: usize = 6;

/// Places and components below this share are not told.
const SMALL: f64 = 0.005;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_sim(told: &SimTold, look: Look) -> String {
    let view = View::new(told);
    let places = view.places();
    let mut lines = answer(&view, &places, look);
    let parts = [
        runs(&view, look),
        threads(&view, look),
        key(&view, look),
        self::places(&view, &places, look),
        sections(&view, look),
        sharing(&view, look),
        resources(&view, look),
        super::policies::policies(&view, look),
        speedups(told, look),
        foot(&view, look),
    ];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        lines.push(Line::default());
        lines.extend(part);
    }
    painted(&lines, look)
}

/// Our own sentences in the characters of the look.
fn shown(text: &str, look: Look) -> String {
    escape::visible(text, look)
}

fn most(view: &View, most: usize) -> usize {
    if view.told.all { usize::MAX } else { most }
}

/// What was simulated, and where most cycles go.
fn answer(view: &View, places: &[PlaceCycles], look: Look) -> Vec<Line> {
    let mut text = told::heading(view, look);
    if let Some(because) = told::because(view, places, look) {
        text = format!("{text} {because}");
    }
    let mut lines = wrapped_whole(&shown(&text, look), 0, Ink::Strong, look);
    for text in told::doubts(view) {
        lines.extend(wrapped(&escape::sentence(&text, look), 0, Ink::Warning, look));
    }
    let more = view.growth().map(|growth| told::grown(&growth));
    for text in more.into_iter().chain(told::left_out(view)) {
        lines.extend(wrapped_whole(&shown(&text, look), 0, Ink::Text, look));
    }
    lines
}

/// A bar for each simulation, where there are several.
fn runs(view: &View, look: Look) -> Vec<Line> {
    if view.told.runs.len() < 2 {
        return Vec::new();
    }
    let told = view.told.runs.len().min(most(view, MOST_RUNS));
    let rows: Vec<Bar> = (0..told)
        .map(|index| {
            let run = &view.told.runs[index];
            let speedup =
                view.speedup(index).map_or_else(String::new, |(_, speedup)| numbers::factor(speedup));
            Bar {
                label: told::label(view, run, look),
                stack: view.aggregates[index].stack,
                figures: vec![
                    numbers::time(run.simulated.time(), look),
                    speedup,
                    told_cpi(view.aggregates[index].stack.total(), view.aggregates[index].instructions),
                    why::count(run.simulated.cycles),
                ],
            }
        })
        .collect();
    let mut lines = bars(told::run_title(view), &["time", "speedup", "CPI", "cycles"], &rows, look);
    lines.extend(more(view.told.runs.len() - told, "simulations", look));
    lines
}

/// A bar for each group of threads, where there are several, and for each thread.
fn threads(view: &View, look: Look) -> Vec<Line> {
    let (Some(run), Some(aggregate)) = (view.main(), view.main_aggregate()) else { return Vec::new() };
    let simulated = &run.simulated;
    if simulated.cycles == 0 {
        return Vec::new();
    }
    let groups: Vec<Bar> = aggregate
        .groups
        .iter()
        .filter(|group| !group.threads.is_empty())
        .map(|group| Bar {
            label: match group.threads.len() {
                1 => words::group(group, look),
                many => format!("{} ({many})", words::group(group, look)),
            },
            stack: group.stack,
            figures: vec![told_cpi(group.stack.total(), group.instructions), why::count(group.instructions)],
        })
        .collect();
    let mut lines = match groups.len() {
        0 | 1 => Vec::new(),
        _ => bars(
            "group",
            &["CPI", "instructions"],
            &groups[..groups.len().min(most(view, MOST_THREADS))],
            look,
        ),
    };
    let names = words::threads(simulated, look);
    let alike = if view.told.all { 0.0 } else { ALIKE };
    let rows: Vec<Bar> = rows(simulated, aggregate, alike, most(view, MOST_THREADS))
        .into_iter()
        .map(|row| {
            let number = |index: usize| simulated.threads[index].number;
            let (first, last) = (row.threads.start, row.threads.end - 1);
            Bar {
                label: match row.threads.len() {
                    1 => names[first].clone(),
                    _ => format!("{} to {}", number(first), number(last)),
                },
                stack: row.stack,
                figures: vec![told_cpi(row.stack.total(), row.instructions), why::count(row.instructions)],
            }
        })
        .collect();
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    let title = if rows.len() < simulated.threads.len() { "threads" } else { "thread" };
    lines.extend(bars(title, &["CPI", "instructions"], &rows, look));
    lines
}

/// What the letters stand for, and how much there is of each component in the stacks.
fn key(view: &View, look: Look) -> Vec<Line> {
    let several = view.told.runs.len() > 1;
    let Some(aggregate) = view.main_aggregate() else { return Vec::new() };
    let mut all = CycleStack::default();
    let threads = view.main().map_or(&[][..], |run| &run.simulated.threads);
    let stacks = view.aggregates.iter().map(|aggregate| &aggregate.stack);
    let stacks: Vec<&CycleStack> = match several {
        true => stacks.chain(threads.iter().map(|thread| &thread.stack)).collect(),
        false => threads.iter().map(|thread| &thread.stack).collect(),
    };
    stacks.iter().for_each(|stack| all.add(stack));
    let is_told = |component: &CycleComponent| {
        stacks.iter().any(|stack| share(stack, *component) >= SMALL * 2.0) || share(&all, *component) >= SMALL
    };
    Family::ALL.iter().flat_map(|family| key_of(*family, &aggregate.stack, is_told, look)).collect()
}

/// The part of the key for a family of components. What only threads beside the stack have is told without a share.
fn key_of(
    family: Family,
    stack: &CycleStack,
    is_told: impl Fn(&CycleComponent) -> bool,
    look: Look,
) -> Vec<Line> {
    let own = || CycleComponent::ALL.iter().copied().filter(|component| component.family() == family);
    let pieces: Vec<Line> = own()
        .filter(is_told)
        .map(|component| {
            let piece = Line::default()
                .with(&component.letter().to_string(), Ink::Color(component.color()))
                .with(&format!(" {}", component.name()), Ink::Text);
            match stack.get(component) {
                0 => piece,
                _ => piece.with(&format!(" {}", percent(share(stack, component))), Ink::Strong),
            }
        })
        .collect();
    if pieces.is_empty() {
        return pieces;
    }
    let all: f64 = own().map(|component| share(stack, component)).sum();
    labelled(&format!("{} {}", family.name(), percent(all)), Ink::Faint, pieces, look)
}

/// The lines with most cycles.
fn places(view: &View, places: &[PlaceCycles], look: Look) -> Vec<Line> {
    let Some(run) = view.main() else { return Vec::new() };
    let all: u64 = run.simulated.threads.iter().map(|thread| thread.stack.total()).sum();
    let part = |place: &PlaceCycles| place.stack.total() as f64 / all.max(1) as f64;
    let told: Vec<&PlaceCycles> = places
        .iter()
        .filter(|place| view.told.all || part(place) >= SMALL)
        .take(most(view, MOST_PLACES))
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut lines = table(
        vec![
            Column::numbers("of cycles", told.iter().map(|place| percent(part(place)))),
            Column::words("line", told.iter().map(|place| why::frames(&place.at, look))),
            Column::words("mostly", told.iter().map(|place| told::mostly(&place.stack, 2))).optional(),
        ],
        look,
    );
    if view.told.all {
        lines.extend(more(places.len() - told.len(), "lines", look));
    }
    lines
}

/// The parallel sections with most cycles.
fn sections(view: &View, look: Look) -> Vec<Line> {
    let Some(run) = view.main().filter(|run| !run.sections.is_empty()) else { return Vec::new() };
    let all: u64 = run.simulated.threads.iter().map(|thread| thread.stack.total()).sum();
    let mut told: Vec<_> = run.sections.iter().collect();
    told.arrange_by_key(|section| std::cmp::Reverse(section.stack.total()));
    let left = told.len().saturating_sub(most(view, MOST_SECTIONS));
    told.truncate(most(view, MOST_SECTIONS));
    let name = |section: &holdup_cycles::SectionCycles| {
        let kind = why::section_kind(section.kind);
        let place = why::place(&section.end, look).unwrap_or_else(|| "at an unknown place".to_owned());
        format!("to the {kind} {place}")
    };
    let mut lines = table(
        vec![
            Column::numbers(
                "of cycles",
                told.iter().map(|section| percent(section.stack.total() as f64 / all.max(1) as f64)),
            ),
            Column::words("section", told.iter().map(|section| name(section))),
            Column::words("mostly", told.iter().map(|section| told::mostly(&section.stack, 2))).optional(),
            Column::numbers(
                "instances",
                told.iter().map(|section| numbers::grouped(u64::from(section.instances))),
            )
            .optional(),
        ],
        look,
    );
    lines.extend(more(left, "sections", look));
    lines
}

/// Lines that are shared in vain.
fn sharing(view: &View, look: Look) -> Vec<Line> {
    let found = view.false_sharing();
    let told = found.len().min(most(view, MOST_LINES));
    let mut lines: Vec<Line> = found[..told]
        .iter()
        .flat_map(|line| {
            wrapped_whole(&shown(&told::false_sharing(line, view, look), look), 2, Ink::Text, look)
        })
        .collect();
    lines.extend(more(found.len() - told, "falsely shared lines", look));
    let all = told::all_padded(view);
    lines.extend(all.into_iter().flat_map(|text| wrapped(&shown(&text, look), 2, Ink::Text, look)));
    lines
}

/// Resources that are full.
fn resources(view: &View, look: Look) -> Vec<Line> {
    let Some(run) = view.main() else { return Vec::new() };
    let mut full = told::full_resources(run, look);
    let left = full.len().saturating_sub(most(view, MOST_LINES));
    full.truncate(most(view, MOST_LINES));
    let mut lines: Vec<Line> =
        full.iter().flat_map(|text| wrapped(&shown(&format!("{text}."), look), 2, Ink::Text, look)).collect();
    lines.extend(more(left, "resources", look));
    lines
}

/// The speedup stacks, one below the other.
fn speedups(told: &SimTold, look: Look) -> Vec<Line> {
    let stacks: Vec<Vec<Line>> = told.speedup_stacks.iter().map(|stack| speedup(stack, look)).collect();
    stacks.join(&Line::default())
}

/// What each bottleneck costs of the perfect speedup.
fn speedup(stack: &SpeedupStack, look: Look) -> Vec<Line> {
    let mut lines = wrapped_whole(&shown(&told::speedup(stack, look), look), 0, Ink::Text, look);
    let all = stack.stack();
    let parts = || all.components().iter();
    let column = |of: &dyn Fn(&StackComponent) -> String, last: &str| -> Vec<String> {
        parts().map(of).chain([last.to_owned()]).collect()
    };
    lines.extend(table(
        vec![
            Column::numbers(
                "speedup",
                column(&|part| shown(&all.told_short(part.amount), look), &stack.cores.to_string()),
            ),
            Column::words("by", column(&|part| part.label.to_string(), "perfect")),
            Column::words("", column(&|part| part.meaning.to_owned(), "the sum of all")).optional(),
        ],
        look,
    ));
    lines
}

/// What is left out.
fn more(count: usize, what: &str, look: Look) -> Vec<Line> {
    match count {
        0 => Vec::new(),
        count => wrapped(&format!("and {count} more {what}: --json has them"), 2, Ink::Faint, look),
    }
}

/// Warnings, and how fast the simulator was.
fn foot(view: &View, look: Look) -> Vec<Line> {
    let warnings = told::warnings(view);
    let told = warnings.len().min(most(view, MOST_WARNINGS));
    let mut lines: Vec<Line> = warnings[..told]
        .iter()
        .flat_map(|text| {
            let mut lines = wrapped_short(&escape::sentence(text, look), 2, Ink::Text, look);
            if let Some(first) = lines.first_mut() {
                *first = first.clone().begun_with("! ", Ink::Warning);
            }
            lines
        })
        .collect();
    lines.extend(more(warnings.len() - told, "notes", look));
    if let Some(speed) = told::speed(view) {
        lines.extend(wrapped(&speed, 0, Ink::Faint, look));
    }
    lines
}
