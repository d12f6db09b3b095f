//! What losses, regions, hints and laws are called.

use holdup_model::{Arrange, Nanos, Site, StackComponent};
use holdup_scaling::{Hint, HintKind, LawKind, Losses, RegionKind, RegionScaling, Scaling, UNEXPLAINED};

use crate::{Look, names, numbers};

/// Functions that compilers make of a region are named after the one it stands in, with one of these behind it.
const OUTLINED: [&str; 2] = ["._omp_fn.", ".omp_outlined"];

/// The parts that are losses, the largest first; what is unexplained comes last, however large it is.
pub(crate) fn largest(losses: &Losses) -> Vec<StackComponent> {
    let mut parts: Vec<StackComponent> =
        losses.components().into_iter().filter(|part| part.amount > 0.0).collect();
    parts.arrange_by(|a, b| is_unexplained(a).cmp(&is_unexplained(b)).then(b.amount.total_cmp(&a.amount)));
    parts
}

/// What costs as much with the fewest threads, and so is no loss, but could be saved as well: causes whose cost is mostly
/// not in what is lost, the largest first.
pub(crate) fn standing(losses: &Losses, costs: &Losses) -> Vec<StackComponent> {
    let mut standing: Vec<StackComponent> = (costs.components().into_iter().zip(losses.components()))
        .filter(|(cost, loss)| cost.amount > 0.0 && loss.amount < cost.amount / 2.0 && !is_unexplained(cost))
        .map(|(cost, _)| cost)
        .collect();
    standing.arrange_by(|a, b| b.amount.total_cmp(&a.amount));
    standing
}

/// True for what no cause explains.
pub(crate) fn is_unexplained(part: &StackComponent) -> bool {
    part.key == UNEXPLAINED
}

/// What a region is called: `parallel region blts (blts.c:88)`.
pub(crate) fn region(region: &RegionScaling, look: Look) -> String {
    let place = region.place.as_ref().map(|site| place(site, look));
    let inside = if region.nested { "nested " } else { "" };
    let told = match (region.kind, place) {
        (RegionKind::Parallel, Some(place)) => format!("parallel region {place}"),
        (RegionKind::Parallel, None) => "parallel region without a known place".to_owned(),
        (RegionKind::Section, Some(place)) => format!("section up to {place}"),
        (RegionKind::Section, None) => "section without a known place".to_owned(),
        (RegionKind::Serial, Some(place)) => format!("one thread alone, {place}"),
        (RegionKind::Serial, None) => "one thread alone, outside of all regions".to_owned(),
    };
    format!("{inside}{told}")
}

/// The place of a region alone, or what it is where it has none.
pub(crate) fn region_in_short(told: &RegionScaling, look: Look) -> String {
    match (&told.place, told.kind) {
        (Some(site), RegionKind::Parallel | RegionKind::Section) => place(site, look),
        (_, RegionKind::Serial) => "what one thread does alone".to_owned(),
        (None, _) => region(told, look),
    }
}

/// A place, named by the function that a person wrote.
pub(crate) fn place(site: &Site, look: Look) -> String {
    let mut site = site.clone();
    for frame in &mut site.frames {
        let written = frame.function.as_deref().map(|function| written(function).to_owned());
        frame.function = written.filter(|function| !function.is_empty());
    }
    names::place_of(&site, None, look)
}

/// The function that a region's outlined function was made of; empty where its name does not say.
fn written(function: &str) -> &str {
    let ends = OUTLINED.iter().filter_map(|mark| function.find(mark)).min();
    ends.map_or(function, |end| &function[..end])
}

/// The sort of a region, as JSON has it.
pub(crate) fn region_kind(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Parallel => "parallel",
        RegionKind::Section => "section",
        RegionKind::Serial => "serial",
    }
}

/// The sort of a hint, as JSON has it and `holdup explain` knows it.
pub(crate) fn hint_kind(kind: HintKind) -> &'static str {
    match kind {
        HintKind::Schedule => "schedule",
        HintKind::Barriers => "barriers",
        HintKind::Runtime => "runtime",
        HintKind::LockHint => "lock-hint",
        HintKind::Atomic => "atomic",
        HintKind::QueueLock => "queue-lock",
        HintKind::FewerConcurrent => "fewer-concurrent",
        HintKind::CoarserRegions => "coarser-regions",
        HintKind::Collapse => "collapse",
        HintKind::TaskCutoff => "task-cutoff",
        HintKind::MoreTasks => "more-tasks",
        HintKind::Parallelize => "parallelize",
        HintKind::Memory => "memory-use",
        HintKind::FewerThreads => "fewer-threads",
    }
}

/// What a hint says to do, in a few words.
pub(crate) fn advice(kind: HintKind) -> &'static str {
    match kind {
        HintKind::Schedule => "deal the work out in another way",
        HintKind::Barriers => "wait for each other less often",
        HintKind::Runtime => "pass barriers faster",
        HintKind::LockHint => "make taking the lock cheaper, or rarer",
        HintKind::Atomic => "write atomic in the place of the lock",
        HintKind::QueueLock => "hand the lock on in order",
        HintKind::FewerConcurrent => "let fewer threads want the lock at once",
        HintKind::CoarserRegions => "make the region larger",
        HintKind::Collapse => "collapse nested loops",
        HintKind::TaskCutoff => "make fewer and larger tasks",
        HintKind::MoreTasks => "make more tasks",
        HintKind::Parallelize => "parallelize what one thread does alone",
        HintKind::Memory => "fix the use of caches and memory",
        HintKind::FewerThreads => "use fewer threads",
    }
}

/// Where a hint is for; empty where that is not known.
pub(crate) fn hint_place(scaling: &Scaling, hint: &Hint, look: Look) -> String {
    match (&hint.place, hint.region.and_then(|index| scaling.regions.get(index))) {
        (Some(site), _) => place(site, look),
        // What one thread does alone is everywhere outside of regions.
        (None, Some(region)) if region.kind != RegionKind::Serial => region_in_short(region, look),
        (None, _) => String::new(),
    }
}

/// What a law is called.
pub(crate) fn law(kind: LawKind) -> &'static str {
    match kind {
        LawKind::Amdahl => "Amdahl's law",
        LawKind::Usl => "universal scalability law",
        LawKind::NormalForm => "performance-model normal form",
    }
}

/// The sort of a law, as JSON has it.
pub(crate) fn law_kind(kind: LawKind) -> &'static str {
    match kind {
        LawKind::Amdahl => "amdahl",
        LawKind::Usl => "usl",
        LawKind::NormalForm => "normal-form",
    }
}

/// A ratio of numbers of threads: `8`, `2.67`.
pub(crate) fn ratio(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { numbers::factor(value) }
}

/// A time that may be negative: `1.4 s`, `−30 ms`.
pub(crate) fn signed(nanos: i64, look: Look) -> String {
    let sign = match nanos {
        0 => return "0".to_owned(),
        1.. => "",
        _ if look.unicode => "−",
        _ => "-",
    };
    format!("{sign}{}", numbers::time(Nanos::new(nanos.unsigned_abs()), look))
}

/// Two times as the ends of a range, the unit once where it is the same: `0.7 to 0.9 s`.
pub(crate) fn range(low: i64, high: i64, look: Look) -> String {
    let [low, high] = [low, high].map(|end| signed(end, look));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// Two shares as the ends of a range: `41–48 %`; of the same number of digits from 10 % on.
pub(crate) fn shares(low: f64, high: f64, look: Look) -> String {
    let to = numbers::percent(high);
    let from = match high >= 0.0995 && low >= 0.005 {
        true => format!("{:.0} %", low * 100.0),
        false => numbers::percent(low),
    };
    if from == to {
        return to;
    }
    let dash = if look.unicode { "–" } else { "-" };
    match from.strip_suffix(" %") {
        Some(number) if !number.contains(' ') && low >= 0.0 => format!("{number}{dash}{to}"),
        _ => format!("{from} to {to}"),
    }
}

/// Caches of more cores make programs faster than their number, but not by more than this: beyond it the runs that are compared
/// did not do the same, or something else slowed the first.
const MOST_EFFICIENT: f64 = 1.5;

/// A share of what perfect scaling gives; `-` where it cannot be.
pub(crate) fn efficiency(share: f64) -> String {
    if (0.0..=MOST_EFFICIENT).contains(&share) { numbers::percent(share) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use holdup_model::Frame;

    use super::*;

    const LOOK: Look = Look::plain(80);

    fn site(function: &str) -> Site {
        let frame = Frame {
            function: Some(function.to_owned()),
            file: Some("src/lu.c".to_owned()),
            line: Some(88),
            ..Frame::default()
        };
        Site { frames: vec![frame], ..Site::default() }
    }

    #[test]
    fn regions_are_named_by_what_a_person_wrote() {
        for function in ["blts._omp_fn.0", "blts.omp_outlined", "blts.omp_outlined_debug__.3", "blts"] {
            assert_eq!(place(&site(function), LOOK), "blts (lu.c:88)");
        }
        assert_eq!(place(&site(".omp_outlined."), LOOK), "lu.c:88");
    }

    #[test]
    fn an_efficiency_that_cannot_be_is_withheld() {
        assert_eq!([0.47, 1.04, 5.09, -0.1, f64::NAN].map(efficiency), ["47 %", "104 %", "-", "-", "-"]);
    }

    #[test]
    fn parts_are_all_that_is_lost() {
        let losses = Losses {
            lost: 66,
            imbalance: 1,
            walkthrough: 2,
            startup: 3,
            lock_algorithm: 4,
            lock_contention: 5,
            scheduling: 6,
            serial: 7,
            starvation: 8,
            inflation: 9,
            oversubscription: 10,
            unexplained: 11,
        };
        assert_eq!(losses.components().iter().map(|part| part.amount).sum::<f64>(), losses.lost as f64);
        let told = largest(&losses);
        assert_eq!((&*told[0].label, &*told[10].label), ("oversubscription", "unexplained"));
    }

    #[test]
    fn ranges_name_their_unit_once() {
        assert_eq!(range(700_000_000, 900_000_000, LOOK), "700 to 900 ms");
        assert_eq!(range(-30_000_000, 1_200_000_000, LOOK), "−30.0 ms to 1.2 s");
        assert_eq!(range(0, 9_000_000, LOOK), "0 to 9.0 ms");
        assert_eq!(range(i64::MIN, i64::MAX, LOOK), "−9223372037 to 9223372037 s");
        assert_eq!(shares(0.41, 0.48, LOOK), "41–48 %");
        assert_eq!(shares(0.094, 0.11, LOOK), "9–11 %");
        assert_eq!(shares(0.02, 0.045, LOOK), "2.0–4.5 %");
        assert_eq!(shares(0.41, 0.41, LOOK), "41 %");
        assert_eq!(shares(0.0001, 0.41, LOOK), "under 0.1 % to 41 %");
    }
}
