//! Every number of a characterization, as JSON: `docs/json-schema/characterize.schema.json` says what each member means.

use holdup_characterize::{Labels, Move, MoveKind, Reduced, extremes};
use serde_json::{Map, Value, json};

use super::{CharacterizeTold, words};
use crate::Look;
use crate::json::printed;

/// The version of the JSON that [`characterize_json`] gives. It grows only where a member changes its meaning; members may
/// be added at any time.
pub const CHARACTERIZE_SCHEMA: u32 = 1;

const LOOK: Look = Look { width: Look::WIDEST, color: false, unicode: true };

/// How many rows are told of each end of a component.
const OUTERMOST: usize = 5;

/// The whole of a characterization as a value of the schema in `docs/json-schema/characterize.schema.json`. Names are as they
/// were given.
pub fn characterize_json(told: &CharacterizeTold) -> Value {
    let found = &told.found;
    let (table, pca, tree) = (&found.table, &found.pca, &found.tree);
    let by_column = |values: &[f64]| -> Value {
        let members = table.columns.iter().cloned().zip(values.iter().map(|value| number(*value)));
        Value::Object(members.collect::<Map<_, _>>())
    };
    let names = table.names();
    let sums = pca.cumulative();
    let components = (0..pca.components()).map(|at| {
        let ends = extremes(pca, table.rows.len(), at, OUTERMOST);
        json!({
            "name": words::component(at),
            "variance": number(pca.variances[at]),
            "share": number(pca.shares[at]),
            "sum": number(sums[at]),
            "kept": at < found.kept,
            "main": table.columns[pca.main(at)],
            "weights": by_column(pca.weights(at)),
            "highest": ends.highest,
            "lowest": ends.lowest,
        })
    });
    let points = (0..table.rows.len()).map(|row| {
        let mut point = labels(&table.rows[row]);
        point.insert("name".to_owned(), json!(names[row]));
        point.insert("cluster".to_owned(), json!(found.cluster_of[row]));
        point.insert("scores".to_owned(), pca.scores(row).iter().map(|value| number(*value)).collect());
        point.insert("values".to_owned(), by_column(table.row(row)));
        Value::Object(point)
    });
    let leaves = tree.leaves.iter().map(|rows| json!(rows));
    let merges = tree.merges.iter().map(
        |merge| json!({"a": merge.a, "b": merge.b, "distance": number(merge.distance), "rows": merge.rows}),
    );
    let clusters = found.clusters.clusters.iter().map(|cluster| {
        let rows: Vec<usize> = cluster.leaves.iter().flat_map(|leaf| tree.leaves[*leaf].clone()).collect();
        json!({
            "representative": tree.leaves[cluster.representative][0],
            "rows": rows,
            "radius": number(cluster.radius),
        })
    });
    let suites = found.suites.iter().map(|suite| {
        json!({
            "name": suite.name,
            "rows": suite.rows,
            "means": suite.means.iter().map(|value| number(*value)).collect::<Vec<_>>(),
            "deviations": suite.deviations.iter().map(|value| value.map(number)).collect::<Vec<_>>(),
        })
    });
    let moves = |moves: &[Move]| -> Value { moves.iter().map(|one| moved(one, &by_column)).collect() };
    json!({
        "schema": CHARACTERIZE_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "of": told.what,
        "shares": told.is_share,
        "pca": {
            "centred": pca.options.centred,
            "scaled": pca.options.scaled,
            "kept": found.kept,
            "centre": by_column(&pca.centre),
            "scale": by_column(&pca.scale),
        },
        "columns": table.columns,
        "components": components.collect::<Vec<_>>(),
        "points": points.collect::<Vec<_>>(),
        "suites": suites.collect::<Vec<_>>(),
        "leaves": leaves.collect::<Vec<_>>(),
        "reduced": match tree.reduced {
            Reduced::No => json!({"to": "nothing", "width": null}),
            Reduced::Equal => json!({"to": "equal", "width": null}),
            Reduced::Cells(width) => json!({"to": "cells", "width": number(width)}),
        },
        "merges": merges.collect::<Vec<_>>(),
        "cophenetic_correlation": tree.cophenetic.map(number),
        "clusters": clusters.collect::<Vec<_>>(),
        "cut": number(found.clusters.cut),
        "covered": found.clusters.covered.iter().map(|share| number(*share)).collect::<Vec<_>>(),
        "silhouette": found.clusters.silhouette.map(number),
        "scaling": moves(&found.scaling),
        "inputs": moves(&found.inputs),
        "gaps": found.gaps.iter().map(|gap| json!({
            "centre": gap.centre.iter().map(|value| number(*value)).collect::<Vec<_>>(),
            "radius": number(gap.radius),
            "values": by_column(&gap.columns),
        })).collect::<Vec<_>>(),
        "left_out": table.left_out.iter().map(|row| {
            let mut told = labels(&row.labels);
            told.insert("column".to_owned(), json!(row.column));
            Value::Object(told)
        }).collect::<Vec<_>>(),
        "notes": words::notes(told, LOOK),
    })
}

/// [`characterize_json`] as text, indented, safe to print, with a line break at its end.
pub fn characterize_json_text(told: &CharacterizeTold) -> String {
    printed(&characterize_json(told))
}

/// A number that JSON can hold; null for what is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn labels(labels: &Labels) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("suite".to_owned(), json!(labels.suite));
    map.insert("program".to_owned(), json!(labels.program));
    map.insert("input".to_owned(), json!(labels.input));
    map.insert("threads".to_owned(), json!(labels.threads));
    map.insert("machine".to_owned(), json!(labels.machine));
    map.insert("what_if".to_owned(), json!(labels.what_if));
    map
}

fn moved(one: &Move, by_column: &impl Fn(&[f64]) -> Value) -> Value {
    json!({
        "rows": one.rows,
        "distance": number(one.length),
        "grew": by_column(&one.grew),
        "same_cluster": one.stays,
        "of_apart": one.of_apart.map(number),
        "stands_for": match one.kind {
            MoveKind::Input => json!(one.stands_for()),
            MoveKind::Threads => Value::Null,
        },
    })
}
