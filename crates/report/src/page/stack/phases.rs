//! Phases as curves beside stacks: the whole program first, then its phases.

use askama::Template;
use holdup_model::Stack;
use holdup_speedup::{Component, PhaseKind, PhaseStack, PointStack, Speedup, SpeedupProfile};

use super::super::chart::Color;
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::{LOOK, percent, time, unbroken};
use super::curves::{Chart, chart};
use crate::stack::{told, words};

/// At most so many phases are shown.
const MOST_PHASES: usize = 12;

/// A section of phases.
#[derive(Template)]
#[template(path = "stack_phases.html")]
pub(super) struct Phases {
    id: &'static str,
    question: &'static str,
    method: &'static str,
    sentences: Vec<String>,
    phases: Vec<Phase>,
    meanings: Vec<(Color, &'static str, &'static str)>,
}

struct Phase {
    /// `None` for the whole program, which is what the section is about.
    name: Option<String>,
    told: String,
    /// Why there is no stack.
    no_stack: Option<String>,
    caption: String,
    chart: Option<Chart>,
    rows: Vec<Row>,
    /// What the colours of the last bar stand for: the colour, the name, the amount.
    key: Vec<(Color, String, String)>,
    sentences: Vec<String>,
    columns: Vec<String>,
}

struct Row {
    threads: String,
    bar: StackBar,
    time: String,
    speedup: String,
    amounts: Vec<String>,
}

impl Phases {
    /// The whole program; `None` where nothing was recorded.
    pub(super) fn of_whole(profile: &SpeedupProfile) -> Option<Self> {
        let whole = told::whole(profile)?;
        let nearly_all = told::nearly_all(profile);
        let only = nearly_all.map(|phase| {
            let name = words::phase(phase, LOOK);
            format!("Nearly all of it ({} of the time) is one phase: {name}.", percent(phase.share))
        });
        let order: Vec<&str> = profile.order.components().iter().map(|component| component.words()).collect();
        let sentences = [
            told::advice(profile, whole).map(str::to_owned),
            only.map(|text| unbroken(&text)),
            Some(format!(
                "The speedup that is reached and all that is lost add up to the number of threads. Bottlenecks are introduced \
                 one after the other: {}. A component is what its introduction costs.",
                order.join(", ")
            )),
        ];
        let known = |component: &Component| {
            whole.points.iter().filter_map(|point| point.stack.as_ref()).any(|stack| {
                let together =
                    stack.together.as_ref().is_some_and(|together| together.of.contains(component));
                together || stack.get(*component).is_some_and(|amount| amount != Speedup::ZERO)
            })
        };
        Some(Self {
            id: "answer",
            question: "What the speedup is lost to",
            method: "speedup stack · threads run alone, with a part of the cache",
            sentences: sentences.into_iter().flatten().collect(),
            phases: vec![phase(whole)],
            meanings: Component::ALL
                .into_iter()
                .filter(known)
                .map(|component| (component.color(), component.words(), words::meaning(component)))
                .collect(),
        })
    }

    /// The phases; `None` where there is none besides the one that is told of as the whole program.
    pub(super) fn of_phases(profile: &SpeedupProfile) -> Option<Self> {
        let told_above = told::nearly_all(profile).map(std::ptr::from_ref);
        let all: Vec<&PhaseStack> =
            told::phases(profile).filter(|phase| Some(std::ptr::from_ref(*phase)) != told_above).collect();
        if all.is_empty() {
            return None;
        }
        let more = all.len().saturating_sub(MOST_PHASES);
        let mut sentences = vec!["By what perfect scaling of each would save of the wall time.".to_owned()];
        if told_above.is_some() {
            sentences.push("The largest is told of above.".to_owned());
        }
        if more > 0 {
            sentences.push(format!("And {more} more: holdup stack --json has them."));
        }
        Some(Self {
            id: "phases",
            question: "Which phase",
            method: "parallel regions, or from the creation of threads to their join",
            sentences,
            phases: all.into_iter().take(MOST_PHASES).map(phase).collect(),
            meanings: Vec::new(),
        })
    }
}

/// What is missing of a phase with the most threads, a sentence each.
fn missing(phase: &PhaseStack) -> Vec<String> {
    let missing = phase.points.last().map(|point| told::missing(point, LOOK)).unwrap_or_default();
    missing.into_iter().map(|(what, why)| unbroken(&format!("Missing: {what}. {why}"))).collect()
}

fn phase(phase: &PhaseStack) -> Phase {
    let stacks: Vec<(&holdup_speedup::PhasePoint, &PointStack)> =
        phase.points.iter().filter_map(|point| Some((point, point.stack.as_ref()?))).collect();
    let told_of: Vec<Stack> = stacks.iter().map(|(_, stack)| stack.stack()).collect();
    let reach = Reach::of(&told_of);
    let together = stacks.iter().any(|(_, stack)| stack.together.is_some());
    let name = words::phase(phase, LOOK);
    let rows = stacks.iter().zip(&told_of).map(|((point, stack), bar)| {
        let speedup = words::speedup(stack.curves.measured, LOOK);
        let threads = point.threads.to_string();
        let mut amounts = vec![speedup.clone()];
        let amount =
            |amount: Option<Speedup>| amount.map_or_else(String::new, |amount| words::speedup(amount, LOOK));
        amounts.extend(Component::ALL.iter().map(|component| amount(stack.get(*component))));
        if together {
            amounts.push(amount(stack.together.as_ref().map(|together| together.amount)));
        }
        let curves = stack.curves;
        amounts.extend([amount(curves.pirate), amount(Some(curves.no_sync))]);
        Row {
            bar: StackBar::new(&format!("{threads} threads"), bar, reach, 20),
            threads,
            time: time(point.time),
            speedup,
            amounts,
        }
    });
    let rows: Vec<Row> = rows.collect();
    let mut columns = vec!["speedup".to_owned()];
    columns.extend(Component::ALL.iter().map(|component| component.words().to_owned()));
    if together {
        columns.push("not told apart".to_owned());
    }
    columns.extend(["alone, its share of the cache".to_owned(), "without synchronization".to_owned()]);
    let key = told_of.last().map(|stack| {
        let parts = stack.components().iter().filter(|part| part.amount.abs() >= told::LEAST_TOLD);
        parts.map(|part| (part.color, part.label.to_string(), stack.told_short(part.amount))).collect()
    });
    let mut sentences = Vec::new();
    if let Some((_, stack)) = stacks.last() {
        sentences.extend(told::imbalance(stack, LOOK));
    }
    if phase.kind != PhaseKind::Whole {
        sentences.extend(missing(phase));
    }
    let gain = match phase.potential_gain {
        Some(gain) if gain.get() > 0 => format!("; perfect scaling would save {}", time(gain)),
        Some(_) => "; it scales as well as can be".to_owned(),
        None => String::new(),
    };
    let no_stack = stacks.is_empty().then(|| {
        let why = phase.points.last().map(|point| told::missing(point, LOOK)).unwrap_or_default();
        let why: Vec<String> = why.into_iter().map(|(_, reason)| reason).collect();
        format!("Its speedup is not known. {}", why.join(" "))
    });
    Phase {
        told: format!("{} of the time with the most threads{gain}.", percent(phase.share)),
        no_stack,
        caption: format!("Speedup stacks of {name}"),
        name: (phase.kind != PhaseKind::Whole).then_some(name),
        chart: chart(phase),
        rows,
        key: key.unwrap_or_default(),
        sentences,
        columns,
    }
}
