//! Helping one thread of a program at a time, and taking it back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use holdup_pirate::{FULLY_UTILIZED, Undo};

use crate::hand::Hand;
use crate::means::{Means, Tool};

/// Told what undoes a change before it is made; if it refuses, the change is not made.
pub type Register<'a> = Box<dyn FnMut(Undo) -> io::Result<()> + 'a>;

/// What a program had when it began: what its threads get back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its process.
    pub process: u32,
    /// The CPUs that it may use.
    pub cpus: Vec<u32>,
    /// Its nice value.
    pub nice: i32,
    /// For how busy it is taken at least: see [`Hand::least_utilization`].
    pub utilization: u32,
}

impl Program {
    /// Looks at its first thread.
    ///
    /// # Errors
    /// If it is gone.
    pub fn look(hand: &dyn Hand, process: u32) -> io::Result<Program> {
        let utilization = hand.least_utilization(process).unwrap_or(0);
        Ok(Program { process, cpus: hand.cpus(process)?, nice: hand.nice(process)?, utilization })
    }
}

/// A thread that is to be helped.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its kernel id.
    pub thread: u32,
    /// Those of all threads of the process.
    pub all: &'a [u32],
    /// Whether it is active at the moment, and there are too many active threads for a CPU each.
    pub is_crowded: bool,
}

/// Does what helps one thread. Threads whose CPUs or nice value the program has chosen itself are not touched.
pub struct Helper<'a> {
    hand: &'a dyn Hand,
    register: Register<'a>,
    program: Program,
    means: Means,
    /// What has been registered.
    registered: BTreeSet<String>,
    thread: Option<u32>,
    is_favoured: bool,
    /// The CPU that the thread has for itself.
    core: Option<u32>,
    has_best: bool,
    /// Threads that are kept off it.
    confined: BTreeSet<u32>,
    /// The file of the CPU whose frequency has a floor, and what was in it.
    floor: Option<(u32, PathBuf, String)>,
    floors_before: BTreeMap<u32, String>,
    /// Whether the thread is taken for one that is always busy.
    is_busy: bool,
    /// Threads that have been looked at for what they inherited, or chose.
    known: BTreeSet<u32>,
    /// All sets of CPUs that threads were given.
    given: Vec<Vec<u32>>,
    used: BTreeSet<Tool>,
    trouble: Option<String>,
}

impl<'a> Helper<'a> {
    /// Nobody is helped yet.
    pub fn new(hand: &'a dyn Hand, program: Program, means: Means, register: Register<'a>) -> Helper<'a> {
        Helper {
            hand,
            register,
            program,
            means,
            registered: BTreeSet::new(),
            thread: None,
            is_favoured: false,
            core: None,
            has_best: false,
            confined: BTreeSet::new(),
            floor: None,
            floors_before: BTreeMap::new(),
            is_busy: false,
            known: BTreeSet::new(),
            given: Vec::new(),
            used: BTreeSet::new(),
            trouble: None,
        }
    }

    /// What has helped so far.
    pub fn used(&self) -> &BTreeSet<Tool> {
        &self.used
    }

    /// What the system refused first.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether a helped thread gets a CPU for itself while it is active.
    pub fn gives_cores(&self) -> bool {
        self.means.own_core && self.means.favoured.is_none()
    }

    /// Whether one is helped in that way: then it is to be looked often whether it is active.
    pub fn minds_a_core(&self) -> bool {
        self.thread.is_some() && self.gives_cores()
    }

    /// Whether it has a CPU for itself now.
    pub fn has_a_core(&self) -> bool {
        self.core.is_some()
    }

    /// Looks at threads that are new: what they have inherited from one that was helped, or kept off its CPU, is taken back,
    /// and if one has chosen CPUs for itself, no thread of this program is given any.
    pub fn meet(&mut self, all: &[u32]) {
        for &thread in all {
            if !self.known.insert(thread) {
                continue;
            }
            if self.used.contains(&Tool::Priority) && !(self.is_favoured && self.thread == Some(thread)) {
                self.unfavours(thread);
            }
            if self.is_busy && self.thread != Some(thread) {
                self.counts_as_before(thread);
            }
            if !self.means.own_core && self.means.cores.best.is_empty() {
                continue;
            }
            let Ok(found) = self.hand.cpus(thread) else { continue };
            if self.given.contains(&found) {
                self.frees(thread, &found);
            } else if found != self.program.cpus {
                self.takes_the_cpus_back();
                self.means.own_core = false;
                self.means.cores.best.clear();
            }
        }
        if self.known.len() > 2 * all.len() + 64 {
            self.known.retain(|thread| all.contains(thread));
        }
    }

    /// Helps this thread from now on, and no other.
    pub fn help(&mut self, wanted: &Wanted<'_>) {
        self.meet(wanted.all);
        if self.thread != Some(wanted.thread) {
            self.release();
            self.thread = Some(wanted.thread);
        }
        if self.means.favoured.is_some() {
            self.favours(wanted);
        } else if self.gives_cores() {
            if wanted.is_crowded { self.gives_a_core(wanted) } else { self.takes_the_core_back() }
        }
        if self.core.is_none() && !self.has_best && !self.means.cores.best.is_empty() {
            let best = self.means.cores.best.clone();
            self.has_best = self.confine(wanted.thread, &best);
            if self.has_best {
                self.used.insert(Tool::BestCores);
            }
        }
        if !self.means.floors.is_empty() {
            self.raises_the_floor(wanted.thread);
        }
        if self.means.clamps {
            self.counts_as_busy(wanted.thread);
        }
    }

    /// Nobody is helped any more, and all is as it was.
    pub fn release(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if std::mem::take(&mut self.is_favoured) {
            self.unfavours(thread);
        }
        if std::mem::take(&mut self.is_busy) {
            self.counts_as_before(thread);
        }
        self.thread = Some(thread);
        self.takes_the_cpus_back();
        self.thread = None;
        self.lowers_the_floor();
    }

    fn takes_the_cpus_back(&mut self) {
        self.takes_the_core_back();
        if std::mem::take(&mut self.has_best)
            && let Some(thread) = self.thread
        {
            let best = self.means.cores.best.clone();
            self.frees(thread, &best);
        }
    }

    fn registers(&mut self, undo: Undo) -> bool {
        let line = undo.line();
        if self.registered.contains(&line) {
            return true;
        }
        match (self.register)(undo) {
            Ok(()) => self.registered.insert(line),
            Err(error) => {
                self.refused("the guardian", &error);
                false
            }
        }
    }

    /// A thread that is gone is no trouble.
    fn refused(&mut self, what: &str, error: &io::Error) {
        const NO_SUCH_PROCESS: i32 = 3;
        if error.raw_os_error() != Some(NO_SUCH_PROCESS) && error.kind() != io::ErrorKind::NotFound {
            self.trouble.get_or_insert_with(|| format!("{what}: {error}"));
        }
    }

    fn favours(&mut self, wanted: &Wanted<'_>) {
        let Some(nice) = self.means.favoured else { return };
        if !self.is_favoured && self.hand.nice(wanted.thread).is_ok_and(|found| found == self.program.nice) {
            let undo = Undo::of_nice(self.program.process, nice, self.program.nice);
            if undo.is_some_and(|undo| self.registers(undo)) {
                match self.hand.set_nice(wanted.thread, nice) {
                    Ok(()) => self.is_favoured = true,
                    Err(error) => self.refused("priority", &error),
                }
            }
            if self.is_favoured {
                self.used.insert(Tool::Priority);
            }
        }
    }

    fn unfavours(&mut self, thread: u32) {
        let Some(nice) = self.means.favoured else { return };
        if self.hand.nice(thread).is_ok_and(|found| found == nice)
            && let Err(error) = self.hand.set_nice(thread, self.program.nice)
        {
            self.refused("priority", &error);
        }
    }

    /// Has the kernel choose frequencies as for a thread that is always busy.
    fn counts_as_busy(&mut self, thread: u32) {
        let before = self.program.utilization;
        let is_as_before = self.hand.least_utilization(thread).is_ok_and(|found| found == before);
        if self.is_busy || before == FULLY_UTILIZED || !is_as_before {
            return;
        }
        let undo = Undo::of_least_utilization(self.program.process, FULLY_UTILIZED, before);
        if !undo.is_some_and(|undo| self.registers(undo)) {
            return;
        }
        match self.hand.set_least_utilization(thread, FULLY_UTILIZED) {
            Ok(()) => {
                self.is_busy = true;
                self.used.insert(Tool::Frequency);
            }
            Err(error) => self.refused("frequency", &error),
        }
    }

    fn counts_as_before(&mut self, thread: u32) {
        if self.hand.least_utilization(thread).is_ok_and(|found| found == FULLY_UTILIZED)
            && let Err(error) = self.hand.set_least_utilization(thread, self.program.utilization)
        {
            self.refused("frequency", &error);
        }
    }

    /// Lets a thread use only these CPUs, if it has those of the program. True if it has these now.
    fn confine(&mut self, thread: u32, cpus: &[u32]) -> bool {
        match self.hand.cpus(thread) {
            Ok(found) if found == cpus => return self.given.contains(&found),
            Ok(found) if found == self.program.cpus => {}
            _ => return false,
        }
        let undo = Undo::of_cpus(self.program.process, cpus, &self.program.cpus);
        if !undo.is_some_and(|undo| self.registers(undo)) {
            return false;
        }
        if !self.given.iter().any(|given| given == cpus) {
            self.given.push(cpus.to_vec());
        }
        match self.hand.set_cpus(thread, cpus) {
            Ok(()) => true,
            Err(error) => {
                self.refused("CPUs", &error);
                false
            }
        }
    }

    /// Gives a thread back the program's CPUs, if it has these.
    fn frees(&mut self, thread: u32, cpus: &[u32]) {
        if self.hand.cpus(thread).is_ok_and(|found| found == cpus)
            && let Err(error) = self.hand.set_cpus(thread, &self.program.cpus)
        {
            self.refused("CPUs", &error);
        }
    }

    fn gives_a_core(&mut self, wanted: &Wanted<'_>) {
        let core = match self.core {
            Some(core) => core,
            None => {
                let last = self.hand.last_cpu(self.program.process, wanted.thread);
                let best = &self.means.cores.best;
                let is_good = |cpu: &u32| best.is_empty() || best.contains(cpu);
                let found = last
                    .filter(|cpu| self.program.cpus.contains(cpu) && is_good(cpu))
                    .or_else(|| self.program.cpus.iter().copied().find(is_good));
                let Some(core) = found else { return };
                core
            }
        };
        let rest = self.rest(core);
        if rest.is_empty() || !self.confine(wanted.thread, &[core]) {
            return;
        }
        self.core = Some(core);
        self.used.insert(Tool::OwnCore);
        for &other in wanted.all.iter().filter(|other| **other != wanted.thread) {
            if !self.confined.contains(&other) && self.confine(other, &rest) {
                self.confined.insert(other);
            }
        }
    }

    fn rest(&self, core: u32) -> Vec<u32> {
        self.program.cpus.iter().copied().filter(|cpu| *cpu != core).collect()
    }

    fn takes_the_core_back(&mut self) {
        let Some(core) = self.core.take() else { return };
        let rest = self.rest(core);
        for other in std::mem::take(&mut self.confined) {
            self.frees(other, &rest);
        }
        if let Some(thread) = self.thread {
            self.frees(thread, &[core]);
        }
    }

    fn raises_the_floor(&mut self, thread: u32) {
        let Some(cpu) = self.hand.last_cpu(self.program.process, thread) else { return };
        if self.floor.as_ref().is_some_and(|(raised, ..)| *raised == cpu) {
            return;
        }
        self.lowers_the_floor();
        let Some((_, path, highest)) = self.means.floors.iter().find(|(of, ..)| *of == cpu).cloned() else {
            return;
        };
        let Ok(undo @ Undo::Write { .. }) = Undo::of_write(&path) else { return };
        let Undo::Write { content, .. } = &undo else { return };
        let before = self.floors_before.entry(cpu).or_insert_with(|| content.clone()).clone();
        if !self.registers(Undo::Write { path: path.clone(), content: before.clone() }) {
            return;
        }
        match self.hand.write(&path, &highest) {
            Ok(()) => {
                self.floor = Some((cpu, path, before));
                self.used.insert(Tool::Frequency);
            }
            Err(error) => self.refused("frequency", &error),
        }
    }

    fn lowers_the_floor(&mut self) {
        if let Some((_, path, before)) = self.floor.take()
            && let Err(error) = self.hand.write(&path, &before)
        {
            self.refused("frequency", &error);
        }
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
#[path = "helper_tests.rs"]
mod tests;
