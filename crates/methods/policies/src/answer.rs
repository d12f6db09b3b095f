//! What policies give, as an answer: the table of policies (paper 4, Figs. 9 and 10), the criticality stack, single threads
//! accelerated (Fig. 4), and the sweep of a frequency (Figs. 6 and 7).

use std::collections::BTreeSet;

use holdup_answer::{Answer, Block, KeyFigure, Section, Table};
use holdup_model::figures::{counted, factor, grouped, percent};
use holdup_model::{Nanos, Stack, StackComponent, Unit};

use crate::{
    Better, Kind, PAPER_SLICE_NS, Policies, PolicyRun, PolicyThread, ProgramPolicies, Sweep, mean_energy,
    mean_gain, paper_means,
};

/// At most so many threads of a program are in its table.
const MOST_THREADS: usize = 8;

/// Policies beside which a row of all programs has a gain.
const COMPARED: [&str; 6] = ["all", "offline", "single", "tcp", "bis", "dynamic"];

/// Colours of threads beside each other, by turns.
const THREADS: [&str; 4] = ["act", "act2", "hold", "wake"];

/// What a joule went to: its colour, and what it is called.
const ENERGIES: [(&str, &str); 4] = [
    ("act", "what cores switch"),
    ("sleep", "what leaks through them"),
    ("io", "what they share"),
    ("mem", "memory"),
];

impl Policies {
    /// What they give, as an answer.
    pub fn answer(&self) -> Answer {
        let only = match self.programs.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        let means = means(self);
        let headline = match only {
            Some(only) => answer(only),
            None if means.is_empty() => "Nothing was simulated.".to_owned(),
            None => means.join(" "),
        };
        let together = (self.programs.len() > 1).then(|| together(&self.programs));
        Answer {
            command: "holdup policies",
            subject: self.programs.first().map_or_else(String::new, |program| program.name.clone()),
            headline,
            program: only.map(|program| program.command.clone()).unwrap_or_default(),
            figures: only.map(figures).unwrap_or_default(),
            warnings: Vec::new(),
            sections: together.into_iter().chain(self.programs.iter().map(|of| self.section(of))).collect(),
            notes: notes(self),
        }
    }

    fn section(&self, of: &ProgramPolicies) -> Section {
        let is_only = self.programs.len() == 1;
        let mut blocks = vec![runs(of)];
        if of.runs.iter().any(|run| run.energy.is_some()) {
            blocks.push(Block::Key(ENERGIES.map(|(color, name)| (color, name.to_owned())).to_vec()));
        }
        blocks.push(Block::Heading("Which thread is critical".to_owned()));
        blocks.push(Block::Bar {
            label: "Criticality of each thread".to_owned(),
            stack: criticality(of, of.threads.iter().map(|thread| thread.criticality)),
        });
        blocks.push(threads(of));
        blocks.extend(validation(of));
        blocks.extend(of.sweep.iter().flat_map(|sweep| swept(of, sweep)));
        blocks.extend(unit(of).map(Block::Text));
        Section {
            heading: of.name.clone(),
            aside: setting(of, self),
            lead: (!is_only).then(|| answer(of)).into_iter().chain(dividing(of)).collect(),
            blocks,
        }
    }
}

fn figures(of: &ProgramPolicies) -> Vec<KeyFigure> {
    let energy = |policy| of.energy(policy).map(|energy| energy - 1.0);
    [
        ("Dynamic gives", of.gain("dynamic")),
        ("Offline gives", of.gain("offline")),
        ("All fast gives", of.gain("all")),
        ("Energy, dynamic", energy("dynamic")),
        ("Energy, all fast", energy("all")),
    ]
    .into_iter()
    .filter_map(|(name, share)| Some(KeyFigure { name, value: gain(share?) }))
    .collect()
}

/// All programs beside each other.
fn together(programs: &[ProgramPolicies]) -> Section {
    let of_energy = |of: &ProgramPolicies, policy| {
        of.energy(policy).map_or_else(String::new, |energy| gain(energy - 1.0))
    };
    let mut faster = Table::of("What each policy gains", programs).words("faster", |of| of.name.clone());
    let mut energy =
        Table::of("What each policy takes in energy", programs).words("energy", |of| of.name.clone());
    for policy in COMPARED {
        faster = faster.numbers(policy, |of| of.gain(policy).map_or_else(String::new, gain));
        energy = energy.numbers(policy, |of| of_energy(of, policy));
    }
    let has_energy = programs.iter().any(|program| program.energy("dynamic").is_some());
    Section {
        heading: "All programs".to_owned(),
        aside: "how much faster than with nobody fast, and for how much more energy".to_owned(),
        lead: Vec::new(),
        blocks: [faster.block()].into_iter().chain(has_energy.then(|| energy.block())).collect(),
    }
}

/// The table of policies.
fn runs(of: &ProgramPolicies) -> Block {
    let (none, all) = (of.run("none"), of.run("all"));
    let ratio = |number: Option<f64>| number.map_or_else(String::new, factor);
    let longest = of.runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let most = of.runs.iter().filter_map(|run| run.energy).map(|energy| energy.joules()).fold(0.0, f64::max);
    Table::of("Policies", &of.runs)
        .words("policy", |run| run.policy.clone())
        .numbers("time", |run| nanos(run.seconds * 1e9))
        .numbers("faster", |run| none.map_or_else(String::new, |none| gain(run.speedup_over(none) - 1.0)))
        .numbers("energy", |run| ratio(none.and_then(|none| run.energy_over(none))))
        .numbers("energy × delay", |run| ratio(none.and_then(|none| run.delay_product_over(none))))
        .numbers("against all fast", |run| ratio(all.and_then(|all| run.delay_product_over(all))))
        .if_there_is_room()
        .words("who is fast", who)
        .if_there_is_room()
        .shares("its time", "act", |run| if longest > 0.0 { run.seconds / longest } else { 0.0 })
        .stacks("its energy", |run| {
            let energy = run.energy?;
            let joules = [energy.dynamic, energy.leaked, energy.uncore, energy.memory];
            let parts = ENERGIES.into_iter().zip(joules);
            let parts = parts.map(|((color, name), joules)| StackComponent::new(name, name, color, joules));
            Some(Stack::of(Unit::Joules, parts.collect())).filter(|_| most > 0.0)
        })
        .block()
}

/// A criticality stack.
fn criticality(of: &ProgramPolicies, shares: impl IntoIterator<Item = f64>) -> Stack {
    let part = |(index, share): (usize, f64)| {
        let number = of.threads.get(index).map_or(index as u32, |thread| thread.number);
        let name = format!("thread {number}");
        StackComponent::new(name.clone(), name, THREADS[index % THREADS.len()], share)
    };
    Stack::of_total(1.0, Unit::Share, shares.into_iter().enumerate().map(part).collect())
}

/// Which thread to accelerate: the most critical ones, and those that gain most.
fn threads(of: &ProgramPolicies) -> Block {
    let mut rows: Vec<&PolicyThread> = of.by_criticality().into_iter().take(MOST_THREADS).collect();
    for best in [of.predicted_best(), of.simulated_best()].into_iter().flatten() {
        if !rows.iter().any(|thread| thread.number == best.number) {
            rows.push(best);
        }
    }
    Table::of("Threads", &rows)
        .numbers("thread", |thread| thread.number.to_string())
        .numbers("critical", |thread| percent(thread.criticality))
        .numbers("without memory", |thread| percent(thread.scaling))
        .numbers("alone", |thread| percent(thread.alone))
        .numbers("predicted if fast", |thread| gain(thread.predicted - 1.0))
        .numbers("simulated", |thread| {
            thread.simulated.map_or_else(String::new, |speedup| gain(speedup - 1.0))
        })
        .block()
}

/// The most critical threads, accelerated one by one (Fig. 4b).
fn validation(of: &ProgramPolicies) -> Vec<Block> {
    let Some(first) = of.validation.first() else { return Vec::new() };
    let critical = |number: u32| of.threads.iter().find(|thread| thread.number == number);
    let table = Table::of("Threads accelerated one by one", &of.validation)
        .numbers("thread", |run| run.thread.to_string())
        .numbers("critical", |run| {
            critical(run.thread).map_or_else(String::new, |thread| percent(thread.criticality))
        })
        .numbers(format!("faster at {}", gigahertz(first.frequency)), |run| gain(run.speedup - 1.0));
    vec![
        Block::Heading("The most critical threads, accelerated one by one".to_owned()),
        Block::Text(validated(of)),
        table.block(),
    ]
}

/// A thread at several frequencies, with the stack after each (Figs. 6 and 7).
fn swept(of: &ProgramPolicies, sweep: &Sweep) -> Vec<Block> {
    let threads = sweep.points.iter().map(|point| point.criticality.len()).max().unwrap_or(0);
    let mut table = Table::of("Criticality at each frequency", &sweep.points)
        .numbers("GHz", |point| format!("{}", (point.frequency * 1000.0).round() / 1000.0))
        .numbers("faster", |point| gain(point.speedup - 1.0));
    for thread in 0..threads {
        let title = if thread == 0 { "% critical: 0".to_owned() } else { thread.to_string() };
        table = table
            .numbers(title, |point| {
                let share = point.criticality.get(thread);
                share.map_or_else(String::new, |share| format!("{:.0}", share * 100.0))
            })
            .if_there_is_room();
    }
    let bars = table.stacks("criticality of each thread", |point| {
        Some(criticality(of, point.criticality.iter().copied()))
    });
    vec![
        Block::Heading(format!("Thread {} at other frequencies", sweep.thread)),
        Block::Text(kind(sweep)),
        bars.block(),
    ]
}

/// A program does alone what is worth dividing from this share of its time on.
const WORTH_DIVIDING: f64 = 0.05;

/// A change as a share, with its sign: `+4.6 %`.
fn gain(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    if rounded == 0.0 { "0.0 %".to_owned() } else { format!("{rounded:+.1} %") }
}

/// A change of an amount as a share, in words: `2.0 % less`, `as much`.
fn more_or_less(share: f64) -> String {
    match gain(share).split_at(1) {
        ("+", amount) => format!("{amount} more"),
        ("-", amount) => format!("{amount} less"),
        _ => "as much".to_owned(),
    }
}

/// A frequency: `2 GHz`, `2.25 GHz`.
fn gigahertz(frequency: f64) -> String {
    format!("{} GHz", (frequency * 1000.0).round() / 1000.0)
}

/// A length of time in nanoseconds.
fn nanos(nanoseconds: f64) -> String {
    Nanos::new(nanoseconds.max(0.0).round() as u64).to_string()
}

/// Who a policy makes fast.
fn who(run: &PolicyRun) -> String {
    let numbers = run.chosen.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match run.policy.as_str() {
        "none" => "nobody".to_owned(),
        "all" => "all cores".to_owned(),
        "offline" if run.chosen.len() == 1 => format!("thread {numbers}, the most critical"),
        "offline" => format!("threads {numbers}, the most critical"),
        "single" if run.chosen.is_empty() => "nobody: no single thread helps".to_owned(),
        "single" => format!("thread {numbers}, the best by trying each"),
        "tcp" => "who missed caches most in the slice before".to_owned(),
        "bis" => "who holds what most wait for".to_owned(),
        "dynamic" => "the most critical of the slice before".to_owned(),
        other => other.to_owned(),
    }
}

/// What it was simulated on.
fn setting(of: &ProgramPolicies, all: &Policies) -> String {
    let slice = nanos(of.slice_ns);
    let base = of.run("none").map_or_else(String::new, |run| nanos(run.seconds * 1e9));
    let paper = match of.slice_ns.total_cmp(&PAPER_SLICE_NS) {
        std::cmp::Ordering::Equal => ", as in the paper".to_owned(),
        _ => {
            format!(" where the paper has {}: program and slice are smaller together", nanos(PAPER_SLICE_NS))
        }
    };
    format!(
        "{} on {} of {} ({}; fast is {}): {base}; slices of {slice}{paper}.",
        counted(u64::from(of.working), "thread", "threads"),
        counted(u64::from(of.cores), "core", "cores"),
        all.machine,
        gigahertz(all.frequency),
        gigahertz(all.fast),
    )
}

/// What the table says, in a sentence or two.
fn answer(of: &ProgramPolicies) -> String {
    let Some(critical) = of.most_critical() else { return "No thread did anything.".to_owned() };
    let share = percent(critical.criticality);
    let mut said = match of.stands_out() {
        true => format!("Thread {} is the most critical one ({share} of the time).", critical.number),
        false => format!(
            "No thread stands out: the most critical one, {}, is so for {share} of the time.",
            critical.number
        ),
    };
    match (of.better(), of.simulated_best()) {
        (Some(why), Some(best)) => {
            let because = match why {
                Better::Memory => {
                    format!("it waits for memory in {} of that", percent(critical.memory()))
                }
                Better::Hidden => "others run as long beside it".to_owned(),
            };
            let predicted = of.predicted_best().is_some_and(|found| of.is_best(found));
            let named = if predicted { ", as predicted" } else { ", which was not predicted" };
            said.push_str(&format!(
                " But {because}: thread {} is the better one to make fast{named} ({} instead of {}).",
                best.number,
                gain(best.simulated.unwrap_or(1.0) - 1.0),
                gain(critical.simulated.unwrap_or(1.0) - 1.0),
            ));
        }
        _ => said.push_str(&format!(
            " Making it fast for the whole run gives {}.",
            gain(of.gain("offline").unwrap_or(0.0))
        )),
    }
    let dynamic = of.gain("dynamic").unwrap_or(0.0);
    said.push_str(&format!(" Deciding anew in each slice (dynamic) gives {}", gain(dynamic)));
    if let Some(energy) = of.energy("dynamic") {
        said.push_str(&format!(" for {} energy", more_or_less(energy - 1.0)));
        if let Some(all) = of.energy("all") {
            said.push_str(&format!("; with all fast it is {}", more_or_less(all - 1.0)));
        }
    }
    said.push('.');
    said
}

/// What dividing the work would give that a thread does alone (the paper's first use case).
fn dividing(of: &ProgramPolicies) -> Option<String> {
    let alone = of.threads.iter().max_by(|one, other| one.alone.total_cmp(&other.alone))?;
    (alone.alone >= WORTH_DIVIDING).then(|| {
        format!(
            "Thread {} works while all others wait for {} of the time. If that were divided among all {} threads, the \
             program would be {} times as fast.",
            alone.number,
            percent(alone.alone),
            of.working,
            factor(of.divided(alone))
        )
    })
}

/// What kind of criticality a sweep shows (section 5.3).
fn kind(sweep: &Sweep) -> String {
    let thread = sweep.thread;
    match sweep.kind() {
        Kind::None => format!("Thread {thread}'s speed changes next to nothing: no thread is critical."),
        Kind::InterThread(knee) => format!(
            "Inter-thread criticality: others wait for thread {thread} until it is as fast as they need; above about {} \
             nothing is gained.",
            gigahertz(knee)
        ),
        Kind::Sequential => format!(
            "Sequential criticality: thread {thread} works while nobody else does, so that each step is worth as much as the one before."
        ),
        Kind::Mixed(knee) => format!(
            "Both kinds: up to about {} others wait for thread {thread}, above it only what it does alone becomes shorter.",
            gigahertz(knee)
        ),
    }
}

/// Whether the validation bears criticality out.
fn validated(of: &ProgramPolicies) -> String {
    let Some(first) = of.validation.first() else { return String::new() };
    let best = of.validation.iter().max_by(|one, other| one.speedup.total_cmp(&other.speedup));
    match best {
        Some(best) if best.speedup - 1.0 < 0.03 => {
            "No single thread makes the program 3 % faster: there is none to accelerate.".to_owned()
        }
        Some(best) if best.thread == first.thread || best.speedup - first.speedup < 0.005 => {
            "The most critical thread is the best one to accelerate.".to_owned()
        }
        Some(best) => {
            format!("Thread {} gains more than the most critical one, {}.", best.thread, first.thread)
        }
        None => String::new(),
    }
}

/// The numbers of threads that there are means for, and sentences about them.
fn means(all: &Policies) -> Vec<String> {
    let numbers: BTreeSet<u32> = all.programs.iter().map(|program| program.working).collect();
    numbers.into_iter().filter_map(|number| mean(all, number)).collect()
}

fn mean(all: &Policies, working: u32) -> Option<String> {
    let programs: Vec<&ProgramPolicies> =
        all.programs.iter().filter(|program| program.working == working).collect();
    let [dynamic, bis, offline] = ["dynamic", "bis", "offline"]
        .map(|policy| mean_gain(programs.iter().copied(), policy).unwrap_or(0.0));
    let energy = |policy| mean_energy(programs.iter().copied(), policy);
    let mut line = format!(
        "{} with {working} threads: dynamic {}, BIS {}, offline {}",
        counted(programs.len() as u64, "program", "programs"),
        gain(dynamic),
        gain(bis),
        gain(offline)
    );
    if let (Some(dynamic), Some(all)) = (energy("dynamic"), energy("all")) {
        line.push_str(&format!("; energy {}, with all fast {}", gain(dynamic - 1.0), gain(all - 1.0)));
    }
    line.push('.');
    if let Some(paper) = paper_means(working) {
        line.push_str(&format!(
            " The paper, over its programs: dynamic {}, BIS {}; energy {}, with all fast {}.",
            gain(paper.dynamic),
            gain(paper.bis),
            gain(paper.dynamic_energy - 1.0),
            gain(paper.all_energy - 1.0)
        ));
    }
    Some(line)
}

/// What the unit that computes criticality did under the dynamic policy (section 3.2).
fn unit(of: &ProgramPolicies) -> Option<String> {
    let run = of.run("dynamic").filter(|run| run.updates.0 > 0 && run.slices > 0)?;
    Some(format!(
        "Criticality was updated {} times, {} times a slice; divisions and additions took {} mW.",
        grouped(run.updates.0),
        grouped(run.updates.0 / run.slices),
        figure(run.unit_milliwatts())
    ))
}

fn figure(value: f64) -> String {
    if value < 0.0995 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// Every sentence behind the tables.
fn notes(all: &Policies) -> Vec<String> {
    let mut notes: Vec<String> = all.warnings.clone();
    if !all.has_energy {
        notes.push(format!(
            "The machine {} has no constants for energies ([energy] in its file).",
            all.machine
        ));
    }
    for program in &all.programs {
        for warning in &program.warnings {
            let said = format!("{}: {warning}", program.name);
            if !notes.contains(&said) {
                notes.push(said);
            }
        }
    }
    notes
}
