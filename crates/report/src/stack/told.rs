//! The answer in sentences: what costs most, what fixing it would save, and how far the numbers go.

use holdup_model::{Arrange, Nanos, StackComponent};
use holdup_speedup::{
    Beside, Component, Discarded, Effort, GroupCurve, PhaseKind, PhasePoint, PhaseStack, PointStack, REACHED,
    Speedup, SpeedupProfile,
};

use super::words;
use crate::numbers::{self, counted, percent, threads, time};
use crate::{Look, escape};

/// From this share of the perfect speedup on, a program scales as well as one can tell.
const PERFECT: f64 = 0.97;

/// A smaller part of a speedup than this is not told by itself.
pub(crate) const LEAST_TOLD: f64 = 0.005;

/// What is lost, most first; nothing that helps or is next to nothing.
pub(crate) fn largest(stack: &PointStack) -> Vec<StackComponent> {
    let all = stack.stack();
    let is_lost = |part: &&StackComponent| part.key != REACHED && part.amount >= LEAST_TOLD;
    let mut lost: Vec<StackComponent> = all.components().iter().filter(is_lost).cloned().collect();
    lost.arrange_by(|a, b| b.amount.total_cmp(&a.amount));
    lost
}

/// The file name of the program, without its directory.
pub(crate) fn program(profile: &SpeedupProfile, look: Look) -> String {
    match profile.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(file) if !file.is_empty() => escape::name(file, look),
        _ => "the program".to_owned(),
    }
}

/// The whole program.
pub(crate) fn whole(profile: &SpeedupProfile) -> Option<&PhaseStack> {
    profile.phases.iter().find(|phase| phase.kind == PhaseKind::Whole)
}

/// The phases, without the whole program.
pub(crate) fn phases(profile: &SpeedupProfile) -> impl Iterator<Item = &PhaseStack> {
    profile.phases.iter().filter(|phase| phase.kind != PhaseKind::Whole)
}

/// From this share of the wall time on, a phase is the whole program as far as one can see: its stack would be the same.
const NEARLY_ALL: f64 = 0.95;

/// The phase that is nearly all of the program, if there is one.
pub(crate) fn nearly_all(profile: &SpeedupProfile) -> Option<&PhaseStack> {
    phases(profile).find(|phase| phase.share >= NEARLY_ALL)
}

/// The point with the most threads, and its stack.
pub(crate) fn last(phase: &PhaseStack) -> Option<(&PhasePoint, &PointStack)> {
    let point = phase.points.last()?;
    Some((point, point.stack.as_ref()?))
}

/// What costs most, and what fixing it would save.
pub(crate) fn heading(profile: &SpeedupProfile, look: Look) -> String {
    let program = program(profile, look);
    let Some((point, stack)) = whole(profile).and_then(last) else {
        return match profile.instances.first() {
            Some(_) => copies(profile, look).unwrap_or_default(),
            None => format!("No run of {program} was measured, so nothing can be said about how it scales."),
        };
    };
    if point.threads == profile.base {
        return format!(
            "{program} ran {} with {}; what its speedup is lost to shows with more threads.",
            time(point.time, look),
            threads(point.threads)
        );
    }
    let measured = words::speedup(stack.curves.measured, look);
    let text = format!("{program} is {measured} times as fast with {}", threads(point.threads));
    match (named(profile, point, stack), largest(stack).first()) {
        (Some(part), _) => {
            let what = match Component::named(&part.key) {
                Some(component) => format!("{} costs", words::cause(component)),
                None => format!("{} cost", part.label),
            };
            let amount = Speedup::of(part.amount);
            format!(
                "{text}: {what} most ({}). {}",
                words::speedup(amount, look),
                without(point, stack, amount, look)
            )
        }
        (None, Some(most)) if !is_perfect(point, stack) => format!(
            "{text}. What it loses does not show: measurements of the same differ by more than the largest part ({}); repeat \
             when the machine is quiet, or with a larger --repeat.",
            words::speedup(Speedup::of(most.amount), look)
        ),
        _ => format!("{text}: that is as good as perfect scaling."),
    }
}

/// What costs most, where that is more than nothing, and more than what measurements of the same differ by.
pub(crate) fn named(
    profile: &SpeedupProfile,
    point: &PhasePoint,
    stack: &PointStack,
) -> Option<StackComponent> {
    let largest = largest(stack).into_iter().next().filter(|_| !is_perfect(point, stack));
    largest.filter(|part| profile.noise.is_none_or(|noise| part.amount >= noise.speedup))
}

fn is_perfect(point: &PhasePoint, stack: &PointStack) -> bool {
    stack.curves.measured.value() >= PERFECT * f64::from(point.threads)
}

/// What the whole program would be without a part of this size.
fn without(point: &PhasePoint, stack: &PointStack, amount: Speedup, look: Look) -> String {
    let (now, then) = (stack.curves.measured.value(), (stack.curves.measured + amount).value());
    if now <= 0.0 {
        return String::new();
    }
    let left = Nanos::new((point.time.get() as f64 * now / then) as u64);
    let (left, all) = (time(left, look), time(point.time, look));
    // What rounds to the same says nothing.
    let times = if left == all { String::new() } else { format!(", {left} in the place of {all}") };
    format!(
        "Without it: {} times as fast{times} ({} times faster).",
        numbers::factor(then),
        numbers::factor(then / now)
    )
}

/// How much faster a phase would be without a part: `1.34`.
pub(crate) fn gain(stack: &PointStack, amount: Speedup) -> Option<String> {
    let now = stack.curves.measured.value();
    let then = (stack.curves.measured + amount).value();
    (now > 0.0 && then > now).then(|| numbers::factor(then / now))
}

/// What to do about the largest component, where it is one.
pub(crate) fn advice(profile: &SpeedupProfile, phase: &PhaseStack) -> Option<&'static str> {
    let (point, stack) = last(phase)?;
    Component::named(&named(profile, point, stack)?.key).map(words::advice)
}

/// Of synchronization, what is uneven work.
pub(crate) fn imbalance(stack: &PointStack, look: Look) -> Option<String> {
    let all = stack.get(Component::Synchronization)?;
    (all.millionths() >= 5_000 && stack.imbalance.millionths() >= 5_000).then(|| {
        format!(
            "Of synchronization, {} is work that is unevenly spread, and {} waiting besides that.",
            words::speedup(stack.imbalance, look),
            words::speedup(all - stack.imbalance, look)
        )
    })
}

/// What more cache would give a group of threads, in a sentence.
pub(crate) fn sensitivity(group: &GroupCurve, alone: bool, look: Look) -> Option<String> {
    let told = group.sensitivity?;
    let who = match alone {
        true => "each thread".to_owned(),
        false => format!("each thread of {}", escape::name(&group.name, look)),
    };
    Some(format!(
        "With its {} of the cache {who} loses {} of its time; with {} more it would lose {}.",
        numbers::bytes(told.now),
        percent(told.lost),
        numbers::bytes(told.more),
        percent(told.lost_with_more.max(0.0))
    ))
}

/// What counters say with the least and with the most cache, in a sentence.
pub(crate) fn counted_with(group: &GroupCurve) -> Option<String> {
    let points = group.curve.points();
    let (least, most) = (points.first()?, points.last()?);
    let cpi = |at: &holdup_speedup::CachePoint| {
        let memory = at
            .bandwidth
            .map_or_else(String::new, |bytes| format!(" and {} from memory", words::bandwidth(bytes)));
        Some(format!(
            "{} cycles per instruction{memory} with {}",
            numbers::factor(at.cpi?),
            numbers::bytes(at.bytes)
        ))
    };
    (least.bytes < most.bytes).then_some(())?;
    Some(format!("{}, {}.", cpi(most)?, cpi(least)?))
}

/// Why there is nothing to be said of a phase at the most threads, or of a part of it: each reason once, with what it is
/// the reason for.
pub(crate) fn missing(point: &PhasePoint, look: Look) -> Vec<(String, String)> {
    let mut told: Vec<(Vec<Component>, &str)> = Vec::new();
    for missing in &point.missing {
        let own = missing.component;
        match told.iter_mut().find(|(_, reason)| *reason == missing.reason) {
            Some((components, _)) => components.extend(own),
            None => told.push((own.into_iter().collect(), &missing.reason)),
        }
    }
    told.into_iter()
        .map(|(components, reason)| {
            let what =
                if components.is_empty() { "the stack".to_owned() } else { Component::several(&components) };
            (what, crate::escape::sentences(reason, look))
        })
        .collect()
}

/// The measurements that do not count, a sentence each; equal ones are one.
pub(crate) fn all_discarded(profile: &SpeedupProfile, look: Look) -> Vec<String> {
    let mut told: Vec<(String, u32)> = Vec::new();
    for one in &profile.discarded {
        let sentence = discarded(one, look);
        match told.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, times)) => *times += 1,
            None => told.push((sentence, 1)),
        }
    }
    let times = |(sentence, times): (String, u32)| match times {
        1 => sentence,
        _ => format!("{sentence} ({times} times)"),
    };
    told.into_iter().map(times).collect()
}

/// A measurement that does not count, in a sentence.
fn discarded(discarded: &Discarded, look: Look) -> String {
    let beside = match discarded.beside {
        Beside::Nothing => "with nothing beside it".to_owned(),
        Beside::Control => "beside a pirate that takes nothing".to_owned(),
        Beside::Pirate => format!("with {} of the cache", numbers::bytes(discarded.cache)),
        Beside::Thief(taken) => format!("beside a thief of {}", words::bandwidth(taken as f64)),
    };
    let phase = discarded
        .phase
        .as_ref()
        .map_or_else(String::new, |phase| format!(" in {}", escape::name(phase, look)));
    let reason = escape::sentence(discarded.reason.trim_end_matches('.'), look);
    format!(
        "With {}, number {} alone {beside}{phase}: {reason}.",
        threads(discarded.threads),
        discarded.which
    )
}

/// What the simulator says, with all that is lost there, and what was measured beside it.
pub(crate) fn simulated(
    profile: &SpeedupProfile,
    stack: &holdup_speedup::SpeedupStack,
    look: Look,
) -> String {
    let losses = stack.losses.iter().filter(|(_, amount)| amount.abs() >= 0.005);
    let losses: Vec<String> =
        losses.map(|(loss, amount)| format!("{} {}", loss.name(), numbers::factor(*amount))).collect();
    let losses = if losses.is_empty() {
        "next to nothing is lost".to_owned()
    } else {
        format!("lost to {}", losses.join(", "))
    };
    let measured = whole(profile).and_then(|whole| {
        let at = whole.points.iter().find(|point| point.threads == stack.cores)?.stack.as_ref()?;
        Some(format!("; measured here it is {}", words::speedup(at.curves.measured, look)))
    });
    format!(
        "Speedup {} of {} on {}: {losses}{}.",
        numbers::factor(stack.speedup),
        stack.cores,
        escape::name(&stack.machine, look),
        measured.unwrap_or_default()
    )
}

/// What measuring took, and what it did to the program.
pub(crate) fn effort(effort: &Effort, base: u32, look: Look) -> Option<String> {
    if effort.runs == 0 {
        return None;
    }
    let mut text =
        format!("{} in {}", counted(u64::from(effort.runs), "run", "runs"), time(effort.time, look));
    if let Some(runs) = effort.in_runs {
        text.push_str(&format!(", as long as {} runs with {}", crate::numbers::figure(runs), threads(base)));
    }
    let mut added = Vec::new();
    if let Some(recording) = effort.recording {
        added.push(format!("recorded runs take {} longer", percent(recording.max(0.0))));
    }
    if let Some(control) = effort.control {
        added.push(format!("a pirate that takes nothing adds {} of CPU time", percent(control.max(0.0))));
    }
    if let Some(alone) = effort.alone {
        added.push(format!("a run with a thread alone takes {} times as long", numbers::factor(alone)));
    }
    if !added.is_empty() {
        text.push_str(&format!("; {}", added.join(", ")));
    }
    Some(format!("{text}."))
}

/// The shared cache, in a sentence.
pub(crate) fn cache(profile: &SpeedupProfile) -> Option<String> {
    let cache = profile.cache?;
    let level = format!("L{}", cache.level);
    Some(if cache.nominal > cache.bytes {
        format!(
            "{} of the {level}'s {} were really to be had.",
            numbers::bytes(cache.bytes),
            numbers::bytes(cache.nominal)
        )
    } else {
        format!("The {level} has {}.", numbers::bytes(cache.bytes))
    })
}

/// What copies of a program with one thread lose, in a sentence.
pub(crate) fn copies(profile: &SpeedupProfile, look: Look) -> Option<String> {
    let of = profile.instances.first()?;
    let last = of.points.last()?;
    let name = escape::name(&of.name, look);
    let measured = last.measured.map(|measured| words::speedup(measured, look));
    let costs: Vec<String> = last
        .components
        .iter()
        .map(|(component, amount)| format!("{} {}", component.words(), words::speedup(*amount, look)))
        .collect();
    // Of what is not there it needs not be known what it is lost to.
    let is_all = last.measured.is_some_and(|got| got >= Speedup::of(PERFECT * f64::from(last.copies)));
    let costs = match costs.is_empty() {
        true if is_all => "next to nothing is lost".to_owned(),
        true => "what is lost is not known".to_owned(),
        false => costs.join(", "),
    };
    Some(match measured {
        Some(measured) => {
            format!("{} copies of {name} get {measured} times the throughput of one: {costs}.", last.copies)
        }
        None => format!("{} copies of {name} were not measured at once: {costs}.", last.copies),
    })
}

/// The cache that each copy has; empty where none was taken, so that it is not known.
pub(crate) fn cache_of(point: &holdup_speedup::instances::InstancesPoint) -> String {
    if point.cache == 0 { String::new() } else { numbers::bytes(point.cache) }
}

/// What copies would fetch from memory against what it gives, in a sentence.
pub(crate) fn demand(point: &holdup_speedup::instances::InstancesPoint) -> Option<String> {
    let demand = point.demand?;
    Some(match point.demand_of_bandwidth {
        Some(share) if share > 1.0 => format!(
            "{} copies want {} from memory, {} of what it gives: that cannot be met.",
            point.copies,
            words::bandwidth(demand),
            percent(share)
        ),
        Some(share) => format!(
            "{} copies want {} from memory, {} of what it gives.",
            point.copies,
            words::bandwidth(demand),
            percent(share)
        ),
        None => format!("{} copies want {} from memory.", point.copies, words::bandwidth(demand)),
    })
}
