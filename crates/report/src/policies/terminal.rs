//! The answer of `holdup policies` in a terminal.

use holdup_policies::{PolicyRun, ProgramPolicies, Sweep};

use super::{PoliciesTold, told};
use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, painted, wrapped, wrapped_short};
use crate::numbers::factor;
use crate::numbers::percent;
use crate::scaling::tabular::{Column, table};

/// At most so many threads of a program, and notes, are told.
const MOST_THREADS: usize = 4;
const MOST_NOTES: usize = 8;

/// Policies beside which a row of all programs has a gain.
const COMPARED: [&str; 6] = ["all", "offline", "single", "tcp", "bis", "dynamic"];

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_policies(told: &PoliciesTold, look: Look) -> String {
    let mut lines = Vec::new();
    let mut add = |part: Vec<Line>| {
        if !part.is_empty() {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.extend(part);
        }
    };
    if told.programs.len() > 1 {
        add(together(told, look));
    }
    for program in &told.programs {
        add(head(program, told, look));
        add(runs(program, look));
        add(threads(program, look));
        add(validation(program, look));
        if let Some(sweep) = &program.sweep {
            add(swept(sweep, look));
        }
        add(told::unit(program).map(|unit| wrapped(&unit, 0, Ink::Faint, look)).unwrap_or_default());
    }
    add(notes(told, look));
    painted(&lines, look)
}

/// All programs beside each other.
fn together(told: &PoliciesTold, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for mean in told::means(told) {
        lines.extend(wrapped(&mean, 0, Ink::Strong, look));
    }
    let cell = |program: &ProgramPolicies, policy| program.gain(policy).map_or_else(String::new, told::gain);
    let mut columns =
        vec![Column::words("faster", told.programs.iter().map(|program| told::program(program, look)))];
    for policy in COMPARED {
        columns.push(Column::numbers(policy, told.programs.iter().map(|program| cell(program, policy))));
    }
    lines.push(Line::default());
    lines.extend(table(columns, look));
    if told.programs.iter().any(|program| program.energy("dynamic").is_some()) {
        let cell = |program: &ProgramPolicies, policy| {
            program.energy(policy).map_or_else(String::new, |energy| told::gain(energy - 1.0))
        };
        let mut columns =
            vec![Column::words("energy", told.programs.iter().map(|program| told::program(program, look)))];
        for policy in COMPARED {
            columns.push(Column::numbers(policy, told.programs.iter().map(|program| cell(program, policy))));
        }
        lines.push(Line::default());
        lines.extend(table(columns, look));
    }
    lines
}

fn head(program: &ProgramPolicies, all: &PoliciesTold, look: Look) -> Vec<Line> {
    let name = told::program(program, look);
    let mut lines = wrapped(&format!("{name}: {}", told::answer(program)), 0, Ink::Strong, look);
    if let Some(dividing) = told::dividing(program) {
        lines.extend(wrapped(&dividing, 0, Ink::Text, look));
    }
    lines.extend(wrapped(&told::setting(program, all, look), 0, Ink::Faint, look));
    lines
}

/// The table of policies.
fn runs(program: &ProgramPolicies, look: Look) -> Vec<Line> {
    let Some(none) = program.run("none") else { return Vec::new() };
    let all = program.run("all");
    let ratio = |number: Option<f64>| number.map_or_else(String::new, factor);
    let each = |cell: &dyn Fn(&PolicyRun) -> String| program.runs.iter().map(cell).collect::<Vec<_>>();
    table(
        vec![
            Column::words("policy", each(&|run| run.policy.clone())),
            Column::numbers("time", each(&|run| told::seconds(run, look))),
            Column::numbers("faster", each(&|run| told::gain(run.speedup_over(none) - 1.0))),
            Column::numbers("energy", each(&|run| ratio(run.energy_over(none)))),
            Column::numbers("energy x delay", each(&|run| ratio(run.delay_product_over(none)))),
            Column::numbers(
                "against all fast",
                each(&|run| ratio(all.and_then(|all| run.delay_product_over(all)))),
            )
            .optional(),
            Column::words("who is fast", each(&told::who)).optional(),
        ],
        look,
    )
}

/// Which thread to accelerate.
fn threads(program: &ProgramPolicies, look: Look) -> Vec<Line> {
    let rows = told::threads(program, MOST_THREADS);
    let each = |cell: &dyn Fn(&holdup_policies::PolicyThread) -> String| {
        rows.iter().map(|thread| cell(thread)).collect::<Vec<_>>()
    };
    table(
        vec![
            Column::numbers("thread", each(&|thread| thread.number.to_string())),
            Column::numbers("critical", each(&|thread| percent(thread.criticality))),
            Column::numbers("without memory", each(&|thread| percent(thread.scaling))),
            Column::numbers("alone", each(&|thread| percent(thread.alone))),
            Column::numbers("predicted if fast", each(&|thread| told::gain(thread.predicted - 1.0))),
            Column::numbers(
                "simulated",
                each(&|thread| {
                    thread.simulated.map_or_else(String::new, |speedup| told::gain(speedup - 1.0))
                }),
            ),
        ],
        look,
    )
}

/// The most critical threads, accelerated one by one (Fig. 4b).
fn validation(program: &ProgramPolicies, look: Look) -> Vec<Line> {
    let Some(first) = program.validation.first() else { return Vec::new() };
    let title = format!("faster at {}", told::gigahertz(first.frequency));
    let critical = |number: u32| {
        let found = program.threads.iter().find(|thread| thread.number == number);
        found.map_or_else(String::new, |thread| percent(thread.criticality))
    };
    let rows = &program.validation;
    let mut lines = wrapped(&told::validated(program), 0, Ink::Text, look);
    lines.extend(table(
        vec![
            Column::numbers("thread", rows.iter().map(|row| row.thread.to_string())),
            Column::numbers("critical", rows.iter().map(|row| critical(row.thread))),
            Column::numbers(&title, rows.iter().map(|row| told::gain(row.speedup - 1.0))),
        ],
        look,
    ));
    lines
}

/// A thread at several frequencies, with the stack after each (Figs. 6 and 7).
fn swept(sweep: &Sweep, look: Look) -> Vec<Line> {
    let mut lines = wrapped(&told::kind(sweep), 0, Ink::Text, look);
    let threads = sweep.points.iter().map(|point| point.criticality.len()).max().unwrap_or(0);
    let points = &sweep.points;
    let mut columns = vec![
        Column::numbers(
            "GHz",
            points.iter().map(|point| format!("{}", (point.frequency * 1000.0).round() / 1000.0)),
        ),
        Column::numbers("faster", points.iter().map(|point| told::gain(point.speedup - 1.0))),
    ];
    for thread in 0..threads {
        let cell = |criticality: &[f64]| {
            criticality.get(thread).map_or_else(String::new, |share| format!("{:.0}", share * 100.0))
        };
        let title = if thread == 0 { "% critical: 0".to_owned() } else { thread.to_string() };
        columns.push(Column::numbers(&title, points.iter().map(|point| cell(&point.criticality))).optional());
    }
    lines.extend(table(columns, look));
    lines
}

fn notes(told: &PoliciesTold, look: Look) -> Vec<Line> {
    let notes = told::notes(told, look);
    let more = notes.len().saturating_sub(MOST_NOTES);
    let mut lines: Vec<Line> =
        notes.iter().take(MOST_NOTES).flat_map(|note| wrapped_short(note, 0, Ink::Faint, look)).collect();
    if more > 0 {
        lines.extend(wrapped(&format!("And {more} more: --json has them."), 0, Ink::Faint, look));
    }
    lines
}
