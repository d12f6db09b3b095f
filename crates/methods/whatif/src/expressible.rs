//! What can be changed in a recorded run, as expressions to begin with.

use std::collections::BTreeMap;

use holdup_answer::{Answer, Section, Table};
use holdup_model::names::{Names, program_of};
use holdup_model::selector::quoted;
use holdup_model::{Arrange, Doing, Families, Nanos, ObjectId, ObjectKind, Process, ThreadId};
use holdup_replay::{Replayer, is_lock, object_name, parse, place_name, thread_name};

use crate::answer::unchanged;

/// At most so many expressions of a sort are listed.
const MOST: usize = 8;

/// Something that can be changed.
#[derive(Clone, Debug)]
pub struct Expressible {
    /// The expression. A name of the program may be in it.
    pub expression: String,
    /// What it asks.
    pub asks: &'static str,
    /// How long was waited for it, or how long it was at work, by all threads together.
    pub amount: Nanos,
}

/// What can be changed of a process: what was waited for, threads, and places in the code, of each the longest first.
pub fn expressible(process: &Process) -> Vec<Expressible> {
    let all = [objects(process), threads(process), places(process)].into_iter().flat_map(largest);
    // What a name stands for may be no single thing.
    all.filter(|one| parse(&one.expression, process).is_ok()).collect()
}

/// The same as an answer.
pub fn expressible_answer(process: &Process, replayer: &Replayer<'_>) -> Answer {
    let all = expressible(process);
    let table = Table::of("What can be changed", &all)
        .words("change", |one| one.expression.clone())
        .words("asks what it gives if", |one| one.asks.to_owned())
        .if_there_is_room()
        .numbers("time, all threads", |one| one.amount.to_string());
    let of_all = ["cores=8", "wakeup=0", "io=0", "sleep=0", "load=0"];
    Answer {
        command: "holdup whatif",
        subject: program_of(process),
        headline: "Say what changes, such as cores=8; these can be named.".to_owned(),
        program: process.command.clone(),
        sections: vec![Section {
            heading: "What can be changed".to_owned(),
            aside: unchanged(process, replayer),
            blocks: if all.is_empty() { Vec::new() } else { vec![table.block()] },
            ..Section::default()
        }],
        notes: vec![format!(
            "Of the whole run {} can be changed; holdup whatif --help has all words.",
            of_all.join(", ")
        )],
        ..Answer::default()
    }
}

fn largest(all: Vec<Expressible>) -> Vec<Expressible> {
    let mut all: Vec<Expressible> = all.into_iter().filter(|one| one.amount > Nanos::ZERO).collect();
    all.arrange_by_key(|one| std::cmp::Reverse(one.amount));
    all.truncate(MOST);
    all
}

fn summed<K: Ord>(amounts: impl IntoIterator<Item = (K, Nanos)>) -> BTreeMap<K, Nanos> {
    let mut sums = BTreeMap::new();
    for (key, amount) in amounts {
        let sum = sums.entry(key).or_insert(Nanos::ZERO);
        *sum = Nanos::new(sum.get().saturating_add(amount.get()));
    }
    sums
}

/// What was waited for; objects of a family as one.
fn objects(process: &Process) -> Vec<Expressible> {
    let families = Families::of(process);
    let name = |object: ObjectId| {
        let family = families.of_object(object).map(|family| family.name.clone());
        (process.object(object).kind, family.unwrap_or_else(|| object_name(process, object)))
    };
    let waits = process.waits.iter().map(|wait| (name(wait.object), wait.end.since(wait.begin)));
    let named = summed(waits).into_iter().filter_map(|((kind, name), amount)| {
        let name = quoted(&name);
        let (expression, asks) = match kind {
            ObjectKind::ThreadEnd => return None,
            ObjectKind::Barrier => (format!("barrier:{name}=balanced"), "all who meet there have equal work"),
            kind if is_lock(kind) => (format!("lock:{name}=0"), "nobody waits for it"),
            _ => (format!("object:{name}=0"), "nobody waits for it"),
        };
        Some(Expressible { expression, asks, amount })
    });
    named.collect()
}

/// Threads that do the same.
fn threads(process: &Process) -> Vec<Expressible> {
    let names = Names::of(process, None);
    let used = process.threads.iter().enumerate().map(|(index, thread)| {
        let name = thread_name(&names, process, ThreadId::new(index as u32));
        (name, thread.known_cpu().unwrap_or(Nanos::ZERO))
    });
    let named = summed(used).into_iter().map(|(name, amount)| Expressible {
        expression: format!("thread:{}/2", quoted(&name)),
        asks: "they are twice as fast",
        amount,
    });
    named.collect()
}

/// Places at which threads were seen at work.
fn places(process: &Process) -> Vec<Expressible> {
    let running = process.samples.iter().filter(|sample| sample.doing == Doing::Running);
    let at = running.filter_map(|sample| Some((place_name(process, sample.site?)?, sample.weight)));
    let named = summed(at).into_iter().map(|(name, amount)| Expressible {
        expression: format!("site:{}/2", quoted(&name)),
        asks: "it is twice as fast",
        amount,
    });
    named.collect()
}
