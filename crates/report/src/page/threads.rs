//! Which thread: criticality stack, bottle graph, and what each thread did.

use askama::Template;
use holdup_criticality::Bottle;
use holdup_model::{
    Arrange, Nanos, Segment, Stack, StackComponent, State, Thread, ThreadId, ThreadTimes, Unit,
};

use super::chart::{Color, across, color_of_state, coordinate, ticks};
use super::stack_bar::{Reach, StackBar};
use super::text::{Told, grouped, percent, time, time_of};
use crate::{numbers, shares};

/// At most so many threads have a bar or a box of their own.
const MOST_BARS: usize = 12;

/// At most so many threads have a row.
const MOST_ROWS: usize = 128;

/// More rows than these scroll in a box of their own.
const MOST_OPEN_ROWS: usize = 20;

/// The height of the bottle graph (pixels).
const HEIGHT: f64 = 264.0;

/// A box lower than this has no label (pixels).
const LABEL: f64 = 13.0;

/// The section.
#[derive(Template)]
#[template(path = "threads.html")]
pub(super) struct Threads {
    lead: String,
    stack: Vec<Share>,
    total: String,
    /// Which threads share a moment.
    counted: &'static str,
    bottle: Option<BottleGraph>,
    has_delayed: bool,
    key: Vec<(Color, String)>,
    rows: Vec<Row>,
    more: Option<String>,
    /// Whether there are so many rows that they scroll in a box of their own.
    many: bool,
}

/// One line of the criticality stack.
struct Share {
    label: String,
    color: Color,
    width: String,
    time: String,
    share: String,
}

struct BottleGraph {
    label: String,
    height: f64,
    boxes: Vec<Piece>,
    /// Where a round number of threads is: left and right of the middle.
    grid: Vec<(String, String, String)>,
    numbers: Vec<(String, String, String)>,
}

struct Piece {
    x: String,
    width: String,
    right: String,
    y: String,
    height: String,
    middle: Option<String>,
    color: Color,
    label: String,
    value: String,
    title: String,
}

struct Row {
    thread: usize,
    label: String,
    about: String,
    criticality: u64,
    share: String,
    states: StackBar,
    /// Sort key and text of each time, in the order of the columns.
    times: Vec<(u64, String)>,
}

impl Threads {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let diagnosis = told.diagnosis;
        let criticality = diagnosis.told_criticality();
        let mut order: Vec<usize> = (0..criticality.threads.len()).collect();
        let critical = |index: usize| criticality.threads[index];
        order.arrange_by(|&a, &b| critical(b).total_cmp(&critical(a)).then(a.cmp(&b)));
        let has_delayed = diagnosis.threads.iter().any(|times| times.delayed > Nanos::ZERO);
        let mut key = Vec::new();
        let whole = shares::whole_criticality(criticality);
        let rows: Vec<Row> = order
            .iter()
            .take(MOST_ROWS)
            .map(|&index| {
                let (row, parts) = row(told, index, whole[index], has_delayed);
                key.extend(parts);
                row
            })
            .collect();
        key.sort_unstable();
        key.dedup();
        Self {
            lead: lead(told, &order),
            stack: stack(told, &order),
            total: time(criticality.total),
            counted: if diagnosis.is_by_runnable() {
                "able to run in it, since others had cores"
            } else {
                "active in it"
            },
            bottle: bottle(told),
            has_delayed,
            key: key.into_iter().map(|(_, color, word)| (color, word)).collect(),
            more: (order.len().checked_sub(MOST_ROWS))
                .filter(|more| *more > 0)
                .map(|more| format!("and {} more threads", grouped(more as u64))),
            many: rows.len() > MOST_OPEN_ROWS,
            rows,
        }
    }
}

/// A thread stands out if it has more than this many even shares.
const STANDS_OUT: f64 = 1.5;

/// Nor does it, or nobody, without this share of the run time.
const LARGE: f64 = 0.1;

/// Who the run time belongs to, in a sentence.
fn lead(told: &Told<'_>, order: &[usize]) -> String {
    let criticality = told.diagnosis.told_criticality();
    let total = criticality.total.get() as f64;
    let of = |index: &usize| criticality.threads[*index] / total;
    let name = |index: &usize| told.thread(ThreadId::new(*index as u32));
    let nobody = criticality.nobody_total() / total;
    let even = 1.0 / f64::from(told.diagnosis.workers.max(1));
    match order {
        [] => "No thread was recorded.".to_owned(),
        _ if total <= 0.0 => String::new(),
        [only] => format!("There is one thread; {} of the run time is its work.", percent(of(only))),
        [first, ..] if nobody > of(first) && nobody > LARGE => {
            format!("For {} of the run time no thread was active at all.", percent(nobody))
        }
        [first, second, ..] if of(first) > LARGE.max(STANDS_OUT * even.max(of(second))) => format!(
            "The run time belongs to {} before all others: {}, where an even share would be {}.",
            name(first),
            percent(of(first)),
            percent(even)
        ),
        [first, second, ..] if of(second) > LARGE.max(STANDS_OUT * even) => format!(
            "Two threads hold the others up: {} and {} have {} of the run time.",
            name(first),
            name(second),
            percent(of(first) + of(second))
        ),
        [first, ..] => {
            format!("No thread stands out: none has more than {} of the run time.", percent(of(first)))
        }
    }
}

fn stack(told: &Told<'_>, order: &[usize]) -> Vec<Share> {
    let criticality = told.diagnosis.told_criticality();
    let total = criticality.total.get() as f64;
    let shown = if order.len() > MOST_BARS + 1 { MOST_BARS } else { order.len() };
    let (own, others) = order.split_at(shown);
    let sum: f64 = others.iter().map(|&index| criticality.threads[index]).sum();
    let labels: Vec<String> =
        (0..order.len()).map(|index| told.thread(ThreadId::new(index as u32))).collect();
    let stack = criticality.stack(&labels);
    let part = |part: &StackComponent| (part.label.to_string(), part.color, part.amount);
    let (threads, nobody) = stack.components().split_at(order.len());
    let mut parts: Vec<(String, Color, f64)> = own.iter().map(|&index| part(&threads[index])).collect();
    if let Some(&largest) = others.first() {
        let most = percent(criticality.threads[largest] / total);
        parts.push((format!("{} others, at most {most} each", grouped(others.len() as u64)), "act2", sum));
    }
    parts.extend(nobody.iter().filter(|cause| cause.amount > 0.0).map(part));
    // The others together would make all else small: their bar may be cut off.
    let single = own.iter().map(|&index| criticality.threads[index]);
    let most = single.chain(criticality.nobody.iter().map(|(_, amount)| *amount)).fold(0.0, f64::max);
    parts
        .into_iter()
        .map(|(label, color, amount)| Share {
            label,
            color,
            width: across(amount, most),
            time: time_of(amount),
            share: percent(if total > 0.0 { amount / total } else { 0.0 }),
        })
        .collect()
}

/// Boxes from the bottom up, the widest first; what is too low to be seen is one box.
fn bottle(told: &Told<'_>) -> Option<BottleGraph> {
    let diagnosis = told.diagnosis;
    let wall = diagnosis.wall;
    let single = diagnosis.bottle.iter().take(MOST_BARS);
    let mut boxes: Vec<(String, Bottle, bool)> =
        single.map(|bottle| (told.thread(bottle.thread), *bottle, true)).collect();
    let others = diagnosis.bottle.get(MOST_BARS..).unwrap_or_default();
    let height: f64 = others.iter().map(|bottle| bottle.height).sum();
    if height > 0.0 {
        // The width of boxes together is their active time by their height, as that of each is.
        let active: f64 = others.iter().map(|bottle| bottle.height * bottle.width).sum();
        let first = others[0].thread;
        let label = format!("{} others", grouped(others.len() as u64));
        boxes.push((label, Bottle { thread: first, height, width: active / height }, false));
    }
    boxes.retain(|(_, bottle, _)| bottle.height > 0.0 && bottle.width.is_finite());
    let widest = boxes.iter().map(|(_, bottle, _)| bottle.width).fold(0.0, f64::max);
    if boxes.is_empty() || widest <= 0.0 {
        return None;
    }
    boxes.arrange_by(|a, b| b.1.width.total_cmp(&a.1.width));
    let mean_height = 1.0 / diagnosis.bottle.len() as f64;
    // The boxes have the left three quarters, the labels the rest.
    let (middle, reach) = (37.0, 36.0);
    let side = |threads: f64| reach * (threads / widest).min(1.0);
    let mut bottom = HEIGHT;
    let numbers = boxes
        .iter()
        .map(|(label, bottle, _)| (label.clone(), percent(bottle.height), numbers::figure(bottle.width)))
        .collect();
    let mut drawn: Vec<Piece> = Vec::new();
    for (label, bottle, is_single) in boxes {
        let height = bottle.height.min(1.0) * HEIGHT;
        bottom -= height;
        let width = numbers::figure(bottle.width);
        drawn.push(Piece {
            x: across(middle - side(bottle.width), 100.0),
            width: across(2.0 * side(bottle.width), 100.0),
            right: across(middle + side(bottle.width), 100.0),
            y: coordinate(bottom.max(0.0), HEIGHT, HEIGHT),
            height: coordinate((height - 1.0).max(0.6), HEIGHT, HEIGHT),
            middle: (height >= LABEL)
                .then(|| coordinate(bottom + height / 2.0 + 4.0, HEIGHT + 9.0, HEIGHT + 9.0)),
            color: if is_single && bottle.height > STANDS_OUT * mean_height { "act" } else { "act2" },
            title: format!(
                "{label}\n{} of the time ({})\n{width} threads active while it was",
                time_of(bottle.height * wall.get() as f64),
                percent(bottle.height)
            ),
            label,
            value: width,
        });
    }
    let nobody = diagnosis.criticality.nobody_total();
    let height = nobody / wall.get().max(1) as f64 * HEIGHT;
    if height >= 1.0 {
        bottom -= height;
        drawn.push(Piece {
            x: across(middle - 0.5, 100.0),
            width: across(1.0, 100.0),
            right: across(middle + 0.5, 100.0),
            y: coordinate(bottom.max(0.0), HEIGHT, HEIGHT),
            height: coordinate(height - 1.0, HEIGHT, HEIGHT),
            middle: (height >= LABEL).then(|| coordinate(bottom + height / 2.0 + 4.0, HEIGHT, HEIGHT)),
            color: "io",
            label: "nobody".to_owned(),
            value: String::new(),
            title: format!("nobody active\n{}", time_of(nobody)),
        });
    }
    let at = |threads: &f64| {
        (
            across(middle - side(*threads), 100.0),
            across(middle + side(*threads), 100.0),
            format!("{threads:.0}"),
        )
    };
    let said: Vec<String> = drawn.iter().map(|b| b.title.replace('\n', ", ")).collect();
    Some(BottleGraph {
        label: format!("Bottle graph: {}", said.join("; ")),
        height: HEIGHT,
        boxes: drawn,
        grid: ticks(widest.max(3.0), 3.0)
            .iter()
            .filter(|threads| (1.0..=widest).contains(*threads))
            .map(at)
            .collect(),
        numbers,
    })
}

/// A part of a thread's life: its place in the order, colour and word.
type Part = (usize, Color, String);

/// What a thread did, in the order of the bar. Waits are split by what was waited for, as the timeline has them.
fn did(told: &Told<'_>, index: usize, times: &ThreadTimes) -> Stack {
    let segments = told.timeline.threads.get(index).map_or(&[][..], |row| &row.segments);
    let waited = |color: Color| -> Nanos {
        let role = |segment: &Segment| segment.object.map(|object| told.role(object));
        (segments.iter())
            .filter(|segment| segment.state == State::Blocked)
            .filter(|segment| color_of_state(State::Blocked, role(segment)) == color)
            .map(Segment::length)
            .sum()
    };
    let (locks, meetings) = (waited("lock"), waited("bar"));
    let parts = [
        ("act", "active", times.active),
        ("spin", "spinning", times.spinning),
        ("lock", "blocked on a lock", locks),
        ("bar", "waiting for others at a barrier or join", meetings),
        ("sig", "waiting for a signal", times.waiting.saturating_sub(locks + meetings)),
        ("wake", "waking up", times.waking),
        ("des", "without a core", times.descheduled),
        ("io", "in I/O", times.io),
        ("sleep", "asleep", times.asleep),
        ("hatch", "not recorded", times.not_recorded),
        ("idle", "did not exist", times.not_existing),
    ];
    let component = |(color, word, length): (Color, &'static str, Nanos)| {
        StackComponent::new(word, word, color, length.get() as f64)
    };
    Stack::of(Unit::Nanos, parts.into_iter().map(component).collect())
}

fn row(told: &Told<'_>, index: usize, criticality: u64, has_delayed: bool) -> (Row, Vec<Part>) {
    let diagnosis = told.diagnosis;
    let id = ThreadId::new(index as u32);
    let facts = told.process.thread(id);
    let times = diagnosis.threads[index];
    let wall = diagnosis.wall.get() as f64;
    let did = did(told, index, &times);
    let present = (did.components().iter().enumerate())
        .filter(|(_, part)| part.amount > 0.0)
        .map(|(at, part)| (at, part.color, part.label.to_string()))
        .collect();
    let label = told.thread(id);
    let states = StackBar::new(&label, &did, Reach::of([&did]), 14);
    let blocked = times.waiting + times.spinning;
    let columns = [times.active, blocked, times.waking + times.descheduled, times.io + times.asleep];
    let delayed = has_delayed.then_some(times.delayed);
    let mut shown: Vec<(u64, String)> =
        columns.into_iter().chain(delayed).map(|length| (length.get(), or_dash(length))).collect();
    let cpu = facts.known_cpu();
    shown.push((cpu.map_or(0, Nanos::get), cpu.map_or_else(|| "not known".to_owned(), time)));
    let critical = diagnosis.told_criticality().threads[index];
    let row = Row {
        thread: index,
        about: about(told, index, facts),
        criticality,
        share: percent(if wall > 0.0 { critical / wall } else { 0.0 }),
        states,
        times: shown,
        label,
    };
    (row, present)
}

/// Its start function, its kernel id, and whether it only starts others and waits for their ends.
fn about(told: &Told<'_>, index: usize, facts: &Thread) -> String {
    let start = told.place(facts.entry);
    let id = if facts.tid > 0 { format!("tid {}", facts.tid) } else { String::new() };
    let works = told.diagnosis.working_threads.contains(&ThreadId::new(index as u32));
    let role = if works { "" } else { "starts and joins others" };
    [start.as_str(), &id, role].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// A time, or a dash for none at all.
pub(super) fn or_dash(length: Nanos) -> String {
    if length == Nanos::ZERO { "–".to_owned() } else { time(length) }
}
