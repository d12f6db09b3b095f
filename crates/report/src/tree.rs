//! A run of many processes as one: the words for a [`ProcessTree`], and the terminal's lines of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_criticality::{Came, Forecast, Jobs, ProcessTree, ProgramShare};
use holdup_model::{Arrange, Nanos, Process, Run, names};
use textwrap::core::display_width;

use crate::ink::Ink;
use crate::lines::{Line, labelled, text_room, wrapped};
use crate::numbers::{counted, figure, grouped, percent, time};
use crate::{Look, escape};

/// At most so many programs have a line of their own.
pub(crate) const MOST_PROGRAMS: usize = 5;

/// The same where the screen has to hold more.
const MOST_IN_SHORT: usize = 2;

/// At most so many processes of the path are told one by one.
const MOST_LONGEST: usize = 3;

/// Below this share of the run no process of the path is told by itself, and nobody's time is not told.
const SMALL: f64 = 0.02;

/// From this share of what a process has of the path on, that it waited is told.
const MUCH_WAITED: f64 = 0.1;

/// From this share of the run on, it is told by which rule the path goes over pipes.
const MUCH_FED: f64 = 0.1;

/// A forecast that is nearer than this to the run as it was is none.
const LEAST_GAIN: f64 = 0.05;

/// How wide a program's name may be.
const NAME: usize = 18;

/// The run in one sentence, its second half apart.
pub(crate) fn headline(run: &Run, tree: &ProcessTree, look: Look) -> [String; 2] {
    let first = run.processes.first();
    let program = first.map_or_else(|| "The run".to_owned(), |process| program(process, look));
    let on = match tree.cores {
        0 => String::new(),
        cores => format!(" on {}", counted(u64::from(cores), "core", "cores")),
    };
    let efficiency = tree.efficiency().map(|efficiency| format!(" (efficiency {})", percent(efficiency)));
    let ran = format!(
        "{program} ran {} with {} of {}{on};",
        time(tree.wall, look),
        counted(tree.processes as u64, "process", "processes"),
        counted(tree.programs.len() as u64, "program", "programs"),
    );
    let active = figure(tree.parallelism());
    [ran, format!("{active} threads were active on average{}.", efficiency.unwrap_or_default())]
}

fn program(process: &Process, look: Look) -> String {
    escape::name(&names::program_of(process), look)
}

/// What decided how long it took.
pub(crate) fn verdict(tree: &ProcessTree, look: Look) -> String {
    let first = tree.programs.first().map(|first| {
        format!(
            "{} is {} ({}) of the path that decided how long it took; ",
            escape::name(&first.program, look),
            time(first.on_path, look),
            percent(first.on_path.share_of(tree.wall))
        )
    });
    let alone = percent(tree.alone().share_of(tree.wall));
    format!("{}one thread alone was active for {alone} of the time.", first.unwrap_or_default())
}

/// How many jobs ran, and what other numbers of them give.
pub(crate) fn jobs(tree: &ProcessTree, jobs: &Jobs, look: Look) -> String {
    let mut text = format!(
        "{} of {}, up to {} at once, {} on average; {} began when another ended that they waited for.",
        counted(jobs.count as u64, "job", "jobs"),
        escape::name(&jobs.runner, look),
        grouped(u64::from(jobs.most)),
        figure(jobs.mean),
        if jobs.waited == 0 { "none".to_owned() } else { grouped(jobs.waited as u64) },
    );
    if jobs.forecasts.is_empty() {
        return text;
    }
    let gains = |one: &&Forecast| 1.0 - one.wall.share_of(tree.wall) >= LEAST_GAIN;
    let (here, elsewhere): (Vec<&Forecast>, Vec<&Forecast>) =
        jobs.forecasts.iter().filter(gains).partition(|one| one.cores == Some(tree.cores));
    match here.into_iter().min_by_key(|one| (one.wall, one.limit)) {
        Some(best) => text.push_str(&format!(" With {}.", forecast(tree, best, look))),
        None => text.push_str(" More at once on these cores gain nothing."),
    }
    let elsewhere: Vec<String> = elsewhere.into_iter().map(|one| forecast(tree, one, look)).collect();
    if !elsewhere.is_empty() {
        text.push_str(&format!(" With {}.", elsewhere.join("; with ")));
    }
    text
}

/// `4 at once on 4 cores: 1.7 s at least`.
fn forecast(tree: &ProcessTree, forecast: &Forecast, look: Look) -> String {
    let takes = format!("{} at least", time(forecast.wall, look));
    match (forecast.limit, forecast.cores) {
        (Some(limit), Some(cores)) => {
            let elsewhere = counted(u64::from(cores), "core", "cores");
            let on = if cores == tree.cores { String::new() } else { format!(" on {elsewhere}") };
            format!("{} at once{on}: {takes}", grouped(u64::from(limit)))
        }
        _ => format!("no limit of jobs and cores: {takes}"),
    }
}

/// A row of the table of programs.
pub(crate) struct Row {
    /// Escaped.
    pub(crate) program: String,
    pub(crate) on_path: Option<String>,
    pub(crate) on_path_share: Option<String>,
    pub(crate) criticality: String,
    pub(crate) cpu: Option<String>,
    pub(crate) processes: Option<String>,
}

/// The programs that have most of the path, the others together, and nobody where that is much.
pub(crate) fn rows(tree: &ProcessTree, most: usize, look: Look) -> Vec<Row> {
    let (own, others) = tree.programs.split_at(most.min(tree.programs.len()));
    let mut rows: Vec<Row> =
        own.iter().map(|share| row(tree, share, escape::name(&share.program, look), look)).collect();
    if let Some((first, rest)) = others.split_first() {
        let all = rest.iter().fold(first.clone(), |mut all, share| {
            all.on_path += share.on_path;
            all.cpu += share.cpu;
            all.criticality += share.criticality;
            all.processes += share.processes;
            all
        });
        let name = counted(others.len() as u64, "other program", "other programs");
        rows.push(row(tree, &all, name, look));
    }
    let nobody = tree.nobody().share_of(tree.wall);
    if nobody >= SMALL {
        rows.push(Row {
            program: "nobody".to_owned(),
            on_path: None,
            on_path_share: None,
            criticality: percent(nobody),
            cpu: None,
            processes: None,
        });
    }
    rows
}

fn row(tree: &ProcessTree, share: &ProgramShare, program: String, look: Look) -> Row {
    let critical = Nanos::new(share.criticality.round() as u64);
    Row {
        program,
        on_path: Some(time(share.on_path, look)),
        on_path_share: Some(percent(share.on_path.share_of(tree.wall))),
        criticality: percent(critical.share_of(tree.wall)),
        cpu: Some(time(share.cpu, look)),
        processes: Some(grouped(share.processes as u64)),
    }
}

/// The processes that have most of the path, `cc1 lparser.c (pid 2543) 1.2 s`, and by which rule it goes over pipes where
/// that matters.
pub(crate) fn longest(run: &Run, tree: &ProcessTree, look: Look) -> Vec<String> {
    let mut by_process: BTreeMap<usize, (Nanos, Nanos)> = BTreeMap::new();
    for step in &tree.path {
        let (length, waited) = by_process.entry(step.process).or_default();
        *length += step.length();
        *waited += step.waited;
    }
    let mut most: Vec<(usize, (Nanos, Nanos))> =
        by_process.into_iter().filter(|(_, (length, _))| length.share_of(tree.wall) >= SMALL).collect();
    most.arrange_by_key(|&(process, (length, _))| (Reverse(length), process));
    let told = |&(index, (length, waited)): &(usize, (Nanos, Nanos))| {
        let process = &run.processes[index];
        let waits = match waited.share_of(length) {
            MUCH_WAITED.. => format!(", of that {} waiting", time(waited, look)),
            _ => String::new(),
        };
        format!("{} (pid {}) {}{waits}", name(process, look), process.pid, time(length, look))
    };
    let mut pieces: Vec<String> = most.iter().take(MOST_LONGEST).map(told).collect();
    if pieces.is_empty() {
        pieces.push("many short processes".to_owned());
    }
    // What came before such a step is there by this rule.
    let fed = tree.path.windows(2).filter(|pair| pair[1].came == Came::Fed).map(|pair| pair[0].length());
    if fed.sum::<Nanos>().share_of(tree.wall) >= MUCH_FED {
        pieces.push("who wrote what others read is judged by who was at work".to_owned());
    }
    pieces
}

/// A process by its program and what that works on, as far as its command says: `cc1 lparser.c`.
fn name(process: &Process, look: Look) -> String {
    let program = names::program_of(process);
    let told = match names::works_on(process) {
        Some(on) => format!("{program} {on}"),
        None => program,
    };
    escape::name(&told, look)
}

/// What all processes did together; `short` where what holds one of them up follows.
pub(crate) fn lines(run: &Run, tree: &ProcessTree, short: bool, look: Look) -> Vec<Line> {
    let mut lines = wrapped(&verdict(tree, look), 0, Ink::Text, look);
    if let Some(of) = &tree.jobs {
        lines.extend(wrapped(&jobs(tree, of, look), 0, Ink::Text, look));
    }
    if !short {
        lines.push(Line::default());
    }
    lines.extend(table(tree, if short { MOST_IN_SHORT } else { MOST_PROGRAMS }, look));
    if !short {
        lines.push(Line::default());
        let pieces =
            longest(run, tree, look).iter().map(|text| Line::default().with(text, Ink::Text)).collect();
        lines.extend(labelled("longest on it", Ink::Faint, pieces, look));
    }
    lines.extend(course(tree, look));
    lines
}

/// The columns of the table, by where each ends.
const COLUMNS: [(&str, usize); 4] =
    [("on the path", 33), ("criticality", 45), ("CPU time", 54), ("processes", 64)];

fn table(tree: &ProcessTree, most: usize, look: Look) -> Vec<Line> {
    let cells = |row: Row| {
        let on_path = row.on_path.zip(row.on_path_share).map(|(time, share)| format!("{time} {share:>4}"));
        (row.program, [on_path, Some(row.criticality), row.cpu, row.processes])
    };
    let rows = rows(tree, most, look).into_iter().map(cells);
    if look.is_narrow() {
        let told = |(name, figures): (String, [Option<String>; 4])| {
            let words = figures
                .into_iter()
                .zip(COLUMNS)
                .filter_map(|(figure, (column, _))| figure.map(|figure| format!("{column} {figure}")));
            wrapped(&format!("{name}: {}", words.collect::<Vec<_>>().join(", ")), 2, Ink::Text, look)
        };
        return rows.flat_map(told).collect();
    }
    let head = COLUMNS.iter().fold(Line::indented(2).with("program", Ink::Faint), |line, (name, end)| {
        line.right_aligned(name, *end, Ink::Faint)
    });
    let told = |(name, figures): (String, [Option<String>; 4])| {
        let line = Line::indented(2).with(&escape::cut(&name, NAME, look), Ink::Text);
        figures.iter().zip(COLUMNS).fold(line, |line, (figure, (_, end))| match figure {
            Some(figure) => line.right_aligned(figure, end, Ink::Text),
            None => line,
        })
    };
    [head].into_iter().chain(rows.map(told)).collect()
}

/// How many threads were active in the course of the run, as one line of bars.
fn course(tree: &ProcessTree, look: Look) -> Vec<Line> {
    let slices = tree.over_time.len();
    let room = text_room(look).min(slices);
    let most = tree.over_time.iter().copied().fold(f64::from(tree.cores.max(1)), f64::max);
    let bar = |column: usize| {
        let (from, to) = (column * slices / room, (column + 1) * slices / room);
        let slices = &tree.over_time[from..to.max(from + 1)];
        look.level(slices.iter().sum::<f64>() / slices.len() as f64 / most)
    };
    let bars: String = (0..room).map(bar).collect();
    let scaled = format!("{bars}  (full height: {})", figure(most));
    let text = if display_width(&scaled) <= text_room(look) { scaled } else { bars };
    labelled("active", Ink::Faint, vec![Line::default().with(&text, Ink::Text)], look)
}
