//! Stacked bars: of groups and threads (paper 3, Fig. 3), and of simulations beside each other (Figs. 4 and 5).

use askama::Template;
use holdup_model::cycles::{CycleComponent, CycleStack, Family};

use super::super::chart::{Color, across};
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::{LOOK, grouped, percent, time};
use crate::numbers;
use crate::sim::rows::rows;
use crate::sim::view::{View, cpi, share, told_cpi};
use crate::sim::{told, words};
use crate::why::words::count;

/// At most so many threads have a bar; neighbours that are most alike share one where there are more.
const MOST_THREADS: usize = 256;

/// With more rows than this, rows are low and scroll.
const MANY: usize = 40;

/// With more rows than this there are no numbers below the bars: JSON has them.
const MOST_NUMBERS: usize = 64;

/// A section of bars.
#[derive(Template)]
#[template(path = "sim_stacks.html")]
pub(super) struct Stacks {
    id: &'static str,
    question: &'static str,
    method: &'static str,
    sentences: Vec<String>,
    tables: Vec<Table>,
    note: Option<String>,
    families: Vec<FamilyKey>,
}

/// Bars below each other.
#[derive(Template)]
#[template(path = "sim_bars.html")]
struct Table {
    caption: String,
    title: &'static str,
    titles: &'static [&'static str],
    many: bool,
    rows: Vec<Row>,
    columns: Vec<&'static str>,
}

struct Row {
    name: String,
    left_out: bool,
    bar: StackBar,
    figures: Vec<String>,
    amounts: Vec<String>,
}

/// What the colours of a family stand for, and how much there is of them.
struct FamilyKey {
    name: &'static str,
    share: String,
    parts: Vec<KeyPart>,
}

struct KeyPart {
    color: Color,
    name: &'static str,
    share: String,
    meaning: &'static str,
}

/// What a bar is made of.
struct Given {
    name: String,
    left_out: bool,
    stack: CycleStack,
    instructions: u64,
    /// How long the bar is beside others: cycles of each thread.
    length: f64,
    figures: Vec<String>,
}

impl Stacks {
    /// Threads of the simulation that is told in detail, and their groups.
    pub(super) fn of_threads(view: &View) -> Self {
        let (run, aggregate) =
            (view.main().expect("a simulation"), view.main_aggregate().expect("its stacks"));
        let simulated = &run.simulated;
        let groups: Vec<Given> = aggregate
            .groups
            .iter()
            .filter(|group| !group.threads.is_empty())
            .map(|group| Given {
                name: match group.threads.len() {
                    1 => words::group(group, LOOK),
                    many => format!("{} ({many})", words::group(group, LOOK)),
                },
                left_out: false,
                stack: group.stack,
                instructions: group.instructions,
                length: group.stack.total() as f64 / group.threads.len() as f64,
                figures: figures(&group.stack, group.instructions),
            })
            .collect();
        let names = words::threads(simulated, LOOK);
        let is_left_out = |thread: &usize| {
            aggregate.groups.iter().any(|group| group.left_out.binary_search(thread).is_ok())
        };
        let threads: Vec<Given> = rows(simulated, aggregate, 0.0, MOST_THREADS)
            .into_iter()
            .map(|row| Given {
                name: match row.threads.len() {
                    1 => names[row.threads.start].clone(),
                    _ => {
                        let number = |index: usize| simulated.threads[index].number;
                        format!("{} to {}", number(row.threads.start), number(row.threads.end - 1))
                    }
                },
                left_out: row.threads.clone().all(|thread| is_left_out(&thread)),
                stack: row.stack,
                instructions: row.instructions,
                length: row.stack.total() as f64 / row.threads.len() as f64,
                figures: figures(&row.stack, row.instructions),
            })
            .collect();
        let titles: &[&str] = &["CPI", "Instructions"];
        let mut tables = Vec::new();
        if groups.len() > 1 {
            tables.push(table("Cycle stacks of groups of threads", "Group", titles, groups));
        }
        let has_left_out = threads.iter().any(|thread| thread.left_out);
        tables.push(table("Cycle stacks of threads", "Thread", titles, threads));
        Self {
            id: "answer",
            question: "Where the cycles go",
            method: "cycle stacks · critical-path accounting",
            sentences: vec![format!(
                "{}. Each bar is a thread from the first one’s begin to the last one’s end; each cycle is in it once, where it is added. Groups \
                 are threads with the same top-level function.",
                told::what(run, LOOK)
            )],
            tables,
            note: has_left_out
                .then(|| "* Barriers, conditions and joins take more than half of its time: not in the shares of groups and components.".to_owned()),
            families: families(&aggregate.stack),
        }
    }

    /// The simulations, where there are several.
    pub(super) fn of_runs(view: &View) -> Option<Self> {
        let runs = &view.told.runs;
        if runs.len() < 2 {
            return None;
        }
        let given = runs.iter().zip(&view.aggregates).enumerate().map(|(index, (run, aggregate))| Given {
            name: told::label(view, run, LOOK),
            left_out: false,
            stack: aggregate.stack,
            instructions: aggregate.instructions,
            length: run.simulated.cycles as f64,
            figures: vec![
                count(run.simulated.cycles),
                if run.simulated.frequency > 0.0 { time(run.simulated.time()) } else { String::new() },
                told_cpi(aggregate.stack.total(), aggregate.instructions),
                view.speedup(index).map_or_else(String::new, |(_, speedup)| numbers::factor(speedup)),
            ],
        });
        let table = table(
            "Cycle stacks of simulations",
            match told::run_title(view) {
                "cores" => "Cores",
                "machine" => "Machine",
                "input" => "Input",
                "what if" => "What if",
                _ => "Simulation",
            },
            &["Cycles", "Time", "CPI", "Speedup"],
            given.collect(),
        );
        let mut all = CycleStack::default();
        view.aggregates.iter().for_each(|aggregate| all.add(&aggregate.stack));
        Some(Self {
            id: "runs",
            question: "Side by side",
            method: "cycle stacks over cores, inputs, machines, changes",
            sentences: view.growth().as_ref().map(told::grown).into_iter().collect(),
            tables: vec![table],
            note: Some(
                "Speedup of a changed run is over the unchanged one; of an unchanged one over that on the fewest cores, or on the first \
                 machine. The shares below are of all of them together."
                    .to_owned(),
            ),
            families: families(&all),
        })
    }
}

/// The bar of cycles with a name; it is as long as its table is wide.
pub(super) fn bar(name: &str, stack: &CycleStack, height: u32) -> StackBar {
    let stack = stack.stack();
    StackBar::new(name, &stack, Reach::of([&stack]), height)
}

fn figures(stack: &CycleStack, instructions: u64) -> Vec<String> {
    vec![told_cpi(stack.total(), instructions), count(instructions)]
}

fn table(caption: &str, title: &'static str, titles: &'static [&'static str], given: Vec<Given>) -> Table {
    let many = given.len() > MANY;
    let ratio = |given: &Given| cpi(given.stack.total(), given.instructions).unwrap_or(0.0);
    let longest = given.iter().map(|given| given.length).fold(0.0, f64::max);
    let most = given.iter().map(ratio).fold(0.0, f64::max);
    let is_used = |component: &CycleComponent| given.iter().any(|given| given.stack.get(*component) > 0);
    let used: Vec<CycleComponent> = match given.len() > MOST_NUMBERS {
        true => Vec::new(),
        false => CycleComponent::ALL.iter().copied().filter(is_used).collect(),
    };
    let rows = given
        .iter()
        .map(|given| Row {
            name: given.name.clone(),
            left_out: given.left_out,
            bar: bar(&given.name, &given.stack, if many { 9 } else { 18 })
                .scaled(across(given.length, longest), across(ratio(given), most)),
            figures: given.figures.clone(),
            amounts: match used.is_empty() {
                true => Vec::new(),
                false => {
                    let amounts = used.iter().map(|component| given.stack.get(*component));
                    amounts.chain([given.stack.total()]).map(grouped).collect()
                }
            },
        })
        .collect();
    let columns = used.iter().map(|component| component.name()).collect();
    Table { caption: caption.to_owned(), title, titles, many, rows, columns }
}

fn families(stack: &CycleStack) -> Vec<FamilyKey> {
    let of_family = |family: Family| {
        let own = stack.parts().filter(|(component, _)| component.family() == family);
        let own: Vec<CycleComponent> = own.map(|(component, _)| component).collect();
        let all: f64 = own.iter().map(|component| share(stack, *component)).sum();
        let parts = own.iter().map(|&component| KeyPart {
            color: component.color(),
            name: component.name(),
            share: percent(share(stack, component)),
            meaning: component.meaning(),
        });
        (!own.is_empty()).then(|| FamilyKey {
            name: match family {
                Family::Core => "Core",
                Family::Memory => "Memory",
                Family::Sync => "Synchronization",
                Family::Away => "Away",
            },
            share: percent(all),
            parts: parts.collect(),
        })
    };
    Family::ALL.into_iter().filter_map(of_family).collect()
}
