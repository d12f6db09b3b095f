//! Every number of a comparison, as JSON: `docs/json-schema/diff.schema.json` says what each member means.

use holdup_compare::{Against, Change, Comparison, Counted, Row, Side, Table};
use serde_json::{Map, Value, json};

use crate::json::{place_of, printed};

/// The version of the JSON that [`diff_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const DIFF_SCHEMA: u32 = 1;

/// The whole comparison as a value of the schema in `docs/json-schema/diff.schema.json`. Names are as the programs gave
/// them.
pub fn diff_json(comparison: &Comparison) -> Value {
    let contributions: Vec<Value> = comparison
        .contributions
        .iter()
        .map(|part| {
            let causes: Vec<Value> = part
                .causes
                .iter()
                .map(|cause| {
                    json!({
                        "what": cause.what,
                        "presence": cause.presence.word(),
                        "cost": change(&cause.change, Counted::Nanos),
                    })
                })
                .collect();
            json!({
                "class": part.class.word(),
                "cost": change(&part.change, Counted::Nanos),
                "causes": causes,
                "rest_ns": part.rest,
            })
        })
        .collect();
    let mut out = json!({
        "schema": DIFF_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "against": match comparison.against {
            Against::Change => "change",
            Against::Threads => "threads",
        },
        "before": side(&comparison.before),
        "after": side(&comparison.after),
        "wall": change(&comparison.wall, Counted::Nanos),
        "contributions": contributions,
        "scaling": comparison.scaling.map(|scaling| json!({
            "speedup": scaling.speedup,
            "efficiency": scaling.efficiency,
            "ideal_ns": scaling.ideal.get(),
            "cpu": scaling.cpu.map(|cpu| change(&cpu, Counted::Nanos)),
        })),
        "environment": comparison.surroundings.iter().map(|surrounding| json!({
            "what": surrounding.what,
            "before": surrounding.before,
            "after": surrounding.after,
            "hinders": surrounding.is_grave,
        })).collect::<Vec<_>>(),
        "warnings": comparison.warnings,
    });
    for table in &comparison.tables {
        out[table.subject.word()] =
            Value::Array(table.rows.iter().map(|row| self::row(table, row)).collect());
    }
    out
}

/// [`diff_json`] as text, indented, safe to print, with a line break at its end.
pub fn diff_json_text(comparison: &Comparison) -> String {
    printed(&diff_json(comparison))
}

fn side(side: &Side) -> Value {
    json!({
        "command": side.command,
        "program": side.program,
        "walls_ns": side.walls.iter().map(|wall| wall.get()).collect::<Vec<_>>(),
        "workers": side.workers,
        "threads": side.threads,
        "efficiency": side.efficiency,
        "parallelism": side.parallelism,
    })
}

fn change(change: &Change, counted: Counted) -> Value {
    let unit = match counted {
        Counted::Nanos => "_ns",
        Counted::Number => "",
    };
    let mut out = Map::new();
    let mut put = |word: &str, value: Option<i64>| out.insert(format!("{word}{unit}"), value.into());
    put("before", Some(change.before));
    put("after", Some(change.after));
    put("difference", Some(change.difference));
    put("low", change.interval.map(|(low, _)| low));
    put("high", change.interval.map(|(_, high)| high));
    out.insert("beyond_noise".to_owned(), change.is_beyond_noise().into());
    Value::Object(out)
}

fn row(table: &Table, row: &Row) -> Value {
    let mut out = json!({
        "kind": row.sort,
        "what": row.what,
        "presence": row.presence.word(),
        "runs_before": row.runs.0,
        "runs_after": row.runs.1,
        "where_before": place_of(row.place_before.as_ref()),
        "where_after": place_of(row.place_after.as_ref()),
    });
    for (measure, of) in table.subject.measures().iter().zip(&row.changes) {
        out[measure.word] = of.map_or(Value::Null, |of| change(&of, measure.counted));
    }
    out
}
