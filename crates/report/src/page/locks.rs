//! Which lock: what each object that threads wait for cost, who held it and who waited.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use askama::Template;
use holdup_criticality::{FamilyCost, HoldTime, ObjectCost};
use holdup_model::{Arrange, Nanos, ObjectId};

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
    kind: String,
    /// Of a family, those that cost most.
    worst: Vec<Share>,
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
        let families = &told.diagnosis.families;
        let in_families: BTreeSet<ObjectId> =
            families.iter().flat_map(|family| family.members.iter().copied()).collect();
        let alone = told.diagnosis.objects.iter().filter(|cost| !in_families.contains(&cost.object));
        let mut objects: Vec<(Option<&FamilyCost>, &ObjectCost)> = alone.map(|cost| (None, cost)).collect();
        objects.extend(families.iter().map(|family| (Some(family), &family.sum)));
        objects.arrange_by_key(|(_, cost)| (Reverse(cost.cost), Reverse(cost.wait), cost.object));
        let longest = |cost: &ObjectCost| cost.wait.max(cost.hold.time().unwrap_or_default());
        let scale = objects.iter().map(|(_, cost)| longest(cost)).max().unwrap_or_default();
        Self {
            rows: objects.iter().take(MOST_ROWS).map(|(of, cost)| row(told, *of, cost, scale)).collect(),
            more: (objects.len().checked_sub(MOST_ROWS))
                .filter(|more| *more > 0)
                .map(|more| format!("and {}, which cost less", counted(more, "more object", "more objects"))),
            estimated: objects.iter().any(|(_, cost)| matches!(cost.hold, HoldTime::Estimated { .. })),
        }
    }
}

/// Those of a family that cost most.
fn worst(told: &Told<'_>, family: &FamilyCost) -> Vec<Share> {
    let costs = family.members.iter().take(MOST_SHARES).filter_map(|member| told.cost_of(*member));
    let share = |cost: &ObjectCost| Share {
        thread: told.object(cost.object),
        place: String::new(),
        time: time(cost.cost),
    };
    costs.filter(|cost| cost.cost > Nanos::ZERO).map(share).collect()
}

fn row(told: &Told<'_>, family: Option<&FamilyCost>, cost: &ObjectCost, scale: Nanos) -> Row {
    let length = |length: Nanos| Cell { key: length.get(), text: or_dash(length) };
    let number = |number: u64| Cell { key: number, text: grouped(number) };
    let width = |length: Nanos| across(length.get() as f64, scale.get() as f64);
    let hold = cost.hold.time();
    Row {
        name: family.map_or_else(|| told.object(cost.object), |family| told.family(&family.name)),
        color: told.color_of(cost.object),
        kind: match (family, told.process.object(cost.object).kind) {
            (Some(family), kind) => format!("{} {}", grouped(family.members.len() as u64), kind.plural()),
            (None, kind) => kind.word().to_owned(),
        },
        worst: family.map_or_else(Vec::new, |family| worst(told, family)),
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
