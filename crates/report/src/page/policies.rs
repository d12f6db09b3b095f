//! The page about policies that make threads fast: what each gives in time and energy (paper 4, Figs. 9 and 10), the criticality
//! stack, single threads accelerated (Fig. 4), and the sweep of a frequency (Figs. 6 and 7).

use askama::Template;
use holdup_policies::{PolicyRun, PolicyThread, ProgramPolicies, Sweep};

use super::chart::{Bar, Color, across};
use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, percent};
use super::{SCRIPT_OF_TABLES, policy};
use crate::numbers::factor;
use crate::policies::{PoliciesTold, told};

const STYLE: &[&str] = &[
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
    include_str!("../../page/policies.css"),
    include_str!("../../page/narrow.css"),
];

/// Colours of threads beside each other, by turns.
const THREADS: [Color; 4] = ["act", "act2", "hold", "wake"];

/// At most so many threads of a program are in its table.
const MOST_THREADS: usize = 8;

const COMPARED: [&str; 6] = ["all", "offline", "single", "tcp", "bis", "dynamic"];

#[derive(Template)]
#[template(path = "policies.html")]
struct Page {
    policy: String,
    title: String,
    style: String,
    script: String,
    header: Header,
    means: Option<Means>,
    programs: Vec<Program>,
    notes: Vec<String>,
    version: &'static str,
}

struct Means {
    lines: Vec<String>,
    policies: Vec<&'static str>,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    cells: Vec<String>,
}

struct Program {
    id: String,
    name: String,
    setting: String,
    answer: String,
    dividing: Option<String>,
    runs: Vec<RunRow>,
    has_energy: bool,
    stack: Bar,
    threads: Vec<[String; 6]>,
    validation: Option<Validation>,
    sweep: Option<Swept>,
    unit: Option<String>,
}

struct RunRow {
    policy: String,
    who: String,
    time: String,
    gain: String,
    time_width: String,
    energy: String,
    energy_bar: Option<Bar>,
    product: String,
    against_all: String,
}

struct Validation {
    verdict: String,
    title: String,
    rows: Vec<[String; 2]>,
}

struct Swept {
    thread: u32,
    kind: String,
    rows: Vec<SweptRow>,
}

struct SweptRow {
    frequency: String,
    gain: String,
    bar: Bar,
}

/// What policies give as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn policies_page(told: &PoliciesTold) -> String {
    let (style, script) = (STYLE.concat(), SCRIPT_OF_TABLES.join("\n"));
    let several = told.programs.len() > 1;
    let page = Page {
        policy: policy::policy(&script, &style),
        title: told.programs.first().map_or_else(String::new, |program| told::program(program, LOOK)),
        style,
        script,
        header: header(told),
        means: several.then(|| means(told)),
        programs: told.programs.iter().enumerate().map(|(index, of)| program(index, of, told)).collect(),
        notes: told::notes(told, LOOK),
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().expect("a String takes all that is written to it")
}

fn header(told: &PoliciesTold) -> Header {
    let first = told.programs.first();
    let heading = match told.programs.len() {
        0 => "Nothing was simulated.".to_owned(),
        1 => first.map(told::answer).unwrap_or_default(),
        _ => told::means(told).join(" "),
    }
    // No number stands in a line without its unit.
    .replace(" %", "\u{a0}%");
    let (heading, continued) = match heading.split_once(". ") {
        Some((one, other)) => (format!("{one}."), other.to_owned()),
        None => (heading, String::new()),
    };
    let mut figures = Vec::new();
    if let [only] = &told.programs[..] {
        let mut add = |name, value: Option<String>| {
            figures.extend(value.map(|value| KeyFigure { name, value: Figure::of(&value) }));
        };
        add("Dynamic gives", only.gain("dynamic").map(told::gain));
        add("Offline gives", only.gain("offline").map(told::gain));
        add("All fast gives", only.gain("all").map(told::gain));
        add("Energy, dynamic", only.energy("dynamic").map(|energy| told::gain(energy - 1.0)));
        add("Energy, all fast", only.energy("all").map(|energy| told::gain(energy - 1.0)));
    }
    Header {
        kick: "holdup policies".to_owned(),
        heading,
        continued,
        command: first.filter(|_| told.programs.len() == 1).and_then(|program| command(&program.command)),
        figures,
        budget: None,
        warnings: Vec::new(),
        way_out: false,
    }
}

fn means(told: &PoliciesTold) -> Means {
    let row = |program: &ProgramPolicies| Row {
        name: told::program(program, LOOK),
        cells: COMPARED
            .iter()
            .map(|policy| {
                let gain = program.gain(policy).map_or_else(String::new, told::gain);
                match program.energy(policy) {
                    Some(energy) => format!("{gain} ({})", told::gain(energy - 1.0)),
                    None => gain,
                }
            })
            .collect(),
    };
    Means {
        lines: told::means(told),
        policies: COMPARED.to_vec(),
        rows: told.programs.iter().map(row).collect(),
    }
}

fn program(index: usize, of: &ProgramPolicies, all: &PoliciesTold) -> Program {
    let longest = of.runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let joules = |run: &PolicyRun| run.energy.map_or(0.0, |energy| energy.joules());
    let most = of.runs.iter().map(joules).fold(0.0, f64::max);
    let shares: Vec<f64> = of.threads.iter().map(|thread| thread.criticality).collect();
    Program {
        id: if index == 0 { "answer".to_owned() } else { format!("program-{}", index + 1) },
        name: told::program(of, LOOK),
        setting: told::setting(of, all, LOOK),
        answer: told::answer(of),
        dividing: told::dividing(of),
        runs: of.runs.iter().map(|run| run_row(of, run, longest, most)).collect(),
        has_energy: most > 0.0,
        stack: stack(of, &shares, "Criticality of each thread"),
        threads: told::threads(of, MOST_THREADS).into_iter().map(thread_row).collect(),
        validation: validation(of),
        sweep: of.sweep.as_ref().map(|sweep| swept(of, sweep)),
        unit: told::unit(of),
    }
}

fn run_row(of: &ProgramPolicies, run: &PolicyRun, longest: f64, most: f64) -> RunRow {
    let none = of.run("none");
    let ratio = |number: Option<f64>| number.map_or_else(String::new, factor);
    let energy = none.and_then(|none| run.energy_over(none));
    RunRow {
        policy: run.policy.clone(),
        who: told::who(run),
        time: told::seconds(run, LOOK),
        gain: none.map_or_else(String::new, |none| told::gain(run.speedup_over(none) - 1.0)),
        time_width: across(run.seconds, longest),
        energy: ratio(energy),
        energy_bar: run.energy.map(|parts| {
            let part = |joules: f64, color, name: &str| {
                (
                    joules,
                    color,
                    format!("{name}\n{}", percent(joules / parts.joules().max(f64::MIN_POSITIVE))),
                )
            };
            let parts = [
                part(parts.dynamic, "act", "what cores switch"),
                part(parts.leaked, "sleep", "what leaks through them"),
                part(parts.uncore, "io", "what they share"),
                part(parts.memory, "mem", "memory"),
            ];
            Bar::new(format!("Energy under {}", run.policy), 10, most, parts)
        }),
        product: ratio(none.and_then(|none| run.delay_product_over(none))),
        against_all: ratio(of.run("all").and_then(|all| run.delay_product_over(all))),
    }
}

/// A criticality stack, lying on its side.
fn stack(of: &ProgramPolicies, shares: &[f64], label: &str) -> Bar {
    let piece = |(index, share): (usize, &f64)| {
        let number = of.threads.get(index).map_or(index as u32, |thread| thread.number);
        (*share, THREADS[index % THREADS.len()], format!("thread {number}\n{}", percent(*share)))
    };
    Bar::new(label, 22, 1.0, shares.iter().enumerate().map(piece))
}

fn thread_row(thread: &PolicyThread) -> [String; 6] {
    [
        thread.number.to_string(),
        percent(thread.criticality),
        percent(thread.scaling),
        percent(thread.alone),
        told::gain(thread.predicted - 1.0),
        thread.simulated.map_or_else(String::new, |speedup| told::gain(speedup - 1.0)),
    ]
}

fn validation(of: &ProgramPolicies) -> Option<Validation> {
    let first = of.validation.first()?;
    Some(Validation {
        verdict: told::validated(of),
        title: format!("Faster at {}", told::gigahertz(first.frequency)),
        rows: of
            .validation
            .iter()
            .map(|run| [run.thread.to_string(), told::gain(run.speedup - 1.0)])
            .collect(),
    })
}

fn swept(of: &ProgramPolicies, sweep: &Sweep) -> Swept {
    Swept {
        thread: sweep.thread,
        kind: told::kind(sweep),
        rows: sweep
            .points
            .iter()
            .map(|point| SweptRow {
                frequency: told::gigahertz(point.frequency),
                gain: told::gain(point.speedup - 1.0),
                bar: stack(
                    of,
                    &point.criticality,
                    &format!("Criticality at {}", told::gigahertz(point.frequency)),
                ),
            })
            .collect(),
    }
}
