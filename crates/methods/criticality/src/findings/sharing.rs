//! Cache lines that threads take from each other.

use holdup_model::figures::grouped;
use holdup_model::{CACHE_LINE, Nanos, ThreadId};

use super::{Candidate, Case, Description, main_ones};
use crate::FindingKind;
use crate::shared_lines::{SharedLines, shared_lines};

/// So many threads are named with what they access.
const MOST_NAMED: usize = 3;

/// What fixing is likely to save, and at most, as parts of the time at accesses to shared lines: what was measured of own and of other
/// programs (docs/explain/sharing.md).
const LIKELY_PART: f64 = 0.75;
const LARGEST_PART: f64 = 1.5;

const NOT_ALL: &str =
    "These accesses would take some of that anyway; what waits for the line elsewhere is not in it.";

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    for lines in shared_lines(case.process, case.timeline, case.samples, case.stages, case.times) {
        let working = lines.threads.iter().filter(|(thread, _)| case.working.threads.contains(thread));
        let lost = working.map(|(_, time)| *time).sum::<Nanos>();
        let gain = case.gain_of_work(lost, [0.0, LIKELY_PART, LARGEST_PART]);
        let mut candidate = Candidate::new(FindingKind::Sharing, lost, move |case| describe(case, &lines));
        candidate.gain = Some(gain);
        candidates.push(candidate);
    }
}

fn describe(case: &Case<'_>, lines: &SharedLines) -> Description {
    let threads = main_ones(&lines.threads);
    let place = case.site(lines.place);
    let what = match (lines.is_false, lines.variable.as_ref().map(|name| case.names.shown_as(name))) {
        (true, None) => format!("false sharing in {place}"),
        (true, Some(name)) => format!("false sharing of {name} in {place}"),
        (false, None) => format!("data that several threads change in {place}"),
        (false, Some(name)) => format!("{name}, which several threads change in {place}"),
    };
    let hint = match (lines.is_false, lines.is_atomic) {
        (true, _) => {
            "Give each thread's data cache lines of its own (align it to 128 bytes: lines are fetched in pairs), or let each thread \
             work on a local variable and store that at the end."
        }
        (false, true) => {
            "Let each thread count for itself, in a cache line of its own, and add up when the sum is needed; or change it less often, \
             by more at once."
        }
        (false, false) => {
            "Let each thread work on data of its own, in cache lines of its own, and put that together at the end; or change it less \
             often."
        }
    };
    Description {
        object: None,
        place: Some(lines.place),
        what,
        evidence: vec![found(lines), which(case, lines), NOT_ALL.to_owned()],
        threads,
        hint: hint.to_owned(),
        on_path: None,
        method: "samples of threads right behind instructions that access the same cache line",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

fn found(lines: &SharedLines) -> String {
    let time: Nanos = lines.threads.values().copied().sum();
    let line = match lines.lines {
        1 => "a cache line".to_owned(),
        many => format!("{} cache lines", grouped(many as u64)),
    };
    let at = if lines.is_false { "at other bytes" } else { "at the same bytes" };
    format!(
        "{} samples ({time}) are right behind accesses to {line} that others access at the same time, {at}.",
        grouped(lines.samples)
    )
}

/// Which bytes of the line with the most samples each thread accesses.
fn which(case: &Case<'_>, lines: &SharedLines) -> String {
    let one = |(threads, bytes, writes): &(Vec<ThreadId>, std::ops::Range<u64>, bool)| {
        let did = match (*writes, threads.len()) {
            (true, 1) => "writes",
            (true, _) => "write",
            (false, 1) => "reads",
            (false, _) => "read",
        };
        format!("{} {did} {} to {}", case.threads(threads), bytes.start, bytes.end - 1)
    };
    let named: Vec<String> = lines.bytes.iter().take(MOST_NAMED).map(one).collect();
    let more = lines.bytes.len().saturating_sub(MOST_NAMED);
    let more = match more {
        0 => String::new(),
        1 => ", and one more thread accesses it".to_owned(),
        more => format!(", and {more} more threads access it"),
    };
    let of_it = match lines.lines {
        1 => format!("Of its {CACHE_LINE} bytes"),
        _ => format!("Of the {CACHE_LINE} bytes of the one with the most samples"),
    };
    format!("{of_it} {}{more}.", named.join(", "))
}
