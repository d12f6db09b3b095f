//! How well the ranks of an MPI program use their cores: for a terminal, and as JSON.

use holdup_criticality::{Rank, Ranks};
use holdup_model::Efficiency;
use serde_json::{Value, json};

use super::json::efficiency;
use super::tabular::{Column, table};
use crate::ink::Ink;
use crate::lines::{painted, wrapped};
use crate::numbers::{counted, percent, time};
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

/// All of it as a value of the schema in `docs/json-schema/ranks.schema.json`.
pub fn ranks_json(ranks: &Ranks) -> Value {
    let rank = |rank: &Rank| {
        json!({
            "name": rank.name,
            "wall_ns": rank.wall.get(),
            "workers": rank.workers,
            "busy_ns": rank.busy.get(),
            "busiest_thread_ns": rank.busiest.get(),
            "active_ns": rank.active.get(),
            "on_core_ns": rank.on_core.get(),
            "thread_efficiency": rank.thread_efficiency(),
        })
    };
    json!({
        "schema": RANKS_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "wall_ns": ranks.wall.get(),
        "efficiency": efficiency(&ranks.efficiency, 0),
        "ranks": ranks.ranks.iter().map(rank).collect::<Vec<Value>>(),
    })
}

/// The same as text, with a line break at its end.
pub fn ranks_json_text(ranks: &Ranks) -> String {
    crate::json::printed(&ranks_json(ranks))
}
