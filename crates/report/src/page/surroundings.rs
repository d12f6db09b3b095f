//! The environment, and how the run was recorded: what limits there were, and how far to trust the numbers.

use askama::Template;
use holdup_model::{CpuSet, Nanos};

use super::text::{LOOK, Told, counted, grouped, percent, percent_range, sentence, time};
use crate::{escape, shares, surroundings, warnings};

/// At most so many kinds of cores, limits of speed or quotas are told.
const MOST: usize = 4;

/// A name and what is known of it.
type Fact = (&'static str, String);

/// What the machine and its limits gave.
#[derive(Template)]
#[template(path = "environment.html")]
pub(super) struct Environment {
    facts: Vec<Fact>,
    findings: Vec<(usize, String, String)>,
    notes: Vec<(String, String)>,
    clear: bool,
}

impl Environment {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let diagnosis = told.diagnosis;
        let findings: Vec<_> = (diagnosis.findings.iter().enumerate())
            .filter(|(_, finding)| surroundings::is_outside(finding.kind))
            .map(|(index, finding)| (index + 1, sentence(&finding.what), time(finding.cost)))
            .collect();
        let notes: Vec<_> =
            diagnosis.environment.iter().map(|note| (sentence(&note.what), sentence(&note.hint))).collect();
        let was_looked_at = !told.run.environment.placements.is_empty();
        Self {
            facts: environment_facts(told),
            clear: findings.is_empty() && notes.is_empty() && was_looked_at,
            findings,
            notes,
        }
    }
}

fn environment_facts(told: &Told<'_>) -> Vec<Fact> {
    let environment = &told.run.environment;
    let mut facts: Vec<Fact> = Vec::new();
    let cpus = |set: &CpuSet| format!("{} ({set})", counted(set.len(), "CPU", "CPUs"));
    if !environment.online.is_empty() {
        facts.push(("Machine", cpus(&environment.online)));
    }
    if let Some(placement) = environment.placement(told.process.pid) {
        if !placement.allowed.is_empty() {
            facts.push(("Allowed to use", cpus(&placement.allowed)));
        }
        for quota in placement.quotas.iter().take(MOST) {
            let mut text = format!(
                "{} CPUs ({} in each {})",
                crate::numbers::figure(quota.cpus()),
                time(quota.time),
                time(quota.period)
            );
            if let Some(throttling) = quota.throttling {
                text.push_str(&format!(
                    "; used up in {} of {} periods",
                    grouped(throttling.throttled),
                    grouped(throttling.periods)
                ));
            }
            facts.push(("Quota", format!("{text}, {}", escape::name(&quota.group, LOOK))));
        }
        if placement.pins.len() > 1 {
            facts.push(("Threads pinned", counted(placement.pins.len(), "set of CPUs", "sets of CPUs")));
        }
        if let Some(hits @ 1..) = placement.memory_limit_hits {
            facts.push(("Memory limit reached", format!("{} times", grouped(hits))));
        }
    }
    for kind in environment.kinds.iter().take(MOST) {
        facts.push(("Cores", format!("{}: {}", escape::name(&kind.name, LOOK), cpus(&kind.cpus))));
    }
    if !environment.shared_cores.is_empty() {
        let cores = counted(environment.shared_cores.len(), "core", "cores");
        facts.push(("SMT", format!("{cores} with more than one CPU each")));
    }
    for range in environment.frequencies.iter().take(MOST) {
        let ghz = |khz: u64| format!("{:.2}\u{a0}GHz", khz as f64 / 1e6);
        let governor = match range.governor.as_str() {
            "" => String::new(),
            governor => format!(", governor {}", escape::name(governor, LOOK)),
        };
        let limit = format!("up to {} of {}", ghz(range.limit_khz), ghz(range.highest_khz));
        facts.push(("Frequency", format!("{limit}{governor} ({})", range.cpus)));
    }
    if environment.nodes.len() > 1 {
        facts.push(("Memory nodes", grouped(environment.nodes.len() as u64)));
    }
    if let Some(load) = environment.load {
        let all = load.busy + load.idle + load.stolen;
        let share = |part: Nanos| percent(part.share_of(all));
        facts.push((
            "Who used the CPUs",
            format!(
                "the program {}, holdup {}, others {}, nobody {}",
                share(load.program),
                share(load.recorder),
                share(load.others()),
                share(load.idle)
            ),
        ));
    }
    if let Some(pressure) = environment.pressure {
        facts.push(("Waiting for a CPU", format!("{} (some thread of the machine)", time(pressure))));
    }
    facts.push((
        "Active threads had a core",
        match shares::on_core(told.diagnosis) {
            Some(share) => format!("{} of the time", percent(share)),
            None => "not known: neither CPU times nor context switches were recorded".to_owned(),
        },
    ));
    facts
}

/// What saw the run, and what that cost.
#[derive(Template)]
#[template(path = "recorded.html")]
pub(super) struct Recorded {
    facts: Vec<Fact>,
    seen: String,
    unseen: String,
    warnings: Vec<String>,
}

impl Recorded {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let Told { run, process, diagnosis, .. } = *told;
        let (seen, unseen) = surroundings::seen(run, process);
        let cost = match run.cost_range() {
            Some(cost) => format!("{} of the program’s CPU time", percent_range(cost.least, cost.most)),
            None => "not measured".to_owned(),
        };
        let lost = warnings::lost(run);
        let lost = match lost.all() {
            0 => "none".to_owned(),
            events => format!("{}; see the warnings", grouped(events)),
        };
        let (broken, stacks) = shares::broken_stacks(process);
        let mut facts: Vec<Fact> = vec![
            ("Collectors", surroundings::collectors(run, process, LOOK)),
            ("Active means", diagnosis.active_means.to_owned()),
            ("Recording cost", cost),
            ("Lost events", lost),
            ("Clock", sentence(&run.clock)),
            (
                "Call stacks",
                format!(
                    "{}, {} broken",
                    counted(stacks, "distinct one", "distinct ones"),
                    grouped(broken as u64)
                ),
            ),
            (
                "Events",
                format!(
                    "{}, {}, {}, {}",
                    counted(process.waits.len(), "wait", "waits"),
                    counted(process.holds.len(), "hold", "holds"),
                    counted(process.wakes.len(), "wake", "wakes"),
                    counted(process.blocks.len(), "blocking call", "blocking calls")
                ),
            ),
        ];
        facts.retain(|(_, text)| !text.is_empty());
        Self {
            facts,
            seen,
            unseen,
            warnings: warnings::sentences(run).iter().map(|warning| sentence(warning)).collect(),
        }
    }
}
