//! How well the ranks of an MPI program use their cores: for a terminal, and as JSON.

use holdup_criticality::{Rank, Ranks};
use holdup_model::Efficiency;
use serde::Serialize;
use serde_json::Value;

use super::json::efficiency;
use super::schema;
use crate::ink::Ink;
use crate::lines::{painted, wrapped};
use crate::numbers::{counted, percent, time};
use crate::tabular::{Column, table};
use crate::{Look, escape};

/// The version of the JSON that [`ranks_json`] gives. It grows only where a member changes its meaning; members may be added
/// at any time.
pub const RANKS_SCHEMA: u32 = 1;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_ranks(ranks: &Ranks, look: Look) -> String {
    let root = &ranks.efficiency;
    let factor = |at: usize| root.factors.get(at).map_or_else(String::new, |factor| percent(factor.value));
    let heading = format!(
        "{} in {}: parallel efficiency {}, of ranks {}, of the threads in them {}.",
        counted(ranks.ranks.len() as u64, "rank", "ranks"),
        time(ranks.wall, look),
        percent(root.value),
        factor(0),
        factor(1)
    );
    let mut lines = wrapped(&heading, 0, Ink::Strong, look);
    lines.push(Default::default());
    let mut rows = Vec::new();
    flattened(root, 0, &mut rows);
    let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    let values: Vec<String> = rows.iter().map(|(_, value)| percent(*value)).collect();
    lines.extend(table(
        vec![
            Column::words("efficiencies, each the product of those below it", names),
            Column::numbers("", values),
        ],
        look,
    ));
    lines.push(Default::default());
    let of = |cell: &dyn Fn(&Rank) -> String| ranks.ranks.iter().map(cell).collect::<Vec<String>>();
    let name = |rank: &Rank| escape::cut(&escape::name(&rank.name, look), look.columns() / 3, look);
    let columns = vec![
        Column::words("rank", of(&name)),
        Column::numbers("ran", of(&|rank| time(rank.wall, look))),
        Column::numbers("busy", of(&|rank| time(rank.busy, look))),
        Column::numbers("of the longest", of(&|rank| percent(rank.busy.share_of(ranks.wall)))).optional(),
        Column::numbers("threads", of(&|rank| rank.workers.to_string())),
        Column::numbers("efficiency", of(&|rank| percent(rank.thread_efficiency()))),
    ];
    lines.extend(table(columns, look));
    painted(&lines, look)
}

fn flattened(node: &Efficiency, depth: usize, rows: &mut Vec<(String, f64)>) {
    rows.push((format!("{}{}", "  ".repeat(depth), node.name), node.value));
    node.factors.iter().for_each(|factor| flattened(factor, depth + 1, rows));
}

/// How well the ranks of an MPI program and the threads in them use their cores. Schema 1: members may be added, none is
/// taken away and none changes its meaning.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup report --ranks --json"))]
pub(crate) struct RanksTold<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = RANKS_SCHEMA)))]
    schema: u32,
    /// The version of holdup that wrote this.
    holdup: &'static str,
    /// How long the longest rank ran.
    wall_ns: u64,
    efficiency: schema::Efficiency<'a, RankEfficiency>,
    /// As they were given.
    ranks: Vec<RankTold<'a>>,
}

/// The value of an efficiency of ranks.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
#[serde(transparent)]
struct RankEfficiency(#[cfg_attr(test, schemars(range(min = 0.0)))] f64);

impl From<f64> for RankEfficiency {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Rank"))]
struct RankTold<'a> {
    /// The recording's name without its ending.
    name: &'a str,
    /// How long it ran.
    wall_ns: u64,
    /// How many of its threads work at once.
    #[cfg_attr(test, schemars(range(min = 1)))]
    workers: u32,
    /// How long at least one of its threads was active.
    busy_ns: u64,
    /// How long its busiest thread was active; no less than the mean.
    busiest_thread_ns: u64,
    /// The time of all its threads that were active.
    active_ns: u64,
    /// What of that they were on a core, as far as it is known.
    on_core_ns: u64,
    /// on_core_ns / (workers * busy_ns).
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    thread_efficiency: f64,
}

/// All of it as a value of the schema in `docs/json-schema/ranks.schema.json`.
pub fn ranks_json(ranks: &Ranks) -> Value {
    let told = RanksTold {
        schema: RANKS_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        wall_ns: ranks.wall.get(),
        efficiency: efficiency(&ranks.efficiency, 0),
        ranks: ranks.ranks.iter().map(rank_told).collect(),
    };
    crate::json::value(told)
}

fn rank_told(rank: &Rank) -> RankTold<'_> {
    RankTold {
        name: &rank.name,
        wall_ns: rank.wall.get(),
        workers: rank.workers,
        busy_ns: rank.busy.get(),
        busiest_thread_ns: rank.busiest.get(),
        active_ns: rank.active.get(),
        on_core_ns: rank.on_core.get(),
        thread_efficiency: rank.thread_efficiency(),
    }
}

/// The same as text, with a line break at its end.
pub fn ranks_json_text(ranks: &Ranks) -> String {
    crate::json::printed(&ranks_json(ranks))
}
