//! What changes would give, as an answer.

use holdup_answer::{Answer, KeyFigure, Section, Table};
use holdup_model::figures::factor;
use holdup_model::names::{Names, program_of};
use holdup_model::{Nanos, Process};

use holdup_replay::{Next, Point, Prediction, Replayer, object_name};

/// What changes of a process would give, as an answer: which gives most, and a line for each.
pub fn answer(process: &Process, replayer: &Replayer<'_>, results: &[(Point, Prediction)]) -> Answer {
    let wall = process.wall();
    let longest = results.iter().map(|(_, prediction)| prediction.wall).max().unwrap_or(Nanos::ZERO);
    let is_swept = results.iter().any(|(point, _)| point.at.is_some());
    let mut table = Table::of("What changes would give", results)
        .words("change", |(point, _)| point.expression.clone())
        .numbers("run time", |(_, prediction)| prediction.wall.to_string())
        .numbers("interval", |(_, prediction)| Nanos::range(prediction.low, prediction.high))
        .numbers("saves", |(_, prediction)| share(saved(wall, prediction)))
        .words("then limited by", |(_, prediction)| next_limit(process, prediction).unwrap_or_default())
        .numbers("times as fast", |(_, prediction)| factor(times(wall, prediction)))
        .if_there_is_room();
    if is_swept {
        table = table.shares("", "act", |(_, prediction)| prediction.wall.share_of(longest));
    }
    let sections = (!results.is_empty()).then(|| Section {
        heading: "What each change would give".to_owned(),
        aside: unchanged(process, replayer),
        blocks: vec![table.block()],
        ..Section::default()
    });
    Answer {
        command: "holdup whatif",
        subject: program_of(process),
        headline: headline(wall, results),
        program: process.command.clone(),
        figures: figures(wall, replayer.replayed(), best(results)),
        warnings: Vec::new(),
        sections: sections.into_iter().collect(),
        notes: results.iter().flat_map(|result| notes(process, result)).collect(),
    }
}

/// What limits the program after a change; `None` where that is not known. A name of the program may be in it.
pub fn next_limit(process: &Process, prediction: &Prediction) -> Option<String> {
    Some(match prediction.next? {
        Next::Cores(1) => "one core".to_owned(),
        Next::Cores(cores) => format!("the number of cores ({cores})"),
        Next::Object(object) => Names::of(process, None).object(object).to_owned(),
        Next::Thread(thread) => Names::of(process, None).thread_in_full(thread),
    })
}

/// How well the replay knows the run.
pub(crate) fn unchanged(process: &Process, replayer: &Replayer<'_>) -> String {
    let (wall, replayed) = (process.wall(), replayer.replayed());
    format!("it ran {wall}; unchanged, the replay takes {replayed} ({})", difference(replayed, wall))
}

fn best(results: &[(Point, Prediction)]) -> Option<&(Point, Prediction)> {
    results.iter().min_by_key(|(_, prediction)| prediction.wall)
}

fn headline(wall: Nanos, results: &[(Point, Prediction)]) -> String {
    let Some((point, prediction)) = best(results) else { return String::new() };
    let would = format!(
        "it would have run {} ({}) instead of {wall}",
        prediction.wall,
        Nanos::range(prediction.low, prediction.high)
    );
    let change = &point.expression;
    if prediction.wall >= wall {
        let none = if results.len() == 1 { "No gain" } else { "None of these changes helps" };
        return format!("{none}: with {change} {would}.");
    }
    let most = if results.len() == 1 { "With" } else { "Most is gained with" };
    let comma = if results.len() == 1 { "" } else { ":" };
    format!(
        "{most} {change}{comma} {would}, {} less, {} times as fast.",
        share(saved(wall, prediction)),
        factor(times(wall, prediction))
    )
}

fn figures(wall: Nanos, replayed: Nanos, best: Option<&(Point, Prediction)>) -> Vec<KeyFigure> {
    let mut figures = vec![
        KeyFigure { name: "It ran", value: wall.to_string() },
        KeyFigure { name: "Replayed unchanged", value: replayed.to_string() },
    ];
    if let Some((_, prediction)) = best {
        figures.push(KeyFigure { name: "With the best change", value: prediction.wall.to_string() });
        figures.push(KeyFigure { name: "Saved", value: share(saved(wall, prediction)) });
    }
    figures
}

fn notes(process: &Process, (point, prediction): &(Point, Prediction)) -> Vec<String> {
    let mut notes: Vec<String> = prediction
        .unseen
        .iter()
        .map(|&lock| {
            format!(
                "{}: {} may be the next to hold it up: how long it is held is known from a few holds only; record with \
                 --holds all.",
                point.expression,
                object_name(process, lock)
            )
        })
        .collect();
    if prediction.let_through > 0 {
        notes.push(format!(
            "{}: {} times all threads waited for each other, and one was let through: trust it less.",
            point.expression, prediction.let_through
        ));
    }
    notes
}

/// The share of the wall time that is saved; negative for what makes the program slower.
fn saved(wall: Nanos, prediction: &Prediction) -> f64 {
    1.0 - prediction.wall.get() as f64 / wall.get().max(1) as f64
}

fn times(wall: Nanos, prediction: &Prediction) -> f64 {
    wall.get() as f64 / prediction.wall.get().max(1) as f64
}

/// A share with one digit: `47.3 %`, `−2.0 %`.
fn share(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    let sign = if rounded < 0.0 { "−" } else { "" };
    format!("{sign}{:.1} %", rounded.abs())
}

/// By how much a length differs from another one: `+1.2 %`, `−0.4 %`.
fn difference(length: Nanos, from: Nanos) -> String {
    let by = length.get() as f64 / from.get().max(1) as f64 - 1.0;
    let sign = if by > 0.0 { "+" } else { "" };
    format!("{sign}{}", share(by))
}
