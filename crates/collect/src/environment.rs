//! What surrounds the recorded program: limits of its control groups, its affinity, the machine's cores, other load.
//!
//! [`Watch::begin`] reads what does not change and the counters that grow; [`Watch::look`], to be called as often as
//! is convenient, looks at the processes every now and then; [`Watch::facts`] gives what was seen, with the growth
//! of the counters since the beginning. Everything is read below a root directory, which is `/` outside of tests.
//! No file that is read can block, and how many are read is bounded; what is missing stays unknown.

mod groups;
mod load;
mod processes;
mod processors;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdup_model::{CpuSet, Environment, Nanos, Placement};

use crate::files::Files;
use crate::machine::page_fault_ns;
use groups::Groups;
use load::Counters;
use processes::Seen;

/// More processes than this are not looked at.
const MOST_PROCESSES: usize = 16;
/// When it is looked again, after the first time: a program that pins its threads does so soon after its start.
const EARLY: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(200),
    Duration::from_millis(700),
];
/// How often it is looked after that.
const INTERVAL: Duration = Duration::from_secs(1);
/// A look that takes long is followed by a pause of so many times its length: looking takes no more than 1 % of a CPU.
const PAUSE: u32 = 100;

/// Watches the surroundings of a recorded program.
pub(crate) struct Watch {
    root: PathBuf,
    began: Instant,
    fixed: Environment,
    first: Counters,
    groups: Groups,
    seen: Vec<Seen>,
    looks: usize,
    next: Instant,
    /// What was known when it was stopped.
    last: Option<Environment>,
}

impl Watch {
    /// Begins before the program does.
    pub(crate) fn begin(root: &Path) -> Watch {
        let files = Files::below(root);
        let now = Instant::now();
        Watch {
            root: root.to_owned(),
            began: now,
            fixed: processors::fixed(&files),
            first: Counters::read(&files),
            groups: Groups::new(&files),
            seen: Vec::new(),
            looks: 0,
            next: now,
            last: None,
        }
    }

    /// Begins again: what is to be told of begins now. Processes keep what was seen of them.
    pub(crate) fn begin_again(&mut self) {
        let files = Files::below(&self.root);
        self.began = Instant::now();
        self.first = Counters::read(&files);
        self.groups.begin_again(&files);
        for process in &mut self.seen {
            process.begin_again(&files);
        }
    }

    /// What is to be told of ends now: nothing is looked at any more.
    pub(crate) fn stop(&mut self) {
        if self.last.is_none() {
            self.last = Some(self.facts());
        }
    }

    /// Looks at these processes, the first of which is the one that was started or attached to, if it is time to.
    pub(crate) fn look(&mut self, pids: impl IntoIterator<Item = u32>) {
        let now = Instant::now();
        if now < self.next || self.last.is_some() {
            return;
        }
        let pause = EARLY.get(self.looks).copied().unwrap_or(INTERVAL);
        self.look_now(pids);
        self.next = now + pause.max(now.elapsed() * PAUSE);
    }

    /// How long it is until the next look; `None` where there will be none.
    pub(crate) fn next_look(&self) -> Option<Duration> {
        self.last.is_none().then(|| self.next.saturating_duration_since(Instant::now()))
    }

    fn look_now(&mut self, pids: impl IntoIterator<Item = u32>) {
        let files = Files::below(&self.root);
        // Reading where memory lies walks through all of it: at the first look after 1, 2, 4, 8… of them.
        let reads_memory = self.fixed.nodes.len() > 1 && self.looks.is_power_of_two();
        self.looks += 1;
        for pid in pids {
            let known = self.seen.iter().position(|seen| seen.pid == pid);
            let index = match known {
                Some(index) => index,
                None if self.seen.len() == MOST_PROCESSES => continue,
                None => {
                    self.seen.push(Seen::new(pid, self.seen.is_empty(), &files));
                    self.seen.len() - 1
                }
            };
            self.seen[index].look(&files, &self.fixed.online, &mut self.groups, reads_memory);
        }
        self.groups.read(&files);
    }

    /// All that is known so far. To be called for the last time when the program has ended and was waited for.
    pub(crate) fn facts(&mut self) -> Environment {
        if let Some(facts) = &self.last {
            return facts.clone();
        }
        let files = Files::below(&self.root);
        self.groups.read(&files);
        let last = Counters::read(&files);
        let mut facts = self.fixed.clone();
        facts.placements =
            self.seen.iter().map(|seen| seen.placement(&self.groups, &self.fixed.online)).collect();
        let cpus = match facts.placements.first() {
            Some(placement) if !placement.allowed.is_empty() => placement.allowed.clone(),
            _ => facts.online.clone(),
        };
        let live = processes::cpu_time(&self.seen, &files);
        let comes_again = |placement: &Placement| placement.usage.is_some_and(|usage| usage.comes_again());
        if self.root == Path::new("/") && facts.placements.iter().any(comes_again) {
            facts.page_fault = page_fault_ns().map(Nanos::new);
        }
        facts.load = load::between(&self.first, &last, &cpus, self.began.elapsed(), live);
        facts.swapped = load::swapped(&self.first, &last);
        facts.pressure = load::pressure(&self.first, &last);
        facts.thermal_throttles = load::thermal_throttles(&self.first, &last, &cpus);
        facts
    }
}

/// The CPUs of a kernel list that are there; all of them where it is not known which are.
fn usable(list: &str, online: &CpuSet) -> Option<CpuSet> {
    let cpus = CpuSet::parse(list)?;
    Some(if online.is_empty() { cpus } else { cpus.intersection(online) })
}

#[cfg(test)]
mod tests;
