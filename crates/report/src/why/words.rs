//! What sections, causes and figures of LIME are called.

use holdup_imbalance::{Cause, CauseKind, Method, SectionWhy};
use holdup_model::counts::{SectionKind, SectionPlace, TimeUnit};
use holdup_model::{Frame, Nanos, Site};

use crate::scaling::words as places;
use crate::{Look, escape, numbers};

/// What a section is called: `barrier at lu (lu.c:604)`, for lists and for finding it by a part of that.
pub fn why_section_name(section: &SectionWhy) -> String {
    section_name(section, Look::plain(Look::WIDEST))
}

/// See [`why_section_name`].
pub(crate) fn section_name(section: &SectionWhy, look: Look) -> String {
    let kind = section_kind(section.kind);
    match end(section, look) {
        Some(place) => format!("{kind} {place}"),
        None => format!("{kind} at an unknown place"),
    }
}

/// Where a section ends. A barrier that is called "barrier" has no name worth saying.
pub(crate) fn end(section: &SectionWhy, look: Look) -> Option<String> {
    let is_kind = |name: &String| name == section_kind(section.kind);
    let name = section.end.name.clone().filter(|name| !is_kind(name));
    place(&SectionPlace { frames: section.end.frames.clone(), name }, look)
}

/// The place of a section's end or begin, with the name that it has: `queue at main (main.c:30)`.
pub(crate) fn place(place: &SectionPlace, look: Look) -> Option<String> {
    let name = place.name.as_deref().filter(|name| !name.is_empty()).map(|name| escape::name(name, look));
    let at = Frame::place_of(&place.frames).is_some().then(|| format!("at {}", frames(&place.frames, look)));
    match (name, at) {
        (Some(name), Some(at)) => Some(format!("{name} {at}")),
        (name, at) => name.or(at),
    }
}

/// Where a section is, without what it is: the cell of a table.
pub(crate) fn section_place(section: &SectionWhy, look: Look) -> String {
    match (Frame::place_of(&section.end.frames), section.end.name.as_deref().filter(|name| !name.is_empty()))
    {
        (Some(_), _) => frames(&section.end.frames, look),
        (None, Some(name)) => escape::name(name, look),
        (None, None) => "an unknown place".to_owned(),
    }
}

/// A place, innermost frame first, by the frame that is the program's own.
pub(crate) fn frames(frames: &[Frame], look: Look) -> String {
    places::place(&Site { frames: frames.to_vec(), ..Site::default() }, look)
}

/// The same with file and line alone, where they are known: `lu.c:407`.
pub(crate) fn line(place: &[Frame], look: Look) -> String {
    match Frame::place_of(place).map(|frame| (frame.file.as_deref(), frame.line)) {
        Some((Some(file), Some(line))) => {
            format!("{}:{line}", escape::name(file.rsplit('/').next().unwrap_or(file), look))
        }
        _ => frames(place, look),
    }
}

/// True if two places are the same line.
pub(crate) fn is_same_line(a: &[Frame], b: &[Frame]) -> bool {
    match (Frame::place_of(a), Frame::place_of(b)) {
        (Some(a), Some(b)) => a.line.is_some() && (&a.file, a.line) == (&b.file, b.line),
        _ => false,
    }
}

/// What ends a section, as a noun.
pub(crate) fn section_kind(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Barrier => "barrier",
        SectionKind::ConditionBarrier => "barrier of a condition variable",
        SectionKind::Join => "join",
        SectionKind::TeamBarrier => "barrier in a parallel region",
        SectionKind::Region => "parallel region",
        SectionKind::Other => "section",
    }
}

/// What ends a section, for a narrow column.
pub(crate) fn section_kind_short(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::ConditionBarrier => "condition",
        SectionKind::TeamBarrier => "team barrier",
        SectionKind::Region => "region",
        kind => section_kind(kind),
    }
}

/// What a cause is, in a word.
pub(crate) fn cause_word(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Branch => "branch",
        CauseKind::Loop => "loop",
        CauseKind::Call => "call",
        CauseKind::Recursion => "recursion",
        CauseKind::Wait => "wait",
        CauseKind::Start => "start",
        CauseKind::Library => "library",
        CauseKind::CacheMiss => "cache miss",
        CauseKind::TlbMiss => "TLB miss",
        CauseKind::BranchMiss => "branch miss",
        CauseKind::Queueing => "queueing",
    }
}

/// What a cause's counts are of, for the head of a chart.
pub(crate) fn counted(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Branch => "taken",
        CauseKind::Loop => "turns",
        CauseKind::Call => "calls",
        CauseKind::Recursion => "recursions",
        CauseKind::Wait => "went on",
        CauseKind::Start => "began",
        CauseKind::Library => "in the library",
        CauseKind::CacheMiss | CauseKind::TlbMiss => "misses",
        CauseKind::BranchMiss => "mispredicted",
        CauseKind::Queueing => "cycles queued",
    }
}

/// A method, as JSON and the command line have it.
pub(crate) fn method(method: Method) -> &'static str {
    match method {
        Method::Paper => "paper",
        Method::Stacked => "stacked",
    }
}

/// What differs between threads where their times do.
pub(crate) fn time_noun(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Instructions => "executed instructions",
        TimeUnit::Nanos => "time",
        TimeUnit::Cycles => "cycles",
    }
}

/// A time in the unit of the analysis, short: `12.4 M`, `431 ms`.
pub(crate) fn amount(value: u64, unit: TimeUnit, look: Look) -> String {
    match unit {
        TimeUnit::Nanos => numbers::time(Nanos::new(value), look),
        TimeUnit::Instructions | TimeUnit::Cycles => count(value),
    }
}

/// A count, short: `87`, `1.2 k`, `12.4 M`.
pub(crate) fn count(value: u64) -> String {
    if value < 1_000 {
        return value.to_string();
    }
    let units = [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    // A value that rounds up to 1000 of its unit is shown in the next one.
    let (scale, unit) = *units.iter().find(|(scale, _)| value as f64 / scale < 999.5).unwrap_or(&units[3]);
    format!("{} {unit}", numbers::figure(value as f64 / scale))
}

/// A score, as the paper prints it: two digits behind the point.
pub(crate) fn score(value: f64) -> String {
    format!("{value:.2}")
}

/// A score with its interval: `0.88 (0.81 to 0.95)`.
pub(crate) fn score_told(cause: &Cause) -> String {
    match cause.interval {
        Some((low, high)) => format!("{} ({} to {})", score(cause.score), score(low), score(high)),
        None => score(cause.score),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame {
            function: Some(function.to_owned()),
            file: Some(format!("/src/{file}")),
            line: Some(line),
            module: Some("lu".to_owned()),
            address: 0x40_1234,
            ..Default::default()
        }
    }

    const LOOK: Look = Look::plain(80);

    #[test]
    fn counts_are_short() {
        let told = [0, 999, 1_000, 12_437, 999_700, 12_437_000, 5_000_000_000, u64::MAX].map(count);
        assert_eq!(told, ["0", "999", "1.0 k", "12.4 k", "1.0 M", "12.4 M", "5.0 G", "18446744 T"]);
    }

    #[test]
    fn a_line_is_its_file_and_number() {
        let at = [frame("lu", "lu.c", 407)];
        assert_eq!(line(&at, LOOK), "lu.c:407");
        assert_eq!(line(&[Frame { line: None, file: None, ..at[0].clone() }], LOOK), "lu (lu)");
        assert!(is_same_line(&at, &[frame("other", "lu.c", 407)]));
        assert!(!is_same_line(&at, &[]));
    }

    #[test]
    fn sections_are_called_by_what_ends_them() {
        let end = |name: Option<&str>, frames| SectionPlace { frames, name: name.map(str::to_owned) };
        let told = |place: &SectionPlace| super::place(place, LOOK);
        assert_eq!(told(&end(None, vec![frame("lu", "lu.c", 604)])).unwrap(), "at lu (lu.c:604)");
        assert_eq!(
            told(&end(Some("round"), vec![frame("lu", "lu.c", 604)])).unwrap(),
            "round at lu (lu.c:604)"
        );
        assert_eq!(told(&end(Some("round"), Vec::new())).unwrap(), "round");
        assert_eq!(told(&end(None, Vec::new())), None);
    }
}
