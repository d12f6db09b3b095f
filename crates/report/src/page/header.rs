//! The head of the page: what ran, its key figures, and where its time went.

use askama::Template;
use holdup_criticality::{Diagnosis, ProcessTree};
use holdup_model::{Arrange, Nanos, Run, Stack, StackComponent, Unit};

use super::chart::Color;
use super::stack_bar::{Reach, StackBar};
use super::text::{Figure, LOOK, Told, counted, grouped, percent, percent_range, sentence, time, time_of};
use crate::{escape, names, numbers, shares, surroundings, terminal, tree, warnings};

/// The most columns that the command takes.
const COMMAND: usize = 2000;

/// Parts below this share of the time are told together.
const SMALL: f64 = 0.005;

/// What ran.
#[derive(Template)]
#[template(path = "header.html")]
pub(super) struct Header {
    /// What made the page; empty where that begins with all processes of the run, and this is the head of what it says of one.
    pub(super) kick: String,
    /// The first half of the heading, and the second one, which is set lighter.
    pub(super) heading: String,
    pub(super) continued: String,
    pub(super) command: Option<String>,
    pub(super) figures: Vec<KeyFigure>,
    pub(super) budget: Option<Budget>,
    pub(super) warnings: Vec<String>,
    pub(super) way_out: bool,
}

/// A number at the head of the page.
pub(super) struct KeyFigure {
    pub(super) name: &'static str,
    pub(super) value: Figure,
}

/// Where the threads' time went: the palette's legend.
pub(super) struct Budget {
    title: String,
    bar: StackBar,
    parts: Vec<Part>,
}

struct Part {
    color: Option<Color>,
    name: String,
    time: String,
    share: String,
}

impl Header {
    /// The head of a page that tells of a process.
    pub(super) fn new(told: &Told<'_>) -> Self {
        let Told { run, process, diagnosis, .. } = *told;
        let threads = process.threads.len();
        let cores = match diagnosis.cores {
            0 => String::new(),
            cores => format!(" on {}", counted(cores as usize, "core", "cores")),
        };
        let mut continued = match threads {
            0 | 1 => format!("It was active {} of the time.", percent(diagnosis.parallelism.min(1.0))),
            _ => format!("{} of them were active on average.", numbers::figure(diagnosis.parallelism)),
        };
        if let Some(end) = terminal::ending(run) {
            continued.push_str(&format!(" The command {end}."));
        }
        Self {
            kick: kick(run),
            heading: format!(
                "{} ran {} with {}{cores}{}",
                names::program(process, LOOK),
                time(diagnosis.wall),
                counted(threads, "thread", "threads"),
                if threads > 1 { ";" } else { "." }
            ),
            continued,
            command: command(if run.processes.len() > 1 { &process.command } else { &run.command }),
            figures: figures(told),
            budget: budget(told),
            warnings: surroundings::first_of_all(run, diagnosis)
                .into_iter()
                .map(|text| sentence(&text))
                .chain(told_warnings(run, Some(diagnosis)))
                .collect(),
            way_out: false,
        }
    }

    /// The heads of a page that tells of all processes of a run first: of these, and of the one that it tells of then.
    pub(super) fn of_all(told: &Told<'_>, tree: &ProcessTree) -> [Self; 2] {
        let Told { run, diagnosis, .. } = *told;
        let [heading, mut continued] = tree::headline(run, tree, LOOK);
        if let Some(end) = terminal::ending(run) {
            continued.push_str(&format!(" The command {end}."));
        }
        let mut figures = Vec::new();
        let mut add = |name, value| figures.push(KeyFigure { name, value });
        add("Wall time", Figure::of(&time(tree.wall)));
        add("Processes", Figure::of(&grouped(tree.processes as u64)));
        add("CPU time", Figure::of(&time(tree.cpu)));
        if tree.cores > 0 {
            add("Cores", Figure::of(&grouped(u64::from(tree.cores))));
        }
        add("Active on average", Figure::of(&numbers::figure(tree.parallelism())));
        if let Some(efficiency) = tree.efficiency() {
            add("Efficiency", Figure::of(&percent(efficiency)));
        }
        let first = surroundings::first_of_all(run, diagnosis).into_iter().map(|text| sentence(&text));
        let all = Self {
            kick: kick(run),
            heading,
            continued,
            command: command(&run.command),
            figures,
            budget: None,
            warnings: first.chain(told_warnings(run, None)).collect(),
            way_out: false,
        };
        let one = Self { kick: String::new(), warnings: Vec::new(), ..Self::new(told) };
        [all, one]
    }

    /// The head of a page about a recording in which there is nothing.
    pub(super) fn nothing_recorded(run: &Run) -> Self {
        let warnings = told_warnings(run, None);
        let what = match run.command.first().and_then(|path| path.rsplit('/').next()) {
            Some(file) if !file.is_empty() => format!(" of {}", escape::name(file, LOOK)),
            _ => String::new(),
        };
        Self {
            kick: kick(run),
            heading: format!("Nothing was recorded{what},"),
            continued: format!(
                "so nothing can be said about its threads.{}",
                terminal::ending(run).map_or_else(String::new, |end| format!(" It {end}."))
            ),
            command: command(&run.command),
            figures: Vec::new(),
            budget: None,
            way_out: warnings.is_empty(),
            warnings,
        }
    }
}

fn kick(run: &Run) -> String {
    match run.recorded_by.as_str() {
        "" => "holdup report".to_owned(),
        version => format!("holdup report · recorded by holdup {}", escape::name(version, LOOK)),
    }
}

/// The command as a shell would read it, all of it visible.
pub fn command(words: &[String]) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    let quoted = |word: &String| match word.as_str() {
        "" => "''".to_owned(),
        word if word.chars().all(plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let text = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then(|| escape::cut(&escape::visible(&text, LOOK), COMMAND, LOOK))
}

fn told_warnings(run: &Run, answer: Option<&Diagnosis>) -> Vec<String> {
    warnings::told(run, answer).iter().map(|text| sentence(text)).collect()
}

fn figures(told: &Told<'_>) -> Vec<KeyFigure> {
    let Told { run, process, diagnosis, .. } = *told;
    let mut figures = Vec::new();
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    add("Wall time", Figure::of(&time(diagnosis.wall)));
    let threads = process.threads.len();
    let workers = diagnosis.workers as usize;
    let at_once = terminal::at_once(diagnosis, threads).unwrap_or_default();
    add("Threads", Figure::with(grouped(threads as u64), at_once));
    if diagnosis.cores > 0 {
        let quota = match shares::effective_cores(diagnosis) {
            fewer if fewer < diagnosis.cores => format!("by quota {fewer} at a time"),
            _ => String::new(),
        };
        add("Cores", Figure::with(grouped(u64::from(diagnosis.cores)), quota));
    }
    let of = if workers > 0 { format!("of {}", grouped(workers as u64)) } else { String::new() };
    add("Active on average", Figure::with(numbers::figure(diagnosis.parallelism), of));
    add("Efficiency", Figure::of(&percent(diagnosis.efficiency)));
    if let Some(gain) = diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.as_ref()) {
        let left = diagnosis.wall.saturating_sub(gain.time);
        add("All findings fixed", Figure::of(&time(left)));
    }
    let cost = run.cost_range().map(|cost| percent_range(cost.least, cost.most));
    add("Recording cost", cost.map_or_else(|| Figure::with("not known", ""), |text| Figure::of(&text)));
    figures
}

/// Useful time, what was lost to each cause, and what has no known cause: together the working threads × the wall time.
fn budget(told: &Told<'_>) -> Option<Budget> {
    let Told { diagnosis, .. } = *told;
    let identity = &diagnosis.cost_identity;
    if diagnosis.wall == Nanos::ZERO || diagnosis.workers == 0 {
        return None;
    }
    let workers = u64::from(diagnosis.workers);
    let mut losses = identity.parts.clone();
    losses.arrange_by_key(|(kind, cost)| (std::cmp::Reverse(*cost), *kind));
    let of_threads = |length: Nanos| Nanos::new(length.get().saturating_mul(workers));
    let all = of_threads(diagnosis.wall);
    let amount = |length: Nanos| of_threads(length).get() as f64;
    let useful = StackComponent::new("useful", "useful work", "act", amount(identity.useful));
    let lost = losses
        .iter()
        .map(|&(kind, cost)| StackComponent::new(kind.word(), kind.label(), kind.color(), amount(cost)));
    let rest = StackComponent::new("unexplained", "not explained", "hatch", amount(identity.unexplained));
    let known = [useful].into_iter().chain(lost).chain([rest]).filter(|component| component.amount > 0.0);
    let stack = Stack::of_total(all.get() as f64, Unit::Nanos, known.collect());
    let title = match workers {
        1 => format!("Where {} of thread time went", time(all)),
        _ => format!("Where {workers} × {} = {} of thread time went", time(diagnosis.wall), time(all)),
    };
    let part = |color, name: String, amount: f64| Part {
        color,
        name,
        time: time_of(amount),
        share: stack.told_short(amount),
    };
    let (large, small): (Vec<_>, Vec<_>) =
        stack.components().iter().partition(|component| component.amount >= SMALL * stack.total());
    let single = |of: &StackComponent| part(Some(of.color), of.label.to_string(), of.amount);
    let mut parts: Vec<Part> = large.into_iter().map(single).collect();
    match small.as_slice() {
        [] => {}
        [only] => parts.push(single(only)),
        many => {
            let names: Vec<&str> = many.iter().map(|component| &*component.label).collect();
            let sum = many.iter().map(|component| component.amount).sum();
            parts.push(part(None, names.join(", "), sum));
        }
    }
    Some(Budget { bar: StackBar::new(&title, &stack, Reach::of([&stack]), 34), title, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed() {
        let words = ["./a b", "it's", "", "-o", "x.png", "\u{202e}\0"].map(str::to_owned);
        assert_eq!(command(&words).unwrap(), "'./a b' 'it'\\''s' '' -o x.png '\\u{202e}\\u{0}'");
        assert_eq!(command(&[]), None);
    }
}
