//! What holds it up: the findings in their order, with their cost, their gain, and what speaks for them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use holdup_criticality::{Finding, FindingKind, Gain};
use holdup_model::{Arrange, Nanos, ThreadId};

use super::chart::{Color, across};
use super::text::{Figure, LOOK, Told, percent, range, sentence, time};
use crate::{escape, numbers, surroundings, terminal};

/// The most columns of a name in the evidence.
const EVIDENCE_NAME: usize = 10;

/// At most so many threads speak for a finding.
const MOST_IN_EVIDENCE: usize = 4;

/// A thread with less of the run time than this speaks for nothing.
const SMALL: f64 = 0.01;

/// A speedup below this is shown as none.
const LEAST_FACTOR: f64 = 1.005;

/// The most columns that an expression takes.
const EXPRESSION: usize = 200;

/// Where gains come from that no replay gives.
const COMPUTED: [(&[FindingKind], &str); 9] = [
    (
        &[FindingKind::Tasks],
        " What larger tasks and chunks give comes from what making and dealing them out took; what it gives that tasks may begin, from the \
         waits for them.",
    ),
    (
        &[FindingKind::Queue],
        " What a longer queue gives is what the one of its two sides waits that waits less, but for one turn: half of that at least, and what the other \
         waits at most.",
    ),
    (
        &[FindingKind::Io],
        " What it gives to do other work while child processes do theirs is what there is of either, at most, as far as the cores have room for it.",
    ),
    (
        &[FindingKind::Oversubscription],
        " What smaller teams give comes from the work of each thread between barriers.",
    ),
    (
        &[FindingKind::Spin],
        " What is gained where threads spin is what lacked a core meanwhile (on cores that are busy all the time, what samples do not find at \
         work) or, where nothing did, what they lose while one thread alone is at work: nothing to all that they lose, as far as that can be shared out.",
    ),
    (
        &[FindingKind::Sharing],
        " What cache lines of their own give comes from the time at accesses: three quarters of it are likely, none or one and a half \
         times as much possible.",
    ),
    (
        &[FindingKind::Faults],
        " What keeping memory gives comes from the time in page faults and in calls that give it back: 1.1 times as much is likely, three \
         quarters to 1.75 times as much possible.",
    ),
    (
        &[FindingKind::Lock],
        " What taking locks less often gives comes from samples in the functions that take and release them: three quarters of that are \
         likely, half of it to one and a quarter times as much possible, where hardly anybody waits; 0.9 (0.6 to 1.4) of it, and the time \
         for which threads sleep, where they wait on a core and a replay gives less; 0.8 (0.4 to 1.2) of that in functions that signal and wait, \
         too, and the waits for locks, where pieces of work are small.",
    ),
    (
        &[FindingKind::Pipeline, FindingKind::Condition],
        " Where a stage twice as fast would save more than what threads waited for it, the gain is that they wait no longer.",
    ),
];

/// The section.
#[derive(Template)]
#[template(path = "findings.html")]
pub(super) struct Findings {
    lead: String,
    /// Where there is no finding: the verdict, and what it rests on.
    verdict: Option<(String, String)>,
    gains: bool,
    rows: Vec<Row>,
    together: Option<Together>,
    notes: Vec<String>,
}

struct Row {
    rank: usize,
    color: Color,
    what: String,
    tag: Option<&'static str>,
    evidence: String,
    hint: String,
    facts: Vec<(&'static str, String)>,
    stack: Vec<String>,
    shown: Option<Evidence>,
    cost: Figure,
    share: String,
    cost_width: String,
    gain: Option<Given>,
}

/// Who speaks for a finding: a small bar for each.
struct Evidence {
    title: &'static str,
    color: Color,
    rows: Vec<(String, String, String)>,
}

/// A gain on the scale that all gains share.
struct Given {
    time: Figure,
    range: String,
    faster: String,
    label: String,
    at: String,
    low: String,
    width: String,
    cost: Option<String>,
    capped_by: Option<String>,
    expression: Option<String>,
}

struct Together {
    what: String,
    gain: Given,
}

impl Findings {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let diagnosis = told.diagnosis;
        let all = diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.as_ref());
        let gains = || diagnosis.findings.iter().filter_map(|finding| finding.gain.as_ref()).chain(all);
        let costs = || diagnosis.findings.iter().map(|finding| finding.cost);
        // One scale for everything in the column, so that rows compare by eye.
        let scale = gains().flat_map(|gain| [gain.high, gain.time]).chain(costs()).max().unwrap_or_default();
        let has_gains = gains().next().is_some();
        let rows: Vec<Row> = (diagnosis.findings.iter().enumerate())
            .map(|(index, finding)| row(told, index, finding, scale))
            .collect();
        let together = all.map(|gain| Together {
            what: format!(
                "{} in one replay: {} becomes {}.",
                match rows.len() {
                    1 => "Fixed".to_owned(),
                    many => format!("All {} together,", numbers::in_words(many)),
                },
                time(diagnosis.wall),
                time(diagnosis.wall.saturating_sub(gain.time))
            ),
            gain: given(told, gain, None, scale),
        });
        let is_without_replay =
            |finding: &&Finding| finding.gain.as_ref().is_some_and(|gain| gain.expression.is_empty());
        let lead = match (rows.is_empty(), has_gains, diagnosis.what_if.is_some()) {
            (true, ..) => "",
            (false, true, _) => {
                "Each gain comes from a replay of this recording with that one thing fixed; the bar is the range it lies in, the tick is the cost. Gains overlap and do not add up."
            }
            (false, false, true) => {
                "The cost is the thread time lost to it, by the number of threads at work. What fixing would give back is predicted for none of these."
            }
            (false, false, false) => {
                "The cost is the thread time lost to it, by the number of threads at work. What fixing would give back is not predicted here: this recording was not replayed."
            }
        };
        let without: Vec<FindingKind> =
            diagnosis.findings.iter().filter(is_without_replay).map(|finding| finding.kind).collect();
        let other: String = COMPUTED
            .iter()
            .filter(|(kinds, _)| kinds.iter().any(|kind| without.contains(kind)))
            .map(|(_, sentence)| *sentence)
            .collect();
        Self {
            lead: format!("{lead}{other}"),
            verdict: rows.is_empty().then(|| verdict(told)),
            gains: has_gains,
            rows,
            together,
            notes: diagnosis
                .what_if
                .as_ref()
                .map_or_else(Vec::new, |what_if| what_if.notes.iter().map(|note| sentence(note)).collect()),
        }
    }
}

fn verdict(told: &Told<'_>) -> (String, String) {
    if told.process.threads.len() <= 1 {
        return (
            "It never had a second thread, so no thread can have held up another.".to_owned(),
            format!(
                "Its one thread was active {} of the time.",
                percent(told.diagnosis.parallelism.min(1.0))
            ),
        );
    }
    let (verdict, checked) = terminal::without_findings(told.run, told.diagnosis, LOOK);
    (sentence(&verdict), sentence(&checked))
}

fn row(told: &Told<'_>, index: usize, finding: &Finding, scale: Nanos) -> Row {
    let evidence: Vec<String> = finding.evidence.iter().map(|fact| sentence(fact)).collect();
    let mut facts: Vec<(&'static str, String)> = vec![("Method", finding.method.to_owned())];
    if let Some(on_path) = finding.on_path {
        facts.push(("On the critical path", format!("{} ({})", time(on_path), told.of_wall(on_path))));
    }
    facts.extend(finding.notes.iter().map(|note| ("Keep in mind", sentence(note))));
    Row {
        rank: index + 1,
        color: finding.kind.color(),
        what: sentence(&finding.what),
        tag: tag(finding.kind),
        evidence: evidence.join(" "),
        hint: sentence(&finding.hint),
        facts,
        stack: finding.place.map_or_else(Vec::new, |site| told.stack(site)),
        shown: shown(told, finding),
        cost: Figure::of(&time(finding.cost)),
        share: told.of_wall(finding.cost),
        cost_width: across(finding.cost.get() as f64, scale.get() as f64),
        gain: finding.gain.as_ref().map(|gain| given(told, gain, Some(finding.cost), scale)),
    }
}

/// What a finding is about, where it is not the program's own doing.
fn tag(kind: FindingKind) -> Option<&'static str> {
    match kind {
        kind if surroundings::is_outside(kind) => Some("environment"),
        FindingKind::WakeUp => Some("system"),
        _ => None,
    }
}

/// For what is held or waited for: who was waited for, and how long. For anything else: how much of the run time
/// belongs to the threads that cause it.
fn shown(told: &Told<'_>, finding: &Finding) -> Option<Evidence> {
    let color = finding.kind.color();
    let holders = told.diagnosis.cost_of(finding).map(|cost| &cost.holders);
    let mut waited: BTreeMap<Option<ThreadId>, Nanos> = BTreeMap::new();
    for holder in holders.into_iter().flatten() {
        *waited.entry(holder.thread).or_default() += holder.time;
    }
    let mut waited: Vec<_> = waited.into_iter().filter(|(_, time)| *time > Nanos::ZERO).collect();
    waited.arrange_by_key(|&(thread, time)| (Reverse(time), thread));
    if let Some(&(_, most)) = waited.first() {
        let told_of = |&(thread, length): &(Option<ThreadId>, Nanos)| {
            let label = thread.map_or_else(|| "not known".to_owned(), |thread| evidence_name(told, thread));
            (label, across(length.get() as f64, most.get() as f64), time(length))
        };
        let rows = waited.iter().take(MOST_IN_EVIDENCE).map(told_of).collect();
        return Some(Evidence { title: "who was waited for", color, rows });
    }
    if tag(finding.kind).is_some() {
        return None;
    }
    let criticality = told.diagnosis.told_criticality();
    let total = criticality.total.get() as f64;
    let shares: Vec<(ThreadId, f64)> = finding
        .threads
        .iter()
        .filter_map(|&thread| Some((thread, criticality.threads.get(thread.index())? / total)))
        .filter(|(_, share)| *share >= SMALL)
        .take(MOST_IN_EVIDENCE)
        .collect();
    let rows = shares
        .iter()
        .map(|&(thread, share)| (evidence_name(told, thread), across(share, 1.0), percent(share)))
        .collect();
    (!shares.is_empty()).then_some(Evidence { title: "share of the run time", color: "act", rows })
}

/// A thread's name as there is room for it beside a bar: without its middle, as what tells threads apart is mostly at its end.
fn evidence_name(told: &Told<'_>, thread: ThreadId) -> String {
    escape::cut(&told.thread(thread), EVIDENCE_NAME, LOOK)
}

fn given(told: &Told<'_>, gain: &Gain, cost: Option<Nanos>, scale: Nanos) -> Given {
    let wall = told.diagnosis.wall;
    let left = wall.saturating_sub(gain.time);
    let faster = match wall.get() as f64 / left.get().max(1) as f64 {
        factor if factor < LEAST_FACTOR => String::new(),
        factor if factor < 9.995 => format!("{factor:.2} times faster"),
        factor => format!("{} times faster", numbers::figure(factor)),
    };
    let scale = scale.get() as f64;
    let [low, high, at] = [gain.low, gain.high, gain.time].map(|length| length.get() as f64);
    Given {
        time: if gain.time == Nanos::ZERO {
            Figure::with("nothing", "")
        } else {
            Figure::of(&time(gain.time))
        },
        range: range(gain.low, gain.high),
        label: format!(
            "Fixing it saves {}, between {} and {}",
            time(gain.time),
            time(gain.low),
            time(gain.high)
        ),
        faster,
        at: across(at, scale),
        low: across(low, scale),
        width: across((high - low).max(0.0), scale),
        cost: cost.map(|cost| across(cost.get() as f64, scale)),
        capped_by: gain.capped_by.as_deref().map(sentence),
        expression: (!gain.expression.is_empty())
            .then(|| escape::cut(&escape::visible(&gain.expression, LOOK), EXPRESSION, LOOK)),
    }
}
