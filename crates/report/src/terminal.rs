//! The short answer: one screen of text.

use holdup_criticality::{Diagnosis, FindingKind, ProcessTree};
use holdup_model::{Arrange, ExitStatus, Nanos, ObjectKind, Process, Run};

use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped};
use crate::numbers::{counted, figure, grouped, percent, time};
use crate::{
    Look, bar, course, escape, findings, hot, names, repeated, shares, surroundings, tree, warnings,
};

/// The lines of a screen that the answer fits in where the terminal is wide enough for a table.
const SCREEN: usize = 30;

/// The lines of a brief answer.
const BRIEF: usize = 5;

/// From this efficiency on, a run without findings is said to be held up by nothing.
const GOOD_EFFICIENCY: f64 = 0.9;

/// Two parallelisms that differ by less than this share are shown as one.
const SAME_PARALLELISM: f64 = 0.03;

/// Fewer threads than this without a core, on average, are not told.
const WITHOUT_CORE: f64 = 0.1;

/// At most so many other processes and so many warnings have a line of their own.
const MOST_LISTED: usize = 4;

/// The short answer for a terminal: at most a screen, each line at most [`Look::width`] columns wide, with a
/// line break at its end. The first diagnosis is told, the others are listed.
///
/// # Panics
/// If a diagnosis is not of this run.
pub fn render(run: &Run, diagnoses: &[Diagnosis], look: Look) -> String {
    let diagnosis = match told(run, diagnoses, look) {
        Told::Whole(lines) => return painted(&lines, look),
        Told::Process(diagnosis) => diagnosis,
    };
    let process = &run.processes[diagnosis.process];
    let tree = diagnosis.tree.as_ref().filter(|tree| tree.is_the_subject(run));
    let mut head = Vec::new();
    if let Some(tree) = tree {
        head = told_tree(run, tree, true, look);
        head.push(Line::default());
    }
    head.extend(wrapped(&headline(run, diagnosis, look), 0, Ink::Strong, look));
    for text in surroundings::first_of_all(run, diagnosis) {
        head.extend(wrapped(&escape::sentence(&text, look), 0, Ink::Warning, look));
    }
    head.extend(repeated::lines(diagnosis, look));
    head.extend(single_thread(process, diagnosis, look));
    if diagnosis.findings.is_empty() {
        head.extend(no_findings(run, diagnosis, look));
    }
    let mut foot = surroundings::environment(run, diagnosis, look);
    foot.extend(surroundings::recorded_by(run, process, look));
    if tree.is_none() {
        foot.extend(other_processes(run, diagnoses, look));
    }
    foot.extend(told_warnings(run, Some(diagnosis), look));

    let bar = bar::criticality(process, diagnosis, look);
    let needed = head.len() + 2 + findings::fewest_rows(diagnosis, look) + bar.len() + foot.len();
    let mut room = SCREEN.saturating_sub(needed);
    let mut middle = bar;
    // What has no room is in the JSON.
    let hot = |most| hot::lines(process, diagnosis, most, look);
    let hot = [hot::MOST, 1].map(hot).into_iter().find(|lines| lines.len() <= room);
    for part in [hot.unwrap_or_default(), course::lines(run, diagnosis, look)] {
        if part.len() <= room {
            room -= part.len();
            middle.extend(part);
        }
    }
    let mut lines = head;
    if !diagnosis.findings.is_empty() {
        let rows = SCREEN.saturating_sub(lines.len() + middle.len() + foot.len() + 2);
        lines.push(Line::default());
        lines.extend(findings::table(diagnosis, rows, look));
    }
    lines.push(Line::default());
    lines.extend(middle);
    lines.extend(foot);
    painted(&lines, look)
}

/// What the answer is about.
enum Told<'a> {
    /// The whole run, in these lines.
    Whole(Vec<Line>),
    /// One process.
    Process(&'a Diagnosis),
}

fn told<'a>(run: &Run, diagnoses: &'a [Diagnosis], look: Look) -> Told<'a> {
    let told = diagnoses.first().filter(|diagnosis| !run.processes[diagnosis.process].threads.is_empty());
    let Some(diagnosis) = told else {
        return Told::Whole(nothing_recorded(run, look));
    };
    let tree = diagnosis.tree.as_ref().filter(|tree| tree.is_the_subject(run));
    match tree.filter(|tree| !says_much(run, diagnosis, tree)) {
        Some(tree) => Told::Whole(whole_tree(run, diagnosis, tree, look)),
        None => Told::Process(diagnosis),
    }
}

/// The answer in [`BRIEF`] lines at most: what ran, whether to believe it, and the first findings in a line each.
///
/// # Panics
/// If a diagnosis is not of this run.
pub fn render_brief(run: &Run, diagnoses: &[Diagnosis], look: Look) -> String {
    let mut lines = match told(run, diagnoses, look) {
        Told::Whole(lines) => lines,
        Told::Process(diagnosis) => {
            let process = &run.processes[diagnosis.process];
            let mut lines = wrapped(&brief_headline(run, diagnosis, look), 0, Ink::Strong, look);
            let doubt = surroundings::first_of_all(run, diagnosis).into_iter().next();
            lines.extend(doubt.map(|text| {
                let first = text.split_inclusive(". ").next().unwrap_or_default().trim_end();
                let first = escape::cut_end(&escape::sentence(first, look), look.columns(), look);
                Line::default().with(&first, Ink::Warning)
            }));
            lines.extend(single_thread(process, diagnosis, look));
            match diagnosis.findings.is_empty() {
                true if process.threads.len() <= 1 => {}
                true => {
                    lines.extend(wrapped(&without_findings(run, diagnosis, look).0, 0, Ink::Strong, look))
                }
                false => lines.extend(findings::brief(diagnosis, BRIEF.saturating_sub(lines.len()), look)),
            }
            lines
        }
    };
    lines.truncate(BRIEF);
    painted(&lines, look)
}

/// Below this share of the run, what a lock costs one process says little of the run.
const MUCH_OF_RUN: f64 = 0.05;

/// True if what holds up the one process is worth a place beside what all of them did: it has threads and much of the CPU
/// time, or waits for others at something that is shared.
fn says_much(run: &Run, diagnosis: &Diagnosis, tree: &ProcessTree) -> bool {
    let process = &run.processes[diagnosis.process];
    let mut shared = diagnosis.findings.iter().filter(|finding| finding.object.is_some());
    process.threads.len() > 1 && tree.is_told_by(process)
        || shared.any(|finding| finding.cost.share_of(tree.wall) >= MUCH_OF_RUN)
}

/// A run of many processes of which no single one says much.
fn whole_tree(run: &Run, diagnosis: &Diagnosis, of: &ProcessTree, look: Look) -> Vec<Line> {
    let mut lines = told_tree(run, of, false, look);
    for text in surroundings::first_of_all(run, diagnosis) {
        lines.extend(wrapped(&escape::sentence(&text, look), 0, Ink::Warning, look));
    }
    let one = "holdup report --process PID FILE";
    lines.extend(labelled("one of them", Ink::Faint, vec![Line::default().with(one, Ink::Text)], look));
    lines.extend(surroundings::recorded_by(run, &run.processes[diagnosis.process], look));
    lines.extend(told_warnings(run, None, look));
    lines
}

/// What all processes did together; `short` where what holds one of them up follows.
fn told_tree(run: &Run, of: &ProcessTree, short: bool, look: Look) -> Vec<Line> {
    let mut text = tree::headline(run, of, look).join(" ");
    if let Some(end) = ending(run) {
        text.push_str(&format!(" The command {end}."));
    }
    let mut lines = wrapped(&text, 0, Ink::Strong, look);
    lines.extend(tree::lines(run, of, short, look));
    lines
}

fn nothing_recorded(run: &Run, look: Look) -> Vec<Line> {
    let what = match run.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(file) if !file.is_empty() => format!(" of {}", escape::name(file, look)),
        _ => String::new(),
    };
    let mut text = format!("Nothing was recorded{what}, so nothing can be said about its threads.");
    if let Some(end) = ending(run) {
        text.push_str(&format!(" It {end}."));
    }
    let mut lines = wrapped(&text, 0, Ink::Strong, look);
    let reasons = told_warnings(run, None, look);
    if reasons.is_empty() {
        let way_out = "No reason was recorded. `holdup doctor` says what this machine allows.";
        lines.extend(wrapped(&escape::sentence(way_out, look), 0, Ink::Text, look));
    }
    lines.extend(reasons);
    lines
}

/// `pid 12`, or with others with which the process is reported as one, and why: `pids 12 and 13, which share locks`.
fn pids(process: &Process) -> String {
    const NAMED: usize = 3;
    let shared = || process.objects.iter().filter(|object| object.shared).map(|object| object.kind);
    let why = match (shared().any(|kind| !kind.is_channel()), shared().any(ObjectKind::is_channel)) {
        (true, true) => "share locks and send to each other",
        (true, false) => "share locks",
        (false, true) => "send to each other",
        (false, false) => "were forked from one another",
    };
    match process.joined.as_slice() {
        [] => format!("pid {}", process.pid),
        joined @ [.., last] if joined.len() <= NAMED => {
            let others: String = joined[..joined.len() - 1].iter().map(|pid| format!(", {pid}")).collect();
            format!("pids {}{others} and {last}, which {why}", process.pid)
        }
        joined => {
            format!("pids {} and {} others, which {why}", process.pid, grouped(joined.len() as u64))
        }
    }
}

fn headline(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    let process = &run.processes[diagnosis.process];
    let program = names::program(process, look);
    let many = run.processes.iter().map(|process| 1 + process.joined.len()).sum::<usize>();
    let who = match run.processes.len() {
        0 | 1 if process.joined.is_empty() => program,
        0 | 1 => format!("{program} ({})", pids(process)),
        _ => format!("{program} ({}), the busiest of {} processes,", pids(process), grouped(many as u64)),
    };
    let all = process.threads.len();
    let mut threads = counted(all as u64, "thread", "threads");
    if let Some(at_once) = at_once(diagnosis, all) {
        threads.push_str(&format!(" ({at_once})"));
    }
    let cores = match diagnosis.cores {
        0 => String::new(),
        cores => {
            let quota = match shares::effective_cores(diagnosis) {
                fewer if fewer < cores => format!(" (by quota {} at a time)", grouped(u64::from(fewer))),
                _ => String::new(),
            };
            format!(" on {}{quota}", counted(u64::from(cores), "core", "cores"))
        }
    };
    let mut text = format!("{who} ran {} with {threads}{cores}", time(diagnosis.wall, look));
    if all > 1 {
        text.push_str(&format!(
            "; {} of them were active on average{}{} (efficiency {})",
            figure(diagnosis.parallelism),
            on_cores(diagnosis).unwrap_or_default(),
            without_core(diagnosis).unwrap_or_default(),
            percent(diagnosis.efficiency)
        ));
    }
    text.push('.');
    if let Some(end) = ending(run) {
        text.push_str(&format!(" The command {end}."));
    }
    text
}

/// Of the headline what fits in a line.
fn brief_headline(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    let process = &run.processes[diagnosis.process];
    let mut text = format!("{} ran {}", names::program(process, look), time(diagnosis.wall, look));
    if process.threads.len() > 1 {
        let [active, threads] = [figure(diagnosis.parallelism), grouped(process.threads.len() as u64)];
        text.push_str(&format!(
            ", {active} of {threads} threads active, efficiency {}",
            percent(diagnosis.efficiency)
        ));
    }
    text.push('.');
    if let Some(end) = ending(run) {
        text.push_str(&format!(" The command {end}."));
    }
    text
}

/// The parallelism by CPU time, where that is another one.
fn on_cores(diagnosis: &Diagnosis) -> Option<String> {
    let on_cpu = diagnosis.on_cpu_parallelism?;
    let differs = (diagnosis.parallelism - on_cpu).abs() > SAME_PARALLELISM * diagnosis.parallelism;
    (differs && figure(on_cpu) != figure(diagnosis.parallelism))
        .then(|| format!(", {} on a core", figure(on_cpu)))
}

/// How many of so many threads were at work at once, if not all.
pub(crate) fn at_once(diagnosis: &Diagnosis, all: usize) -> Option<String> {
    match diagnosis.workers as usize {
        _ if diagnosis.one_by_one => Some("one at a time at work".to_owned()),
        workers if workers == all || workers == 0 => None,
        workers => Some(format!("{} at work at once", grouped(workers as u64))),
    }
}

/// How many threads could have run and had no core, where that is a number to speak of.
fn without_core(diagnosis: &Diagnosis) -> Option<String> {
    let without = shares::without_core(diagnosis);
    (without >= WITHOUT_CORE).then(|| format!(", {} without a core", figure(without)))
}

/// How the command ended, where that is worth a word.
pub(crate) fn ending(run: &Run) -> Option<String> {
    match run.exit {
        Some(ExitStatus::Code(0)) => None,
        Some(ExitStatus::Code(code)) => Some(format!("ended with status {code}")),
        Some(ExitStatus::Signal(signal)) => Some(format!("was killed by signal {signal}")),
        None => Some("had not ended when the recording stopped".to_owned()),
    }
}

fn single_thread(process: &Process, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    if process.threads.len() > 1 {
        return Vec::new();
    }
    let active = diagnosis.parallelism.min(1.0);
    let text = format!(
        "It never had a second thread, so no thread can have held up another; its one thread was active {} of the time.",
        percent(active)
    );
    wrapped(&text, 0, Ink::Text, look)
}

/// The honest sentence where there is no finding.
fn no_findings(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    if run.processes[diagnosis.process].threads.len() <= 1 {
        return Vec::new();
    }
    let (verdict, checked) = without_findings(run, diagnosis, look);
    let mut lines = wrapped(&verdict, 0, Ink::Strong, look);
    lines.extend(wrapped(&checked, 0, Ink::Text, look));
    lines
}

/// What is said of a process without findings: the verdict, and what it rests on.
pub(crate) fn without_findings(run: &Run, diagnosis: &Diagnosis, look: Look) -> (String, String) {
    let process = &run.processes[diagnosis.process];
    let of = match diagnosis.workers {
        0 => String::new(),
        workers => format!(" of {workers}"),
    };
    let cores = u64::from(diagnosis.cores);
    let active = figure(diagnosis.on_cpu_parallelism.unwrap_or(f64::MAX).min(diagnosis.parallelism));
    let on = if cores > 0 { format!(", on {}", counted(cores, "core", "cores")) } else { String::new() };
    let good = diagnosis.efficiency >= GOOD_EFFICIENCY;
    let by_others = diagnosis.cost_identity.parts.iter().filter(|(kind, _)| *kind == FindingKind::Load);
    let by_others: Nanos = by_others.map(|(_, cost)| *cost).sum();
    let verdict = if good {
        format!("Nothing holds it up: {active} threads were active on average{of}{on}.")
    } else if diagnosis.efficiency + by_others.share_of(diagnosis.wall) >= GOOD_EFFICIENCY {
        format!(
            "Nothing of its own holds it up: only {active} threads were active on average{of}{on}, since others used the CPUs, which \
             cost {} of the time.",
            percent(by_others.share_of(diagnosis.wall))
        )
    } else {
        format!(
            "No cause was found that is large enough to name, though only {active} threads were active on average{of}{on}; {} of the time has no known cause.",
            percent(diagnosis.cost_identity.unexplained.share_of(diagnosis.wall))
        )
    };
    let verdict = verdict + &alone_at_work(process, diagnosis, look).unwrap_or_default();
    // Of more threads than cores some wait at any time, which costs nothing while the others keep the cores busy.
    let idle = Nanos::new((diagnosis.wall.get() as f64 * (1.0 - diagnosis.efficiency)) as u64);
    let parts = diagnosis.cost_identity.parts.iter().map(|&(kind, cost)| (kind, cost.min(idle)));
    let mut parts: Vec<_> = parts.filter(|(_, cost)| *cost > Nanos::ZERO).collect();
    parts.arrange_by_key(|(kind, cost)| (std::cmp::Reverse(*cost), *kind));
    let losses: Vec<String> = parts
        .iter()
        .take(MOST_LISTED)
        .map(|(kind, cost)| format!("{} {}", kind.word(), percent(cost.share_of(diagnosis.wall))))
        .collect();
    let lost = match (losses.is_empty(), good) {
        (true, _) => "no thread lost time to any of them".to_owned(),
        (false, true) => format!("the largest losses are small: {}", losses.join(", ")),
        (false, false) => format!("the largest losses are {}", losses.join(", ")),
    };
    let (seen, unseen) = surroundings::seen(run, process);
    (verdict, format!("Checked: {seen}; {lost}. Not seen from here: {unseen}."))
}

/// What is said, after the verdict, where one of several threads does all the work, so that no other core is used.
fn alone_at_work(process: &Process, diagnosis: &Diagnosis, look: Look) -> Option<String> {
    let (1, 2.., [thread]) = (diagnosis.workers, diagnosis.cores, diagnosis.working_threads.as_slice())
    else {
        return None;
    };
    let names = names::of(process, Some(&diagnosis.timeline.roles), look);
    Some(format!(
        " All of the work is that of {}: to use more than one of the {} cores, share it out.",
        names.thread_in_full(*thread),
        grouped(u64::from(diagnosis.cores))
    ))
}

fn other_processes(run: &Run, diagnoses: &[Diagnosis], look: Look) -> Vec<Line> {
    let others = &diagnoses[1..];
    let all = run.processes.len().max(diagnoses.len()) - 1;
    let mut lines = Vec::new();
    for (index, diagnosis) in others.iter().take(MOST_LISTED).enumerate() {
        let process = &run.processes[diagnosis.process];
        let mut text = format!(
            "{} (pid {})  {}",
            names::program(process, look),
            process.pid,
            time(diagnosis.wall, look)
        );
        text.push_str(&match process.threads.len() {
            0 => ", not recorded".to_owned(),
            1 => ", 1 thread".to_owned(),
            many => format!(", {} threads, {} active", grouped(many as u64), figure(diagnosis.parallelism)),
        });
        if let Some(finding) = diagnosis.findings.first() {
            text.push_str(&format!("; {} {}", finding.kind.word(), time(finding.cost, look)));
        }
        let label = if index == 0 { "also ran" } else { "" };
        lines.extend(labelled(label, Ink::Faint, vec![Line::default().with(&text, Ink::Text)], look));
    }
    let shown = others.len().min(MOST_LISTED);
    if let Some(more @ 1..) = all.checked_sub(shown) {
        let label = if shown == 0 { "also ran" } else { "" };
        let text = format!("{}{} more", if shown == 0 { "" } else { "and " }, grouped(more as u64));
        lines.extend(labelled(label, Ink::Faint, vec![Line::default().with(&text, Ink::Text)], look));
    }
    lines
}

fn told_warnings(run: &Run, answer: Option<&Diagnosis>, look: Look) -> Vec<Line> {
    let sentences = warnings::told(run, answer);
    let mut lines: Vec<Line> = sentences
        .iter()
        .take(MOST_LISTED)
        .flat_map(|text| {
            let piece = Line::default().with(&escape::sentence(text, look), Ink::Text);
            labelled("warning", Ink::Warning, vec![piece], look)
        })
        .collect();
    if let Some(more @ 1..) = sentences.len().checked_sub(MOST_LISTED) {
        let text = format!("and {}: holdup report FILE --json", counted(more as u64, "more", "more"));
        lines.extend(labelled("warning", Ink::Warning, vec![Line::default().with(&text, Ink::Text)], look));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_reported_as_one_are_named() {
        let of = |joined: &[u32]| pids(&Process { pid: 7, joined: joined.to_vec(), ..Process::default() });
        assert_eq!(of(&[]), "pid 7");
        assert_eq!(of(&[8]), "pids 7 and 8, which were forked from one another");
        assert_eq!(of(&[8, 9]), "pids 7, 8 and 9, which were forked from one another");
        assert_eq!(of(&[8, 9, 10, 11]), "pids 7 and 4 others, which were forked from one another");
        let with = |kinds: &[ObjectKind]| {
            let mut process = Process { pid: 7, joined: vec![8], ..Process::default() };
            for &kind in kinds {
                let object = process.add_object(kind, 0);
                process.objects[object.index()].shared = true;
            }
            process.add_object(ObjectKind::Messages, 1);
            pids(&process)
        };
        assert_eq!(with(&[ObjectKind::Semaphore]), "pids 7 and 8, which share locks");
        assert_eq!(with(&[ObjectKind::Room]), "pids 7 and 8, which send to each other");
        let both = [ObjectKind::Messages, ObjectKind::Semaphore];
        assert_eq!(with(&both), "pids 7 and 8, which share locks and send to each other");
    }
}
