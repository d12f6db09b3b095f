//! The answer in sentences: where threads are unequal, by what, how sure that is, and what is not explained.

use holdup_imbalance::{Cause, CauseKind, NativeImbalance, SectionWhy, Verdict, Why};
use holdup_model::Frame;
use holdup_model::counts::{CountSource, NativeMatch, SectionKind, TimeUnit};

use super::{WhyScene, words};
use crate::Look;
use crate::numbers::{self, counted, percent};

/// A share of the differences that is not explained is told from this on.
const MUCH_UNEXPLAINED: f64 = 0.1;

/// A cause through which less than this part of its score goes is told with what does.
const LITTLE_CHARGE: f64 = 0.6;

/// Charges that add up to less than the largest of them by so much have negative ones among them.
const CONTRARY: f64 = 0.05;

/// Natively measured imbalance that goes with executed instructions by less than this share has another cause.
const LITTLE_BY_INSTRUCTIONS: f64 = 0.5;

/// Imbalance below this share is none worth a word.
const BALANCED: f64 = 0.01;

/// An instance with this share of the idle time of all is told.
const MOST: f64 = 0.5;

/// A section whose imbalance costs less than this part of its own share is told with that of all sections.
const OTHERS: f64 = 0.9;

/// How uneven the threads are in the section that matters most, in a sentence.
pub(crate) fn heading(why: &Why, scene: &WhyScene, look: Look) -> String {
    let program = scene.program(look);
    let Some(section) = why.sections.first() else {
        return format!(
            "No parallel section was counted in {program}: none of its own code runs between two places at which threads meet \
             (barriers, joins, parallel regions)."
        );
    };
    let at = before(section, look);
    if is_trifle(section) {
        return format!(
            "The threads of {program} are balanced: of all their time they idle {}, {} of it {at}.",
            percent(section.cost),
            if why.sections.len() > 1 { percent(section.share) } else { "all".to_owned() },
        );
    }
    // Where other sections take more of the time, it is not the program's share.
    let of_all = if section.cost < OTHERS * section.imbalance {
        format!(", which is {} of all their time", percent(section.cost))
    } else {
        String::new()
    };
    match section.verdict {
        Verdict::OneThread => {
            format!("One thread alone executes {program} {at}: there is nobody to be unequal to.")
        }
        Verdict::Balanced => format!(
            "The threads of {program} are balanced: they idle {} of the time {at}.",
            percent(section.imbalance)
        ),
        Verdict::ExecuteEqually if let Some(native) = &section.native => format!(
            "Threads of {program} take differently long natively: they idle {} of the time {at}.",
            percent(native.imbalance)
        ),
        Verdict::ExecuteEqually => format!("The threads of {program} execute equally {at}."),
        _ => format!(
            "Threads of {program} are unequal: they idle {} of the time {at}{of_all}.",
            percent(section.imbalance)
        ),
    }
}

/// True if threads are unequal in a section that hardly matters.
fn is_trifle(section: &SectionWhy) -> bool {
    section.cost < BALANCED && matches!(section.verdict, Verdict::Found | Verdict::Unexplained)
}

/// What makes them unequal there, in a sentence.
pub(crate) fn because(why: &Why, scene: &WhyScene, look: Look) -> Option<String> {
    let section = why.sections.first()?;
    let Some(cause) = section.causes.iter().find(|cause| !cause.minor) else {
        return verdict(section, why);
    };
    if is_trifle(section) {
        return None;
    }
    let schedule = match section.depends_on_schedule {
        Some(_) => " This depends on the schedule: another run may deal the work out otherwise.",
        None => "",
    };
    Some(format!("{}{}.{schedule}", cause_clause(cause, scene, look), weight(section, cause)))
}

/// When the threads of a section idle: `before the barrier at lu (lu.c:604)`.
pub(crate) fn before(section: &SectionWhy, look: Look) -> String {
    let place = words::end(section, look).unwrap_or_else(|| "at an unknown place".to_owned());
    match section.kind {
        SectionKind::Region => format!("in the parallel region {place}"),
        SectionKind::Other => format!("in the section {place}"),
        kind => format!("before the {} {place}", words::section_kind(kind)),
    }
}

/// How much a cause counts: its score, or where there is none the share that goes through it.
fn weight(section: &SectionWhy, cause: &Cause) -> String {
    if has_score(section) {
        if cause.charge < LITTLE_CHARGE * cause.score {
            return format!(
                ": score {}, though only {} of the differences go through it",
                words::score(cause.score),
                percent(cause.charge)
            );
        }
        format!(": {} of the imbalance", words::score(cause.score))
    } else {
        match cause.charge > 1.005 {
            true => ": more than all of the difference goes through it".to_owned(),
            false => format!(": {} of the difference goes through it", percent(cause.charge)),
        }
    }
}

/// False where there are too few threads for statistics: then only charges are known.
pub(crate) fn has_score(section: &SectionWhy) -> bool {
    section.verdict != Verdict::TooFewThreads
}

/// What threads do unequally, where, and on what that is decided; without a full stop.
pub(crate) fn cause_clause(cause: &Cause, scene: &WhyScene, look: Look) -> String {
    let with_source = |place: &[Frame]| {
        let decision = scene.decision(place, look).map_or_else(String::new, |text| format!(" (`{text}`)"));
        format!("{}{decision}", words::line(place, look))
    };
    let at = with_source(&cause.at);
    let is_elsewhere = |place: &&[Frame]| !place.is_empty() && !words::is_same_line(place, &cause.at);
    let to = Some(cause.to.as_slice()).filter(is_elsewhere);
    match cause.kind {
        // What a compiler makes of it is a comparison with the thread's share of the iterations.
        CauseKind::Branch | CauseKind::Loop if scene.is_parallel_loop(&cause.at) => {
            format!(
                "Threads have different numbers of iterations of the parallel loop at {}",
                words::line(&cause.at, look)
            )
        }
        CauseKind::Branch if scene.is_opening(&cause.at) => {
            let to = to.map_or_else(String::new, |to| format!(", and leads to {}", words::line(to, look)));
            format!(
                "Threads take a branch differently often that the compiler has moved to the beginning of {}{to}",
                words::frames(&cause.at, look)
            )
        }
        CauseKind::Branch => {
            let to = to.map_or_else(String::new, |to| format!(" to {}", words::line(to, look)));
            format!("Threads take the branch at {at}{to} differently often")
        }
        CauseKind::Loop => match cause.latch.as_deref().filter(is_elsewhere) {
            Some(latch) => format!(
                "Threads take different numbers of turns through the loop at {} because of the branch at {at}",
                words::line(latch, look)
            ),
            None => format!("Threads take different numbers of turns through the loop at {at}"),
        },
        CauseKind::Call => match to {
            Some(to) => format!("Threads call {} at {at} differently often", words::frames(to, look)),
            None => format!("Threads make the call at {at} differently often"),
        },
        CauseKind::Recursion => match cause.latch.as_deref().filter(is_elsewhere) {
            Some(call) => {
                format!("Threads recurse differently often at {}, as {at} decides", with_source(call))
            }
            None => format!("Threads recurse differently often at {at}"),
        },
        CauseKind::Wait => {
            let to = to.map_or_else(String::new, |to| format!(" to {}", words::line(to, look)));
            format!("Threads go on{to} from the loop that waits at {at} differently often")
        }
        CauseKind::Start => format!("Threads begin at different code; what begins at {at} takes longer"),
        CauseKind::Library => {
            format!("The call of a library at {at} takes some threads longer than others, for each call")
        }
        CauseKind::CacheMiss => format!("Threads miss the cache differently often at {at}"),
        CauseKind::TlbMiss => {
            format!("Threads miss the translation buffer (TLB) differently often at {at}")
        }
        CauseKind::BranchMiss => {
            format!("The branch at {at} is mispredicted for some threads more often than for others")
        }
        CauseKind::Queueing => format!("Threads queue differently long for a shared resource at {at}"),
    }
}

/// A cause in a few words: `branch in owner (lu.c:407)`.
pub(crate) fn cause_title(cause: &Cause, look: Look) -> String {
    let joint =
        if Frame::place_of(&cause.at).is_some_and(|frame| frame.function.is_some()) { "in" } else { "at" };
    format!("{} {joint} {}", words::cause_word(cause.kind), words::frames(&cause.at, look))
}

/// How sure a cause is and how much goes through it: pieces of a sentence.
pub(crate) fn certainty(why: &Why, section: &SectionWhy, cause: &Cause) -> Vec<String> {
    let mut told = vec![match cause.charge < 0.0 {
        true => format!("works against the differences, by {} of them", percent(-cause.charge)),
        false if cause.charge > 1.005 => {
            "more than all of the differences go through it; other places make up for a part".to_owned()
        }
        false if cause.with_nest => format!(
            "{} of the differences go through it and the loops in and around it: who has more turns has shorter ones",
            percent(cause.charge)
        ),
        false => format!("{} of the differences go through it", percent(cause.charge)),
    }];
    if let Some((low, high)) = cause.stable {
        let (least, most) = why.options.tried_thresholds;
        if low > least || high < most {
            told.push(match low == high {
                true => format!("found at the clustering threshold {low} only"),
                false => format!("found at clustering thresholds from {low} to {high} only"),
            });
        }
    }
    if cause.instances > 0 && cause.instances < section.instances {
        told.push(format!("found in {} of {} instances", cause.instances, section.instances));
    }
    if cause.minor {
        told.push(
            "hardly any instructions are behind it: it goes with the cause, and is not the cause".to_owned(),
        );
    }
    told
}

/// The way by which the leader was inlined, outermost last: `inlined: owner (lu.c:58) into lu (lu.c:407)`.
pub(crate) fn inlined(cause: &Cause, look: Look) -> Option<String> {
    if cause.at.len() < 2 {
        return None;
    }
    let path: Vec<String> =
        cause.at.iter().map(|frame| words::frames(std::slice::from_ref(frame), look)).collect();
    Some(format!("inlined: {}", path.join(" into ")))
}

/// Why the instructions of a cause are worth a look, where they are.
pub(crate) fn instructions(cause: &Cause) -> Option<&'static str> {
    let has_line = Frame::place_of(&cause.at).is_some_and(|frame| frame.line.is_some());
    match (has_line, cause.misplaced) {
        _ if cause.minor => None,
        (false, _) => Some("No line is known here (-g makes them known). The instructions:"),
        (true, true) => Some(
            "Source and binary disagree here: the compiler made these instructions of several lines, and the one that is named need \
             not be the one that decides. The instructions:",
        ),
        (true, false) => None,
    }
}

/// The facts of a section in a sentence: how often, by how many, since where.
pub(crate) fn facts(section: &SectionWhy, look: Look) -> String {
    let mut text = format!(
        "{}, {}",
        counted(u64::from(section.instances), "instance", "instances"),
        counted(u64::from(section.threads), "thread", "threads")
    );
    if let Some(begin) = words::place(&section.begin, look) {
        text.push_str(&format!(", from {}", begin.strip_prefix("at ").unwrap_or(&begin)));
    }
    if section.share > 0.0 {
        text.push_str(&format!("; {} of all idle time", percent(section.share)));
        text.push_str(&format!(", {} of all threads' time", percent(section.cost)));
    }
    text.push('.');
    text
}

/// That one instance of many has most of the idle time, if it has: the others are another matter. Or that sums over instances
/// say less than each of them.
pub(crate) fn worst(section: &SectionWhy) -> Option<String> {
    if section.instances > 2
        && let Some(worst) = section.worst.as_ref().filter(|worst| worst.share >= MOST)
    {
        let share = percent(worst.share);
        return Some(format!(
            "Of its idle time {share} is in instance {} of {}.",
            worst.number, section.instances
        ));
    }
    differs_in_turn(section).then(|| {
        format!(
            "Other threads are late in each instance: summed over instances they would idle only {}.",
            percent(section.imbalance_of_sums())
        )
    })
}

/// True where not the same threads are late in each instance, so that sums over instances hide most of the imbalance.
pub(crate) fn differs_in_turn(section: &SectionWhy) -> bool {
    section.instances > 1
        && section.verdict != Verdict::Balanced
        && section.imbalance_of_sums() < MOST * section.imbalance
}

/// Both measures of how unequal threads are, in executed work and natively.
pub(crate) fn imbalance(why: &Why, section: &SectionWhy) -> String {
    format!(
        "Imbalance {} (mean share idled), spread {} (shortest to longest), by {}.",
        percent(section.imbalance),
        percent(section.spread),
        words::time_noun(why.time_unit)
    )
}

/// The same natively, and how much of it goes with what threads execute.
pub(crate) fn native(section: &SectionWhy) -> Option<String> {
    let native = section.native.as_ref()?;
    if native.is_little() {
        return Some(format!(
            "Natively its threads differ by {} in each instance: too little to be told from what meeting itself takes.",
            numbers::time(native.difference, Look::plain(Look::WIDEST))
        ));
    }
    let by = match native.by_instructions {
        // Natively other threads may have taken the work.
        _ if section.depends_on_schedule.is_some() => String::new(),
        Some(_) | None if native.imbalance >= BALANCED && native.matched == NativeMatch::Unknown => {
            "; natively threads began in another order, and one run does not say which is which".to_owned()
        }
        Some(share) if native.imbalance >= BALANCED && !is_elsewhere(section, native) => {
            let how = match native.matched {
                NativeMatch::Behaviour => ", threads being matched by what they do",
                NativeMatch::Order | NativeMatch::Unknown => "",
            };
            format!("; {} of that goes with executed instructions{how}", percent(share))
        }
        Some(share) if native.imbalance >= BALANCED => format!(
            "; only {} of that goes with executed instructions, the rest may be caches, memory, the machine, or chance",
            percent(share)
        ),
        _ => String::new(),
    };
    Some(format!("Natively: imbalance {}, spread {}{by}.", percent(native.imbalance), percent(native.spread)))
}

/// True where what threads execute does not make the native imbalance.
fn is_elsewhere(section: &SectionWhy, native: &NativeImbalance) -> bool {
    section.verdict == Verdict::ExecuteEqually
        || native.by_instructions.is_some_and(|share| share < LITTLE_BY_INSTRUCTIONS)
}

/// What can be said of a section beside its causes.
pub(crate) fn verdict(section: &SectionWhy, why: &Why) -> Option<String> {
    match section.verdict {
        Verdict::Found if section.causes.iter().all(|cause| cause.minor) => Some(format!(
            "No branch, loop or call of weight goes with the imbalance. {}",
            otherwise(why)
        )),
        Verdict::Found => None,
        Verdict::Balanced => {
            Some("Threads idle for less than 1 % here: there is nothing to find.".to_owned())
        }
        Verdict::ExecuteEqually => Some(match &section.native {
            Some(native) if section.dealt_units > 0 => format!(
                "With the work dealt out evenly threads execute equally; natively they differ by {}: it was dealt out unevenly, or \
                 caches, memory or the machine differ.",
                percent(native.spread)
            ),
            Some(native) => format!(
                "Threads execute equally; natively they differ by {}: caches, memory or the machine, not control flow.",
                percent(native.spread)
            ),
            None => "Threads execute equally: what makes them differ is not control flow.".to_owned(),
        }),
        Verdict::Unexplained => Some(format!(
            "No branch, loop or call goes with the imbalance more than chance would. {}",
            otherwise(why)
        )),
        Verdict::TooFewThreads => Some(format!(
            "{} in {} are too few for statistics, so there is no score; shares of the difference are exact.",
            counted(u64::from(section.threads), "thread", "threads"),
            counted(u64::from(section.instances), "instance", "instances")
        )),
        Verdict::OneThread => Some("One thread alone executes this: it is not a parallel section.".to_owned()),
        Verdict::GeneratedCode => Some(
            "The code that differs was made while the program ran (by a compiler inside of it) and has no name here."
                .to_owned(),
        ),
    }
}

/// What is not explained by the causes found, and what else it may be.
pub(crate) fn unexplained(section: &SectionWhy, why: &Why) -> Option<String> {
    let has_cause = section.causes.iter().any(|cause| !cause.minor);
    if section.verdict != Verdict::Found || !has_cause || section.unexplained < MUCH_UNEXPLAINED {
        return None;
    }
    let largest = section.causes.iter().map(|cause| cause.charge).fold(0.0, f64::max);
    if section.explained + CONTRARY < largest {
        return Some(
            "Threads that do more of this do less of something else, so these shares do not add up."
                .to_owned(),
        );
    }
    Some(format!(
        "{} of the differences in {} are not explained. {}",
        percent(section.unexplained),
        words::time_noun(why.time_unit),
        otherwise(why)
    ))
}

/// What else can make threads unequal, by what was measured.
fn otherwise(why: &Why) -> &'static str {
    match why.time_unit {
        TimeUnit::Instructions => {
            "It may be the sum of many small differences of which none stands out, or come from inside of libraries."
        }
        TimeUnit::Nanos => {
            "It may be caches, memory, other programs or the machine: times were measured, and only control flow was \
             counted."
        }
        TimeUnit::Cycles => "It may be something that is not counted, or the sum of many small differences.",
    }
}

/// How the counts depend on the order in which threads came.
pub(crate) fn schedule(section: &SectionWhy) -> Option<String> {
    let reason = section.depends_on_schedule.as_deref()?;
    let reason = reason.trim().trim_end_matches('.');
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    Some(format!("Depends on the schedule{reason}: another run may deal the work out otherwise."))
}

/// What was done with units of work that are dealt out while the program runs.
pub(crate) fn dealt(section: &SectionWhy) -> Option<String> {
    (section.dealt_units > 0).then(|| {
        format!(
            "{} dealt out at run time {} dealt out anew, evenly by time: the imbalance is what stays.",
            counted(section.dealt_units, "unit of work", "units of work"),
            if section.dealt_units == 1 { "was" } else { "were" }
        )
    })
}

/// How it was counted and looked for, in a sentence.
pub(crate) fn method(why: &Why) -> String {
    let counted = match why.source {
        CountSource::Emulated => "Counted under emulation",
        CountSource::Instrumented => "Counted natively, by what the compiler put into the program",
        CountSource::Text => "Counts of another tool",
        CountSource::Simulated => "Counted in a simulation",
    };
    let time = match why.time_unit {
        TimeUnit::Instructions => "executed instructions stand for time",
        TimeUnit::Nanos => "time is measured",
        TimeUnit::Cycles => "time is simulated cycles",
    };
    format!(
        "{counted}; {time}. Method {}, clusters of counts that correlate by {} or more.",
        words::method(why.options.method),
        why.options.threshold
    )
}

/// Sections in which nothing is to be told in detail: those without causes whose verdict is that all is well.
pub(crate) fn is_quiet(section: &SectionWhy) -> bool {
    section.causes.is_empty() && matches!(section.verdict, Verdict::Balanced | Verdict::OneThread)
}
