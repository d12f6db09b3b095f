//! Every number of a characterization, as JSON: `docs/json-schema/characterize.schema.json` says what each member means.

use holdup_characterize::{Characterization, Cluster, Move, MoveKind, extremes};
use serde_json::Value;

use super::schema::{self, ByColumn};
use super::{CharacterizeTold, words};
use crate::Look;
use crate::json::{printed, value};

const LOOK: Look = Look::plain(Look::WIDEST);

/// How many rows are told of each end of a component.
const OUTERMOST: usize = 5;

/// The whole of a characterization as a value of the schema in `docs/json-schema/characterize.schema.json`. Names are as they
/// were given.
pub fn characterize_json(told: &CharacterizeTold) -> Value {
    let found = &told.found;
    let (table, pca, tree) = (&found.table, &found.pca, &found.tree);
    let by_column = |values: &[f64]| ByColumn::of(&table.columns, values);
    let names = table.names();
    let characterize = schema::Characterize {
        schema: schema::CHARACTERIZE_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        of: &told.what,
        shares: told.is_share,
        pca: schema::Pca {
            centred: pca.options.centred,
            scaled: pca.options.scaled,
            kept: found.kept,
            centre: by_column(&pca.centre),
            scale: by_column(&pca.scale),
        },
        columns: &table.columns,
        components: components(found),
        points: points(found, &names),
        suites: found
            .suites
            .iter()
            .map(|suite| schema::Suite {
                name: &suite.name,
                rows: suite.rows,
                means: &suite.means,
                deviations: &suite.deviations,
            })
            .collect(),
        leaves: &tree.leaves,
        reduced: tree.reduced.into(),
        merges: tree
            .merges
            .iter()
            .map(|merge| schema::Merge { a: merge.a, b: merge.b, distance: merge.distance, rows: merge.rows })
            .collect(),
        cophenetic_correlation: tree.cophenetic,
        clusters: found.clusters.clusters.iter().map(|one| cluster(found, one)).collect(),
        cut: found.clusters.cut.into(),
        covered: &found.clusters.covered,
        silhouette: found.clusters.silhouette,
        scaling: found.scaling.iter().map(|one| moved(found, one)).collect(),
        inputs: found.inputs.iter().map(|one| moved(found, one)).collect(),
        gaps: found
            .gaps
            .iter()
            .map(|gap| schema::Gap {
                centre: gap.centre,
                radius: gap.radius,
                values: by_column(&gap.columns),
            })
            .collect(),
        left_out: table
            .left_out
            .iter()
            .map(|row| schema::LeftOut { labels: (&row.labels).into(), column: &row.column })
            .collect(),
        notes: words::notes(told, LOOK),
    };
    value(characterize)
}

/// [`characterize_json`] as text, indented, safe to print, with a line break at its end.
pub fn characterize_json_text(told: &CharacterizeTold) -> String {
    printed(&characterize_json(told))
}

fn components(found: &Characterization) -> Vec<schema::Component<'_>> {
    let (table, pca) = (&found.table, &found.pca);
    let sums = pca.cumulative();
    let component = |at: usize| {
        let ends = extremes(pca, table.rows.len(), at, OUTERMOST);
        schema::Component {
            name: words::component(at),
            variance: pca.variances[at],
            share: pca.shares[at],
            sum: sums[at],
            kept: at < found.kept,
            main: &table.columns[pca.main(at)],
            weights: ByColumn::of(&table.columns, pca.weights(at)),
            highest: ends.highest,
            lowest: ends.lowest,
        }
    };
    (0..pca.components()).map(component).collect()
}

fn points<'a>(found: &'a Characterization, names: &'a [String]) -> Vec<schema::Point<'a>> {
    let table = &found.table;
    let point = |row: usize| schema::Point {
        labels: (&table.rows[row]).into(),
        name: &names[row],
        cluster: found.cluster_of[row],
        scores: found.pca.scores(row),
        values: ByColumn::of(&table.columns, table.row(row)),
    };
    (0..table.rows.len()).map(point).collect()
}

fn cluster(found: &Characterization, cluster: &Cluster) -> schema::Cluster {
    let leaves = &found.tree.leaves;
    schema::Cluster {
        representative: leaves[cluster.representative][0],
        rows: cluster.leaves.iter().flat_map(|leaf| leaves[*leaf].iter().copied()).collect(),
        radius: cluster.radius,
    }
}

fn moved<'a>(found: &'a Characterization, one: &'a Move) -> schema::Move<'a> {
    schema::Move {
        rows: &one.rows,
        distance: one.length,
        grew: ByColumn::of(&found.table.columns, &one.grew),
        same_cluster: one.stays,
        of_apart: one.of_apart,
        stands_for: match one.kind {
            MoveKind::Input => Some(one.stands_for()),
            MoveKind::Threads => None,
        },
    }
}
