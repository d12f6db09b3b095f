//! Pictures of a characterization: where runs lie in two components (paper 3, figs. 7 to 9), and the dendrogram (fig. 6). The page
//! and the files of pictures show the same ones.

use std::collections::BTreeSet;

use askama::Template;
use holdup_characterize::Move;

use super::dendrogram::Dendrogram;
use super::{CharacterizeTold, words};
use crate::{Look, escape};

/// Names are whole, and for readers of any width.
pub(crate) const LOOK: Look = Look::plain(Look::WIDEST);

/// The size of a plot, and of the room around its field, in units of the picture.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 540.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 88.0;

/// So many colours and shapes tell suites apart; further ones are grey circles.
const KINDS: usize = 8;

/// So many points are drawn at most: leaves of the dendrogram first, each where its middle row is.
const MOST_POINTS: usize = 2_000;

/// More points than this have no names beside them.
const MOST_NAMES: usize = 60;

/// The shape of each kind, around its place.
const SHAPES: [&str; KINDS] = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
    "M-4 -4H4V4H-4Z",
    "M0 -5.4L5 3.8H-5Z",
    "M0 -5.8L5.8 0L0 5.8L-5.8 0Z",
    "M0 5.4L5 -3.8H-5Z",
    "M-1.7 -5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
    "M-5 0L-2.5 -4.4H2.5L5 0L2.5 4.4H-2.5Z",
    "M-4.6 -4.6L0 -1.6L4.6 -4.6L1.6 0L4.6 4.6L0 1.6L-4.6 4.6L-1.6 0Z",
];

/// A run in a plot.
struct Point {
    x: String,
    y: String,
    class: String,
    shape: &'static str,
    tip: String,
    /// Its name, where it has room: how far from the point, which end of it is there, and the text.
    name: Option<(i32, i32, &'static str, String)>,
}

/// A move in a plot.
struct Arrow {
    path: String,
    /// Where its head is, and where it looks.
    head: String,
    class: String,
    tip: String,
}

/// A line of an axis.
struct Tick {
    at: String,
    text: String,
}

/// Two components, and the runs in them.
#[derive(Template)]
#[template(path = "characterize_plot.html")]
pub(crate) struct Plot {
    width: f64,
    height: f64,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    label: String,
    across: String,
    up: String,
    columns: Vec<Tick>,
    rows: Vec<Tick>,
    gaps: Vec<(String, String, String, String, String)>,
    arrows: Vec<Arrow>,
    points: Vec<Point>,
    legend: Vec<(String, &'static str, String, String)>,
}

/// Which moves are drawn.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Arrows {
    None,
    Scaling,
    Inputs,
}

impl Plot {
    /// The runs in two components. With arrows only runs that move are drawn. `None` where there are no such components or moves.
    pub(crate) fn of(told: &CharacterizeTold, [across, up]: [usize; 2], arrows: Arrows) -> Option<Plot> {
        let found = &told.found;
        let pca = &found.pca;
        let moves: &[Move] = match arrows {
            Arrows::None => &[],
            Arrows::Scaling => &found.scaling,
            Arrows::Inputs => &found.inputs,
        };
        if across.max(up) >= pca.components() || (arrows != Arrows::None && moves.is_empty()) {
            return None;
        }
        let mut rows: Vec<usize> = match arrows {
            Arrows::None if found.table.rows.len() <= MOST_POINTS => (0..found.table.rows.len()).collect(),
            Arrows::None => found.tree.leaves.iter().map(|leaf| leaf[0]).take(MOST_POINTS).collect(),
            _ => moves.iter().flat_map(|one| one.rows.clone()).collect(),
        };
        rows.sort_unstable();
        rows.dedup();
        rows.truncate(MOST_POINTS);
        let side = |at: usize| range(rows.iter().map(|row| pca.scores(*row)[at]));
        let (x, y) = (side(across), side(up));
        let px = |value: f64| LEFT + (value - x.0) / (x.1 - x.0) * (WIDTH - LEFT - RIGHT);
        let py = |value: f64| HEIGHT - BOTTOM - (value - y.0) / (y.1 - y.0) * (HEIGHT - TOP - BOTTOM);
        let place = |row: usize| (px(pca.scores(row)[across]), py(pca.scores(row)[up]));

        let names = words::names(told, LOOK);
        let mut taken: Vec<[f64; 4]> = rows.iter().map(|row| around(place(*row))).collect();
        let arrive: Vec<usize> = moves.iter().filter_map(|one| one.rows.last().copied()).collect();
        let mut point = |row: usize| {
            let (x, y) = place(row);
            // Of a move only its end is named.
            let named = rows.len() <= MOST_NAMES && (arrows == Arrows::None || arrive.contains(&row));
            let kind = kind(told, row);
            let value =
                |at: usize| format!("{} {}", words::component(at), words::score(pca.scores(row)[at], LOOK));
            let suite =
                found.table.rows[row].suite.as_ref().map(|suite| format!("{}\n", escape::name(suite, LOOK)));
            Point {
                x: px1(x),
                y: px1(y),
                class: kind.map_or("other".to_owned(), |kind| format!("t{kind}")),
                shape: SHAPES[kind.unwrap_or(0)],
                tip: format!(
                    "{}\n{}{}, {}\ncluster {}",
                    names[row],
                    suite.unwrap_or_default(),
                    value(across),
                    value(up),
                    found.cluster_of[row] + 1
                ),
                name: if named { room(&names[row], (x, y), &mut taken) } else { None },
            }
        };
        let points: Vec<Point> = rows.iter().map(|row| point(*row)).collect();
        let movers = words::Movers::of(told);
        let arrow = |one: &Move| {
            let places: Vec<(f64, f64)> = one.rows.iter().map(|row| place(*row)).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{} {}", px1(*x), px1(*y))).collect();
            let [.., before, last] = places.as_slice() else { return None };
            let angle = (last.1 - before.1).atan2(last.0 - before.0).to_degrees();
            Some(Arrow {
                path: format!("M{}", path.join("L")),
                head: format!("translate({} {}) rotate({angle:.1})", px1(last.0), px1(last.1)),
                class: kind(told, one.rows[0]).map_or("other".to_owned(), |kind| format!("t{kind}")),
                tip: format!(
                    "{} {}\n{}",
                    movers.name(one, LOOK),
                    words::ends(told, one, LOOK),
                    words::changes(told, one, 3, LOOK)
                ),
            })
        };
        let gap = |gap: &holdup_characterize::Gap| {
            let [rx, ry] = [
                gap.radius / (x.1 - x.0) * (WIDTH - LEFT - RIGHT),
                gap.radius / (y.1 - y.0) * (HEIGHT - TOP - BOTTOM),
            ];
            let tip = format!("no program lies here\n{}", words::gap(told, gap, LOOK));
            (px1(px(gap.centre[0])), px1(py(gap.centre[1])), px1(rx), px1(ry), tip)
        };
        let shows_gaps = arrows == Arrows::None && [across, up] == [0, 1];
        let axis = |at: usize| {
            format!(
                "{} ({}), {} of the variance",
                words::component(at),
                words::column(told, pca.main(at), LOOK),
                crate::numbers::percent(pca.shares[at])
            )
        };
        let tick = |value: f64, at: f64| Tick { at: px1(at), text: words::score(value, LOOK) };
        Some(Plot {
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            top: TOP,
            right: WIDTH - RIGHT,
            bottom: HEIGHT - BOTTOM,
            label: format!("{} over {}", axis(up), axis(across)),
            across: axis(across),
            up: axis(up),
            columns: ticks(x).into_iter().map(|value| tick(value, px(value))).collect(),
            rows: ticks(y).into_iter().map(|value| tick(value, py(value))).collect(),
            gaps: if shows_gaps { found.gaps.iter().map(gap).collect() } else { Vec::new() },
            arrows: moves.iter().filter_map(arrow).collect(),
            points,
            legend: legend(told, &rows),
        })
    }
}

/// A length of the picture: one decimal.
fn px1(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The least and the largest value, and some room.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let room = if high > low { (high - low) * 0.06 } else { low.abs().max(1.0) * 0.5 };
    (low - room, high + room)
}

/// Round values between two ends.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

/// Which colour and shape a run has: by its suite, or where no suites are known by its cluster.
fn kind(told: &CharacterizeTold, row: usize) -> Option<usize> {
    let found = &told.found;
    let at = match found.suites.is_empty() {
        true => Some(found.cluster_of[row]),
        false => {
            let suite = found.table.rows[row].suite.as_deref();
            found.suites.iter().position(|known| Some(known.name.as_str()) == suite)
        }
    };
    at.filter(|at| *at < KINDS)
}

/// The colours and shapes of the runs that are shown.
fn legend(told: &CharacterizeTold, rows: &[usize]) -> Vec<(String, &'static str, String, String)> {
    let found = &told.found;
    let names: Vec<String> = match found.suites.is_empty() {
        true => (0..found.clusters.clusters.len()).map(|at| format!("cluster {}", at + 1)).collect(),
        false => found.suites.iter().map(|suite| escape::short_name(&suite.name, LOOK)).collect(),
    };
    let shown: BTreeSet<usize> = rows.iter().filter_map(|row| kind(told, *row)).collect();
    let mut x = LEFT + 6.0;
    let mut legend = Vec::new();
    for (at, name) in names.into_iter().enumerate().filter(|(at, _)| shown.contains(at)) {
        let width = 30.0 + 7.2 * name.chars().count() as f64;
        if x + width > WIDTH {
            break;
        }
        legend.push((format!("t{at}"), SHAPES[at], px1(x), name));
        x += width;
    }
    legend
}

/// What a point takes: left, top, right, bottom.
fn around((x, y): (f64, f64)) -> [f64; 4] {
    [x - 5.0, y - 5.0, x + 5.0, y + 5.0]
}

/// Where a name has room beside its point, if anywhere.
fn room(
    name: &str,
    (x, y): (f64, f64),
    taken: &mut Vec<[f64; 4]>,
) -> Option<(i32, i32, &'static str, String)> {
    let width = 5.9 * name.chars().count() as f64;
    let tries = [(8, 4, "start"), (-8, 4, "end"), (0, -9, "middle"), (0, 17, "middle")];
    for (dx, dy, anchor) in tries {
        let left = x + f64::from(dx)
            - match anchor {
                "start" => 0.0,
                "end" => width,
                _ => width / 2.0,
            };
        let own = [left, y + f64::from(dy) - 9.0, left + width, y + f64::from(dy) + 3.0];
        let inside = own[0] > LEFT && own[2] < WIDTH - RIGHT && own[1] > TOP && own[3] < HEIGHT - BOTTOM;
        let meets = |other: &[f64; 4]| {
            own[0] < other[2] && other[0] < own[2] && own[1] < other[3] && other[1] < own[3]
        };
        if inside && !taken.iter().any(meets) {
            taken.push(own);
            return Some((dx, dy, anchor, name.to_owned()));
        }
    }
    None
}

/// The height of a leaf's line in the dendrogram, and where its branches begin.
const LINE: f64 = 15.0;
const BRANCHES: f64 = 250.0;

/// So many leaves are drawn at most.
const MOST_LEAVES: usize = 160;

/// A branch of the dendrogram.
struct Limb {
    path: String,
    class: String,
    tip: String,
}

/// A leaf of it.
struct Twig {
    y: String,
    class: String,
    shape: &'static str,
    name: String,
    tip: String,
}

/// The dendrogram.
#[derive(Template)]
#[template(path = "characterize_tree.html")]
pub(crate) struct Branches {
    width: f64,
    height: f64,
    begin: f64,
    bottom: f64,
    label: String,
    columns: Vec<Tick>,
    cut: Option<String>,
    limbs: Vec<Limb>,
    twigs: Vec<Twig>,
}

impl Branches {
    /// The dendrogram; `None` where nothing differs.
    pub(crate) fn of(told: &CharacterizeTold) -> Option<Branches> {
        let drawn = Dendrogram::of(told, MOST_LEAVES);
        if drawn.most <= 0.0 {
            return None;
        }
        let names = words::names(told, LOOK);
        let across = |distance: f64| BRANCHES + distance / drawn.most * (WIDTH - BRANCHES - 24.0);
        let down = |row: f64| 12.0 + row * LINE;
        let cut = told.found.clusters.cut;
        let twig = |(at, leaf): (usize, &super::dendrogram::Leaf)| {
            let kind = kind(told, leaf.row);
            let more = if leaf.rows > 1 { format!(" (+{})", leaf.rows - 1) } else { String::new() };
            Twig {
                y: px1(down(at as f64)),
                class: kind.map_or("other".to_owned(), |kind| format!("t{kind}")),
                shape: SHAPES[kind.unwrap_or(0)],
                name: format!("{}{more}", escape::cut(&names[leaf.row], 34, LOOK)),
                tip: format!("{}{more}\ncluster {}", names[leaf.row], leaf.cluster + 1),
            }
        };
        let limb = |branch: &super::dendrogram::Branch| {
            let [(first, from), (second, to)] = branch.from;
            let at = across(branch.at);
            let class = if branch.at < cut { "limb" } else { "limb high" };
            Limb {
                path: format!(
                    "M{} {}H{}V{}H{}",
                    px1(across(from)),
                    px1(down(first)),
                    px1(at),
                    px1(down(second)),
                    px1(across(to))
                ),
                class: class.to_owned(),
                tip: format!("meet at a distance of {}", words::score(branch.at, LOOK)),
            }
        };
        let bottom = down(drawn.leaves.len() as f64) - 4.0;
        let marks = ticks((0.0, drawn.most * 1.000_001));
        let label =
            format!("{} runs merged by the mean distance of their members", told.found.table.rows.len());
        Some(Branches {
            width: WIDTH,
            height: bottom + 40.0,
            begin: BRANCHES,
            bottom,
            label,
            columns: marks
                .into_iter()
                .map(|value| Tick { at: px1(across(value)), text: words::score(value, LOOK) })
                .collect(),
            cut: (cut.is_finite() && cut <= drawn.most).then(|| px1(across(cut) - 1.0)),
            limbs: drawn.branches.iter().map(limb).collect(),
            twigs: drawn.leaves.iter().enumerate().map(twig).collect(),
        })
    }
}

/// A picture with its name.
pub(crate) struct Picture {
    /// As a file is called, without its ending.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) note: &'static str,
    pub(crate) markup: String,
}

/// All pictures that there is something to show for.
pub(crate) fn pictures(told: &CharacterizeTold) -> Vec<Picture> {
    let components = told.found.pca.components();
    let further = if components > 3 { [2, 3] } else { [0, 2] };
    let plot = |axes, arrows| {
        Plot::of(told, axes, arrows)
            .map(|plot| plot.render().expect("a String takes all that is written to it"))
    };
    let tree =
        Branches::of(told).map(|tree| tree.render().expect("a String takes all that is written to it"));
    let all = [
        (
            "components",
            "Where runs lie",
            "the two components that tell most; dashed circles are gaps",
            plot([0, 1], Arrows::None),
        ),
        ("further", "In further components", "what the first two do not show", plot(further, Arrows::None)),
        (
            "scaling",
            "With more threads",
            "each arrow from the fewest threads to the most",
            plot([0, 1], Arrows::Scaling),
        ),
        (
            "inputs",
            "With another input",
            "each arrow from the smallest input to the largest",
            plot([0, 1], Arrows::Inputs),
        ),
        (
            "dendrogram",
            "Which runs are alike",
            "the further right two branches meet, the less alike; the line is where it is cut",
            tree,
        ),
    ];
    all.into_iter()
        .filter_map(|(name, title, note, markup)| Some(Picture { name, title, note, markup: markup? }))
        .collect()
}
