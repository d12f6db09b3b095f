//! Which lock: what each object that threads wait for cost, who held it and who waited.

use askama::Template;
use holdup_criticality::{HoldTime, ObjectCost};
use holdup_model::Nanos;

use super::chart::{Color, across};
use super::text::{Told, counted, grouped, time};
use super::threads::or_dash;
use crate::numbers;

/// At most so many objects have a row.
const MOST_ROWS: usize = 60;

/// At most so many holders and so many waiters of an object are told.
const MOST_SHARES: usize = 8;

/// The section.
#[derive(Template)]
#[template(path = "locks.html")]
pub(super) struct Locks {
    rows: Vec<Row>,
    more: Option<String>,
    estimated: bool,
}

struct Row {
    name: String,
    color: Color,
    kind: &'static str,
    place: String,
    acquisitions: Cell,
    waits: Cell,
    wait: Cell,
    hold: Cell,
    cost: Cell,
    on_path: Cell,
    wait_width: String,
    hold_width: String,
    mean_waiters: String,
    failed_tries: u64,
    holders: Vec<Share>,
    waiters: Vec<Share>,
}

/// A sort key, and what is shown.
struct Cell {
    key: u64,
    text: String,
}

struct Share {
    thread: String,
    place: String,
    time: String,
}

impl Locks {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let objects = &told.diagnosis.objects;
        let longest = |cost: &ObjectCost| cost.wait.max(cost.hold.time().unwrap_or_default());
        let scale = objects.iter().map(longest).max().unwrap_or_default();
        Self {
            rows: objects.iter().take(MOST_ROWS).map(|cost| row(told, cost, scale)).collect(),
            more: (objects.len().checked_sub(MOST_ROWS))
                .filter(|more| *more > 0)
                .map(|more| format!("and {}, which cost less", counted(more, "more object", "more objects"))),
            estimated: objects.iter().any(|cost| matches!(cost.hold, HoldTime::Estimated { .. })),
        }
    }
}

fn row(told: &Told<'_>, cost: &ObjectCost, scale: Nanos) -> Row {
    let length = |length: Nanos| Cell { key: length.get(), text: or_dash(length) };
    let number = |number: u64| Cell { key: number, text: grouped(number) };
    let width = |length: Nanos| across(length.get() as f64, scale.get() as f64);
    let hold = cost.hold.time();
    Row {
        name: told.object(cost.object),
        color: told.color_of(cost.object),
        kind: told.process.object(cost.object).kind.word(),
        place: told.place(cost.place),
        acquisitions: cost.acquisitions.map_or_else(|| Cell { key: 0, text: "–".to_owned() }, number),
        waits: number(cost.waits),
        wait: length(cost.wait),
        hold: Cell {
            key: hold.map_or(0, Nanos::get),
            text: match cost.hold {
                HoldTime::Measured(held) => or_dash(held),
                HoldTime::Estimated { time: held, .. } => format!("≈\u{a0}{}", time(held)),
                HoldTime::Unknown => "–".to_owned(),
            },
        },
        cost: length(cost.cost),
        on_path: length(cost.on_path),
        wait_width: width(cost.wait),
        hold_width: width(hold.unwrap_or_default()),
        mean_waiters: numbers::figure(cost.mean_waiters),
        failed_tries: cost.failed_tries,
        holders: (cost.holders.iter().take(MOST_SHARES))
            .map(|holder| Share {
                thread: holder.thread.map_or_else(|| "not known".to_owned(), |thread| told.thread(thread)),
                place: told.place(holder.site),
                time: time(holder.time),
            })
            .collect(),
        waiters: (cost.waiters.iter().take(MOST_SHARES))
            .map(|waiter| Share {
                thread: told.thread(waiter.thread),
                place: told.place(waiter.site),
                time: time(waiter.time),
            })
            .collect(),
    }
}
