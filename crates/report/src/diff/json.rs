//! Every number of a comparison, as JSON: `docs/json-schema/diff.schema.json` says what each member means.

use holdup_compare::{Cause, Comparison, Contribution, Row, Side, Table};
use serde_json::Value;

use super::schema::{self, Changes, OfSubject};
use crate::json::{place_of, printed, value};

/// The whole comparison as a value of the schema in `docs/json-schema/diff.schema.json`. Names are as the programs gave
/// them.
pub fn diff_json(comparison: &Comparison) -> Value {
    let diff = schema::Diff {
        schema: schema::DIFF_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        against: comparison.against,
        before: side(&comparison.before),
        after: side(&comparison.after),
        wall: comparison.wall.into(),
        contributions: comparison.contributions.iter().map(contribution).collect(),
        findings: rows(comparison),
        objects: rows(comparison),
        sites: rows(comparison),
        threads: rows(comparison),
        labels: rows(comparison),
        functions: rows(comparison),
        scaling: comparison.scaling.map(|scaling| schema::Scaling {
            speedup: scaling.speedup,
            efficiency: scaling.efficiency,
            ideal_ns: scaling.ideal.get(),
            cpu: scaling.cpu.map(Into::into),
        }),
        environment: comparison
            .surroundings
            .iter()
            .map(|surrounding| schema::Surrounding {
                what: surrounding.what,
                before: &surrounding.before,
                after: &surrounding.after,
                hinders: surrounding.is_grave,
            })
            .collect(),
        warnings: &comparison.warnings,
    };
    value(diff)
}

/// [`diff_json`] as text, indented, safe to print, with a line break at its end.
pub fn diff_json_text(comparison: &Comparison) -> String {
    printed(&diff_json(comparison))
}

fn side(side: &Side) -> schema::Side<'_> {
    schema::Side {
        command: &side.command,
        program: &side.program,
        walls_ns: side.walls.iter().map(|wall| wall.get()).collect(),
        workers: side.workers,
        threads: side.threads,
        efficiency: side.efficiency,
        parallelism: side.parallelism,
    }
}

fn contribution(part: &Contribution) -> schema::Contribution<'_> {
    schema::Contribution {
        class: part.class.word(),
        cost: part.change.into(),
        causes: part.causes.iter().map(cause).collect(),
        rest_ns: part.rest,
    }
}

fn cause(cause: &Cause) -> schema::Cause<'_> {
    schema::Cause { what: &cause.what, presence: cause.presence, cost: cause.change.into() }
}

/// The things of the sort that these changes are of.
fn rows<C: OfSubject>(comparison: &Comparison) -> Vec<schema::Row<'_, C>> {
    let of_it = |table: &&Table| table.subject == C::SUBJECT;
    comparison.tables.iter().filter(of_it).flat_map(|table| &table.rows).map(row).collect()
}

fn row<C: OfSubject>(row: &Row) -> schema::Row<'_, C> {
    schema::Row {
        kind: row.sort,
        what: &row.what,
        presence: row.presence,
        runs_before: row.runs.0,
        runs_after: row.runs.1,
        where_before: place_of(row.place_before.as_ref()),
        where_after: place_of(row.place_after.as_ref()),
        changes: C::of(&Changes { measures: C::SUBJECT.measures(), of: &row.changes }),
    }
}
