//! The page about many programs: where they lie, which few stand for all, and how they move.

use askama::Template;
use holdup_characterize::{MoveKind, extremes};

use super::frame::Frame;
use super::header::{Header, KeyFigure};
use super::text::{Figure, LOOK, percent};
use crate::characterize::scene::{Picture, pictures};
use crate::characterize::{CharacterizeTold, words};
use crate::escape::sentences;
use crate::{escape, numbers};

/// At most so many components, rows, members of a cluster, and moves have a place.
const MOST_COMPONENTS: usize = 8;
const MOST_ROWS: usize = 2_000;
const MOST_MEMBERS: usize = 40;
const MOST_MOVES: usize = 500;

/// How many programs are told of each end of a component (paper 3, Table 3).
const OUTERMOST: usize = 5;

/// A component: its name, its share, the sum up to it, and who lies furthest out: title, highest, lowest.
type Component = (String, String, String, (String, String, String));

#[derive(Template)]
#[template(path = "characterize.html")]
struct Sections {
    method: String,
    pictures: Vec<Picture>,
    chosen: String,
    clusters: Vec<(usize, String, String, String)>,
    components: Vec<Component>,
    weights: Vec<(String, Vec<(String, bool)>)>,
    suites: Vec<(String, usize, Vec<String>)>,
    moves: Vec<(String, String, String, String, String)>,
    more_rows: Option<String>,
    rows: Vec<(String, String, usize, Vec<String>)>,
}

/// A characterization as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn characterize_page(told: &CharacterizeTold) -> String {
    let found = &told.found;
    let names = words::names(told, LOOK);
    let count = found.pca.components().min(MOST_COMPONENTS);
    let scores = |row: usize| (0..count).map(|at| words::score(found.pca.scores(row)[at], LOOK)).collect();
    let suite = |row: usize| {
        found.table.rows[row].suite.as_ref().map_or_else(String::new, |suite| escape::name(suite, LOOK))
    };
    let all = names.len();
    let row = |row: usize| (names[row].clone(), suite(row), found.cluster_of[row] + 1, scores(row));
    let moves = moves(told);
    let mut frame = Frame::new("holdup characterize", told.what.clone(), header(told));
    frame.styles.push(include_str!("../../page/characterize.css"));
    frame.styles.push(include_str!("../../page/characterize_page.css"));
    frame.scripts.push(include_str!("../../page/characterize.js"));
    frame.link("answer", "Pictures");
    frame.link("clusters", "Clusters");
    frame.link("weights", "Components");
    if !moves.is_empty() {
        frame.link("moves", "Moves");
    }
    frame.link("runs", "Runs");
    let sections = Sections {
        method: words::method(&found.pca),
        pictures: pictures(told),
        chosen: words::chosen(told, LOOK),
        clusters: clusters(told, &names),
        components: (0..count).map(|at| component(told, at, &names)).collect(),
        weights: weights(told, count),
        suites: suites(told, count),
        moves,
        more_rows: (all > MOST_ROWS)
            .then(|| format!("The first {MOST_ROWS} of {all}; holdup characterize --json has all of them.")),
        rows: (0..all.min(MOST_ROWS)).map(row).collect(),
    };
    frame.insert(sections);
    frame.notes = words::notes(told, LOOK).iter().map(|note| sentences(note, LOOK)).collect();
    frame.page()
}

fn header(told: &CharacterizeTold) -> Header {
    let heading = words::heading(told);
    let (heading, continued) = match heading.split_once(": ") {
        Some((who, what)) => (format!("{who}:"), what.to_owned()),
        None => (heading, String::new()),
    };
    let found = &told.found;
    let mut figures = Vec::new();
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    add("Runs", Figure::of(&numbers::grouped(found.table.rows.len() as u64)));
    if let Some(sum) = found.kept.checked_sub(1).and_then(|last| found.pca.cumulative().get(last).copied()) {
        add("Components used", Figure::with(found.kept.to_string(), format!("with {}", percent(sum))));
    }
    add("Representatives", Figure::of(&found.clusters.clusters.len().to_string()));
    if let Some(correlation) = found.tree.cophenetic {
        add("Cophenetic correlation", Figure::of(&words::score(correlation, LOOK)));
    }
    Header {
        kick: format!("holdup characterize · {}", told.what),
        heading,
        continued,
        command: None,
        figures,
        budget: None,
        warnings: Vec::new(),
        way_out: false,
    }
}

fn clusters(told: &CharacterizeTold, names: &[String]) -> Vec<(usize, String, String, String)> {
    let found = &told.found;
    let one = |(number, cluster): (usize, &holdup_characterize::Cluster)| {
        let representative = found.tree.leaves[cluster.representative][0];
        let rows = cluster.leaves.iter().flat_map(|leaf| found.tree.leaves[*leaf].iter());
        let mut rest: Vec<usize> = rows.copied().filter(|row| *row != representative).collect();
        rest.sort_unstable();
        let mut told: Vec<String> = rest.iter().take(MOST_MEMBERS).map(|row| names[*row].clone()).collect();
        if let Some(more @ 1..) = rest.len().checked_sub(MOST_MEMBERS) {
            told.push(format!("{more} more"));
        }
        let runs = numbers::grouped(cluster.rows as u64);
        (number + 1, names[representative].clone(), runs, told.join(", "))
    };
    found.clusters.clusters.iter().enumerate().map(one).collect()
}

fn component(told: &CharacterizeTold, at: usize, names: &[String]) -> Component {
    let pca = &told.found.pca;
    let ends = extremes(pca, names.len(), at, OUTERMOST);
    let list = |rows: &[usize]| {
        let one = |row: &usize| format!("{} {}", names[*row], words::score(pca.scores(*row)[at], LOOK));
        rows.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let title = format!("{} ({})", words::component(at), words::column(told, pca.main(at), LOOK));
    (
        words::component(at),
        percent(pca.shares[at]),
        percent(pca.cumulative()[at]),
        (title, list(&ends.highest), list(&ends.lowest)),
    )
}

fn weights(told: &CharacterizeTold, count: usize) -> Vec<(String, Vec<(String, bool)>)> {
    let pca = &told.found.pca;
    let cell = |at: usize, column: usize| {
        let weight = pca.weights(at)[column];
        (words::weight(weight, LOOK), weight.abs() >= 0.4)
    };
    (0..told.found.table.columns.len())
        .filter(|column| (0..count).any(|at| pca.weights(at)[*column].abs() >= words::SMALL_WEIGHT))
        .map(|column| (words::column(told, column, LOOK), (0..count).map(|at| cell(at, column)).collect()))
        .collect()
}

fn suites(told: &CharacterizeTold, count: usize) -> Vec<(String, usize, Vec<String>)> {
    let cell = |suite: &holdup_characterize::Suite, at: usize| {
        let mean = words::score(suite.means[at], LOOK);
        suite.deviations[at].map_or(mean.clone(), |off| format!("{mean} ± {}", words::score(off, LOOK)))
    };
    let one = |suite: &holdup_characterize::Suite| {
        (escape::name(&suite.name, LOOK), suite.rows, (0..count).map(|at| cell(suite, at)).collect())
    };
    told.found.suites.iter().map(one).collect()
}

fn moves(told: &CharacterizeTold) -> Vec<(String, String, String, String, String)> {
    let all = told.found.scaling.iter().chain(&told.found.inputs);
    let movers = words::Movers::of(told);
    let one = |moved: &holdup_characterize::Move| {
        let verdict = match moved.kind {
            MoveKind::Threads => String::new(),
            MoveKind::Input => {
                let stands = if moved.stands_for() { "yes" } else { "no" };
                format!("{stands}: {}", words::verdict(moved).unwrap_or_default())
            }
        };
        (
            movers.name(moved, LOOK),
            words::ends(told, moved, LOOK),
            words::score(moved.length, LOOK),
            words::changes(told, moved, 3, LOOK),
            verdict,
        )
    };
    all.take(MOST_MOVES).map(one).collect()
}
