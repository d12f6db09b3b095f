//! Who waits for whom: the courses that waits took, as a flow from those who wait to what ends their wait.

use std::collections::BTreeMap;

use askama::Template;
use holdup_criticality::{Chain, ChainLink};
use holdup_model::{Arrange, Nanos, ObjectId, State, ThreadId};

use super::chart::{Color, across, color_of_state, number};
use super::text::{LOOK, Told, counted, state_word, time};
use crate::escape;

/// At most so many courses are drawn.
const MOST_DRAWN: usize = 12;

/// At most so many steps of a course are drawn: an object and who has it are a step.
const MOST_STEPS: usize = 3;

/// The most columns of text that a label takes: what has room in a column of the least width that the style sheet gives it.
const LABEL: usize = 22;

/// However long the time beside it is, a detail has so many columns.
const SHORTEST: usize = 12;

/// The units in which ribbons are drawn across; the chart is stretched to the room there is.
const WIDTH: f64 = 1000.0;

/// The height of all drawn waits together (pixels).
const HEIGHT: f64 = 200.0;

/// The room that a label needs, and the gap between two nodes (pixels).
const ROOM: f64 = 30.0;
const GAP: f64 = 12.0;

/// The room of the columns' titles (pixels).
const HEAD: f64 = 26.0;

/// The section.
#[derive(Template)]
#[template(path = "chains.html")]
pub(super) struct Chains {
    lead: String,
    graph: Option<Graph>,
    rows: Vec<Row>,
}

struct Row {
    waiters: String,
    course: String,
    time: String,
    share: String,
}

struct Graph {
    label: String,
    height: String,
    /// How many columns it has, which says how wide it must be.
    columns: usize,
    titles: Vec<(String, &'static str)>,
    nodes: Vec<Drawn>,
    ribbons: Vec<Ribbon>,
    other: Option<String>,
}

struct Drawn {
    x: String,
    y: String,
    height: String,
    color: Color,
    name: String,
    detail: String,
    title: String,
}

struct Ribbon {
    shape: String,
    color: Color,
    title: String,
}

/// What a node stands for; nodes of a column are alike if they are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Waiters(Vec<ThreadId>),
    Object(ObjectId),
    Holder(Option<ThreadId>, State, String),
}

/// A node on its way to be drawn.
struct Node {
    column: usize,
    stop: Stop,
    color: Color,
    time: Nanos,
    top: f64,
    /// How much of its right and its left side has ribbons (pixels).
    given: f64,
    taken: f64,
}

impl Chains {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let chains = &told.diagnosis.chains;
        Self {
            lead: match chains.first() {
                None => "No thread waited for another.".to_owned(),
                Some(first) => format!(
                    "{} of waiting followed to where it comes from; the longest course: {}.",
                    time(chains.iter().map(|chain| chain.time).sum()),
                    course(told, first)
                ),
            },
            graph: (!chains.is_empty()).then(|| graph(told, chains)),
            rows: chains
                .iter()
                .map(|chain| Row {
                    waiters: told.threads(&chain.waiters, 6),
                    course: course(told, chain),
                    time: time(chain.time),
                    share: told.of_wall(chain.time),
                })
                .collect(),
        }
    }
}

/// `cache_lock, which worker 2 holds, active in cache_put (cache.c:212)`.
fn course(told: &Told<'_>, chain: &Chain) -> String {
    let step = |link: &ChainLink| {
        let object = told.object(link.object);
        match link.holder {
            None => object,
            Some(holder) => {
                let place = match told.place(link.holder_site) {
                    place if place.is_empty() => place,
                    place => format!(" at {place}"),
                };
                let has = if told.role(link.object).is_lock() { "held by" } else { "up to" };
                format!("{object}, {has} {} ({}{place})", told.thread(holder), state_word(link.holder_state))
            }
        }
    };
    chain.links.iter().map(step).collect::<Vec<_>>().join(" → ")
}

/// The stops of a course, each with the colour of what those do who are there.
fn stops(told: &Told<'_>, chain: &Chain) -> Vec<(Stop, Color)> {
    let first = chain.links.first().map(|link| link.object);
    let mut stops: Vec<_> = first
        .map(|object| (Stop::Waiters(chain.waiters.clone()), told.color_of(object)))
        .into_iter()
        .collect();
    for (index, link) in chain.links.iter().take(MOST_STEPS).enumerate() {
        stops.push((Stop::Object(link.object), told.color_of(link.object)));
        let place = link.holder_site.map_or_else(String::new, |site| told.function(site));
        let color = match (link.holder, link.holder_state) {
            (None, _) => "hatch",
            (_, State::Active) if told.role(link.object).is_lock() => "hold",
            (_, state) => {
                color_of_state(state, chain.links.get(index + 1).map(|next| told.role(next.object)))
            }
        };
        stops.push((Stop::Holder(link.holder, link.holder_state, place), color));
    }
    stops
}

fn graph(told: &Told<'_>, chains: &[Chain]) -> Graph {
    let drawn = &chains[..chains.len().min(MOST_DRAWN)];
    let total: f64 = drawn.iter().map(|chain| chain.time.get() as f64).sum();
    let scale = HEIGHT / total.max(1.0);
    let mut nodes: Vec<Node> = Vec::new();
    let mut flows: BTreeMap<(usize, usize), Nanos> = BTreeMap::new();
    for chain in drawn {
        let mut before = None;
        for (column, (stop, color)) in stops(told, chain).into_iter().enumerate() {
            let known = nodes.iter().position(|node| node.column == column && node.stop == stop);
            let at = known.unwrap_or_else(|| {
                nodes.push(Node { column, stop, color, time: Nanos::ZERO, top: 0.0, given: 0.0, taken: 0.0 });
                nodes.len() - 1
            });
            nodes[at].time += chain.time;
            if let Some(before) = before {
                *flows.entry((before, at)).or_default() += chain.time;
            }
            before = Some(at);
        }
    }
    let columns = nodes.iter().map(|node| node.column).max().unwrap_or(0) + 1;
    let height = place(&mut nodes, &flows, columns, scale);
    let column_x = |column: usize| WIDTH * column as f64 / columns as f64;
    // Ribbons leave and arrive in the order of their other ends, so that they cross as little as can be.
    let mut order: Vec<((usize, usize), Nanos)> = flows.into_iter().collect();
    order.arrange_by(|(a, _), (b, _)| nodes[a.1].top.total_cmp(&nodes[b.1].top).then(a.cmp(b)));
    let mut leaves: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for &((from, to), length) in &order {
        leaves.insert((from, to), nodes[from].top + nodes[from].given);
        nodes[from].given += length.get() as f64 * scale;
    }
    order.arrange_by(|(a, _), (b, _)| nodes[a.0].top.total_cmp(&nodes[b.0].top).then(a.cmp(b)));
    let mut ribbons = Vec::new();
    for ((from, to), length) in order {
        let thick = length.get() as f64 * scale;
        let arrives = nodes[to].top + nodes[to].taken;
        nodes[to].taken += thick;
        let ends = [column_x(nodes[from].column), column_x(nodes[to].column)];
        let names = [&nodes[from], &nodes[to]].map(|node| name(told, &node.stop));
        let title = format!("{} → {}\n{}", names[0], names[1], time(length));
        let shape = ribbon(ends, [leaves[&(from, to)], arrives], thick.max(0.8));
        ribbons.push(Ribbon { shape, color: nodes[to].color, title });
    }
    let rest = &chains[drawn.len()..];
    let titles = (0..columns).map(|column| {
        let title = match column {
            0 => "waits",
            column if column % 2 == 1 => "for",
            _ => "which is up to",
        };
        (across(column as f64, columns as f64), title)
    });
    Graph {
        label: format!(
            "Who waits for whom: {}",
            drawn
                .iter()
                .map(|chain| format!(
                    "{} wait for {}, {}",
                    told.threads(&chain.waiters, 3),
                    course(told, chain),
                    time(chain.time)
                ))
                .collect::<Vec<_>>()
                .join("; ")
        ),
        height: number(HEAD + height),
        columns,
        titles: titles.collect(),
        nodes: nodes.iter().map(|node| node_drawn(told, node, columns, scale)).collect(),
        ribbons,
        other: (!rest.is_empty()).then(|| {
            let sum = rest.iter().map(|chain| chain.time).sum();
            format!("and {}, {} together", counted(rest.len(), "other course", "other courses"), time(sum))
        }),
    }
}

/// Gives each node its top, column by column: in the order of where what flows into it comes from. Returns how high the
/// highest column is.
fn place(nodes: &mut [Node], flows: &BTreeMap<(usize, usize), Nanos>, columns: usize, scale: f64) -> f64 {
    let mut highest = 0.0f64;
    for column in 0..columns {
        let from_where = |at: usize| -> f64 {
            let into = || flows.iter().filter(|((_, to), _)| *to == at);
            let weight: f64 = into().map(|(_, length)| length.get() as f64).sum();
            let middle = |node: &Node| node.top + node.time.get() as f64 * scale / 2.0;
            let sum: f64 =
                into().map(|((from, _), length)| length.get() as f64 * middle(&nodes[*from])).sum();
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        let mut members: Vec<(f64, usize)> = (0..nodes.len())
            .filter(|at| nodes[*at].column == column)
            .map(|at| (from_where(at), at))
            .collect();
        // Nodes come in the order of their first chain, the longest first: that is kept where all else is equal.
        members.arrange_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut bottom = 0.0;
        for (_, at) in members {
            nodes[at].top = bottom;
            bottom += (nodes[at].time.get() as f64 * scale).max(ROOM) + GAP;
        }
        highest = highest.max(bottom);
    }
    highest
}

/// A band whose edges leave and arrive level.
fn ribbon([x0, x1]: [f64; 2], [left, right]: [f64; 2], thick: f64) -> String {
    let bend = number((x0 + x1) / 2.0);
    format!(
        "M{x0},{a}C{bend},{a} {bend},{b} {x1},{b}V{d}C{bend},{d} {bend},{c} {x0},{c}Z",
        x0 = number(x0),
        x1 = number(x1),
        a = number(left),
        b = number(right),
        c = number(left + thick),
        d = number(right + thick),
    )
}

/// A name in two lines: what stands in brackets behind it goes to the second one.
fn in_two(name: &str) -> (&str, &str) {
    let short = name.strip_suffix(')').and_then(|name| name.split_once(" ("));
    short.unwrap_or((name, ""))
}

fn node_drawn(told: &Told<'_>, node: &Node, columns: usize, scale: f64) -> Drawn {
    let whole = name(told, &node.stop);
    let (name, place) = match &node.stop {
        Stop::Object(_) => in_two(&whole),
        _ => (whole.as_str(), ""),
    };
    let detail = match &node.stop {
        Stop::Holder(_, State::Active, place) if !place.is_empty() => format!("in {place}"),
        Stop::Holder(_, state, _) => state_word(*state).to_owned(),
        _ => place.to_owned(),
    };
    let length = time(node.time);
    let in_full = [whole.as_str(), if name == whole { &detail } else { "" }, &length];
    let room = LABEL.saturating_sub(length.chars().count() + 1);
    Drawn {
        x: across(node.column as f64, columns as f64),
        y: number(node.top),
        height: number((node.time.get() as f64 * scale).max(1.5)),
        color: node.color,
        title: in_full.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"),
        name: escape::cut(name, LABEL, LOOK),
        detail: format!("{length} {}", escape::cut(&detail, room.max(SHORTEST), LOOK)).trim_end().to_owned(),
    }
}

fn name(told: &Told<'_>, stop: &Stop) -> String {
    match stop {
        Stop::Waiters(threads) => match told.threads(threads, 2) {
            long if escape::cut(&long, LABEL, LOOK) != long => counted(threads.len(), "thread", "threads"),
            short => short,
        },
        Stop::Object(object) => told.object(*object),
        Stop::Holder(thread, ..) => {
            thread.map_or_else(|| "not known".to_owned(), |thread| told.thread(thread))
        }
    }
}
