//! The answer in sentences: how it scales, what is lost and to what, what would help most.

use holdup_model::{Arrange, Nanos};
use holdup_scaling::{FittedLaw, Hint, HintGain, LawPrediction, RegionPoint, Scaling, WholePoint};

use super::words;
use crate::numbers;
use crate::numbers::{counted, percent, time};
use crate::{Look, escape};

/// Less than this share of the time is as good as nothing.
const NOTHING: f64 = 0.01;

/// The fewest threads that are told as better than the most are faster by this share at the least.
const FASTER: f64 = 0.02;

/// Costs below this share of a region that are there with the fewest threads too are not told.
const SMALL_STANDING: f64 = 0.03;

/// With more than this share of the loss not explained, the answer says so.
const MUCH_UNEXPLAINED: f64 = 0.5;

/// The file name of the program, without its directory.
pub(crate) fn program(scaling: &Scaling, look: Look) -> String {
    match scaling.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(file) if !file.is_empty() => escape::name(file, look),
        _ => "the program".to_owned(),
    }
}

/// How it scales, in a sentence.
pub(crate) fn heading(scaling: &Scaling, look: Look) -> String {
    let program = program(scaling, look);
    let (Some(base), Some(last)) = (scaling.points.first(), scaling.points.last()) else {
        return format!("No run of {program} was measured, so nothing can be said about how it scales.");
    };
    if let Some(why) = &scaling.ignored {
        return format!("How {program} scales is not known: {}", escape::sentences(why, look));
    }
    let threads = |point: &WholePoint| counted(u64::from(point.threads), "thread", "threads");
    let [at_base, at_last] = [base, last].map(|point| time(point.wall.median, look));
    let cores = match scaling.cores {
        0 => String::new(),
        cores => format!(" on {}", counted(u64::from(cores), "core", "cores")),
    };
    if scaling.points.len() == 1 {
        return format!(
            "{program} ran {at_base} with {}{cores}; how it scales shows with a second number of threads.",
            threads(base)
        );
    }
    let ideal = f64::from(last.threads) / f64::from(base.threads.max(1));
    let speed = match last.speedup {
        speedup if speedup >= 1.0 => format!("{} times as fast", numbers::factor(speedup)),
        speedup => format!("{} times as long", numbers::factor(1.0 / speedup.max(f64::MIN_POSITIVE))),
    };
    format!(
        "{program} ran {at_base} with {} and {at_last} with {}{cores}: {speed} with {} times the threads, an efficiency of {}.",
        threads(base),
        last.threads,
        words::ratio(ideal),
        words::efficiency(last.efficiency)
    )
}

/// That others used the CPUs, which comes first: what follows is of a machine that was shared.
pub(crate) fn shared(scaling: &Scaling) -> Option<String> {
    let share = scaling.used_by_others?;
    Some(format!(
        "Measured while others used up to {} of the CPUs' time, which is in all times below: measure again when nothing else runs.",
        percent(share)
    ))
}

/// What is lost at the most threads, to what and where, and with how many threads it is fastest where that is fewer. With
/// one number of threads: what it costs there that threads work together.
pub(crate) fn lost(scaling: &Scaling, look: Look) -> Option<String> {
    let last = scaling.points.last().filter(|_| scaling.ignored.is_none())?;
    let wall = last.wall.median;
    let is_alone = scaling.points.len() == 1;
    let losses = if is_alone { &last.costs } else { &last.losses };
    let share = losses.lost as f64 / wall.get().max(1) as f64;
    if is_alone && share < NOTHING {
        return Some("Next to nothing of that time was lost to working together.".to_owned());
    }
    let mut text = if share.abs() < NOTHING {
        "That is as good as perfect scaling.".to_owned()
    } else if losses.lost < 0 {
        let saved = time(Nanos::new(losses.lost.unsigned_abs()), look);
        format!("It scales better than perfectly: it takes {saved} less than its share.")
    } else {
        let against = if is_alone { "to working together" } else { "against perfect scaling" };
        let mut text = format!(
            "Of the {} with {}, {} ({}) are lost {against}",
            time(wall, look),
            counted(u64::from(last.threads), "thread", "threads"),
            words::signed(losses.lost, look),
            percent(share)
        );
        let most = words::largest(losses).into_iter().next().filter(|part| !words::is_unexplained(part));
        if let Some(most) = most {
            text.push_str(&format!(
                ", most of it to {} ({})",
                most.label,
                words::signed(most.amount as i64, look)
            ));
        }
        if let Some(region) = scaling.regions.first().filter(|region| region.potential_gain > Nanos::ZERO) {
            text.push_str(&format!("; most in {}", words::region_in_short(region, look)));
        }
        text.push('.');
        if losses.unexplained as f64 > MUCH_UNEXPLAINED * losses.lost as f64 {
            text.push_str(&format!(
                " No cause was found for {} of it.",
                words::signed(losses.unexplained, look)
            ));
        }
        text
    };
    let fastest = scaling.points.iter().min_by_key(|point| (point.wall.median, point.threads))?;
    if (fastest.wall.median.get() as f64) < (1.0 - FASTER) * wall.get() as f64 {
        text.push_str(&format!(
            " It is fastest with {}: {}.",
            counted(u64::from(fastest.threads), "thread", "threads"),
            time(fastest.wall.median, look)
        ));
    }
    Some(text)
}

/// What a region costs that is no loss, since it costs as much with the fewest threads: `lock algorithm 300 ms (30 %)`.
pub(crate) fn standing(point: &RegionPoint, look: Look) -> Option<String> {
    let share = |nanos: i64| nanos as f64 / point.time.median.get().max(1) as f64;
    let told: Vec<String> = words::standing(&point.losses, &point.costs)
        .into_iter()
        .filter(|part| share(part.amount as i64) >= SMALL_STANDING)
        .map(|part| {
            format!(
                "{} {} ({})",
                part.label,
                words::signed(part.amount as i64, look),
                percent(share(part.amount as i64))
            )
        })
        .collect();
    (!told.is_empty()).then(|| format!("With the fewest threads as well: {}.", told.join(", ")))
}

/// What would help most, where that is known to save anything.
pub(crate) fn helps(scaling: &Scaling, look: Look) -> Option<String> {
    let wall = scaling.points.last()?.wall.median;
    let hint = scaling.hints.iter().find(|hint| hint.gain.is_some_and(|gain| gain.low > 0))?;
    let place = match words::hint_place(scaling, hint, look) {
        place if place.is_empty() => place,
        place => format!(" at {place}"),
    };
    Some(format!(
        "What helps most: {}{place}. That saves {}.",
        words::advice(hint.kind),
        gain(hint, wall, look)
    ))
}

/// `at most 0.8 s`, `0.8 s (0.7 to 0.9 s), 1.35 times faster`, `not known`. The interval of a bound is where the bound
/// lies.
pub(crate) fn gain(hint: &Hint, wall: Nanos, look: Look) -> String {
    let Some(gain) = hint.gain else { return "not known".to_owned() };
    let size = words::signed(gain.time, look);
    let bound = if hint.bound { "at most " } else { "" };
    let mut text = match gain.low == gain.high {
        true => format!("{bound}{size}"),
        false => format!("{bound}{size} ({})", words::range(gain.low, gain.high, look)),
    };
    if let Some(faster) = faster(gain, wall) {
        text.push_str(&format!(", {faster} times faster"));
    }
    text
}

/// How much faster the program would be: wall time / (wall time − gain), where that is not 1.
fn faster(gain: HintGain, wall: Nanos) -> Option<String> {
    let left = wall.get() as f64 - gain.time as f64;
    let told = numbers::factor(wall.get() as f64 / left);
    (gain.time > 0 && left > 0.0 && told != "1.00").then_some(told)
}

/// What the law says for the most threads that it was asked for, if these are more than were measured.
pub(crate) fn outlook(scaling: &Scaling, law: &FittedLaw, look: Look) -> Option<String> {
    let furthest = beyond(scaling, law).last().copied()?;
    let shares = words::shares(furthest.efficiency_low, furthest.efficiency_high, look);
    let mut text = format!("At {} threads: {shares} efficiency", furthest.threads);
    if let Some(region) = law.dominated_by.and_then(|index| scaling.regions.get(index)) {
        text.push_str(&format!("; {} takes most of the loss", words::region_in_short(region, look)));
    }
    text.push('.');
    Some(text)
}

/// Predictions for more threads than were measured.
pub(crate) fn beyond(scaling: &Scaling, law: &FittedLaw) -> Vec<LawPrediction> {
    let most = scaling.points.last().map_or(0, |point| point.threads);
    let mut beyond: Vec<LawPrediction> =
        law.predictions.iter().copied().filter(|prediction| prediction.threads > most).collect();
    beyond.arrange_by_key(|prediction| prediction.threads);
    beyond
}

/// Why there is no law: one needs three numbers of threads, and none of those with more threads than cores counts.
pub(crate) fn no_law(scaling: &Scaling) -> String {
    let usable = |threads: u32| threads > 0 && (scaling.cores == 0 || threads <= scaling.cores);
    let usable = scaling.points.iter().filter(|point| usable(point.threads)).count();
    let needed = "No law was fitted: that takes at least three numbers of threads";
    match (usable < 3, scaling.points.len() < 3 || scaling.cores == 0) {
        (true, true) => format!("{needed}."),
        (true, false) => format!("{needed} up to that of cores, {}.", scaling.cores),
        (false, _) => "No law was fitted: the times follow none.".to_owned(),
    }
}

/// The law in a sentence: what it is, its formula, how far off it is.
pub(crate) fn law(law: &FittedLaw, look: Look) -> String {
    format!(
        "{}, {}; off by {} where each point is predicted from the others.",
        words::law(law.kind),
        escape::sentence(&law.formula, look),
        percent(law.cross_validation_error)
    )
}
