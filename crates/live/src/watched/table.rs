//! What is known of the threads of the watched processes.

use std::collections::{BTreeMap, BTreeSet};

use holdup_kernel::{Event, Pid, Processes, Scheduling, Switch, Tid, What};
use holdup_model::Course;

use super::proc::{is_able, voluntary_switches, waits_for};
use crate::survey::{Doing, Others, ProcessSeen, Survey, ThreadSeen};
use crate::tally::Tally;

/// Threads of a process that are remembered after their end.
const MOST_ENDED: usize = 256;
/// Blocked threads of which it is looked up at each survey what they wait for.
const MOST_WAITS: usize = 256;
/// The kernel's word for a thread past its exit.
const NOBODY: u32 = u32::MAX;

/// What is known of all processes.
pub(super) struct Table {
    proc: Processes,
    processes: Vec<Process>,
    /// Up to when all is known, in ns of `CLOCK_MONOTONIC`.
    at_ns: u64,
    /// Context switches since they were asked for.
    switches: u64,
    /// States come from looks, not from events.
    looks: bool,
    /// How many processes have been seen.
    begun: u32,
}

struct Process {
    pid: u32,
    name: String,
    since_ns: u64,
    has_ended: bool,
    course: Course,
    /// By number.
    threads: BTreeMap<u32, Thread>,
    /// Numbers of those that live, by kernel id.
    living: BTreeMap<u32, u32>,
    next: u32,
    number: u32,
    /// Those that are forgotten.
    others: Others,
}

#[derive(Default)]
struct Thread {
    tid: u32,
    name: String,
    tally: Tally,
    /// What the last look saw.
    is_able: bool,
    has_ended: bool,
    /// What the kernel had counted when it was last asked; `None` before.
    counted: Option<(Scheduling, u64)>,
}

impl Table {
    pub(super) fn new(proc: Processes, now_ns: u64) -> Table {
        Table { proc, processes: Vec::new(), at_ns: now_ns, switches: 0, looks: false, begun: 0 }
    }

    /// What an event tells.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        let now_ns = event.time_ns;
        match event.what {
            What::Switch(_) if event.tid.0 == NOBODY => {}
            What::Switch(switch) => {
                self.switches += 1;
                self.set_active(event.pid, event.tid, now_ns, switch != Switch::Blocked);
            }
            What::Waking { wakee, .. } => {
                if let Some(pid) = self.process_of(wakee) {
                    self.set_active(pid, wakee, now_ns, true);
                }
            }
            // It can run from now on, and shall.
            What::Fork { pid, tid, .. } => self.set_active(pid, tid, now_ns, true),
            What::Exit { pid, tid } => self.process(pid, now_ns).end(tid, now_ns),
            What::Name { pid, tid, name, exec } => {
                let process = self.process(pid, now_ns);
                if exec {
                    let others: Vec<u32> =
                        process.living.keys().copied().filter(|&other| other != pid.0).collect();
                    others.into_iter().for_each(|other| process.end(Tid(other), now_ns));
                }
                let name = String::from_utf8_lossy(name);
                if exec || tid.0 == pid.0 {
                    name.as_ref().clone_into(&mut process.name);
                }
                name.as_ref().clone_into(&mut process.thread(tid).name);
            }
            _ => {}
        }
    }

    /// All is known up to this moment.
    pub(super) fn is_known_to(&mut self, now_ns: u64) {
        self.at_ns = self.at_ns.max(now_ns);
    }

    /// Context switches since the last call.
    pub(super) fn take_switches(&mut self) -> u64 {
        std::mem::take(&mut self.switches)
    }

    /// Finds out which threads these processes have and what they do: before events tell.
    pub(super) fn take_stock(&mut self, family: &[Pid], now_ns: u64) {
        self.list(family, now_ns);
        self.looks = false;
        let Table { proc, processes, .. } = self;
        for process in processes.iter_mut().filter(|process| !process.has_ended) {
            let Process { pid, course, threads, living, .. } = process;
            for (&tid, number) in living.iter() {
                let Some(thread) = threads.get_mut(number) else { continue };
                let is_able = is_able(proc, Pid(*pid), Tid(tid)).unwrap_or(false);
                thread.tally.put(course, now_ns, is_able);
                thread.counted = None;
            }
        }
        self.is_known_to(now_ns);
    }

    /// No events tell from now on: looks will.
    pub(super) fn begin_looks(&mut self, now_ns: u64) {
        self.looks = true;
        for process in &mut self.processes {
            let Process { course, threads, .. } = process;
            for thread in threads.values_mut() {
                thread.is_able = thread.tally.is_active();
                thread.tally.put(course, now_ns, false);
            }
        }
        self.count();
        self.is_known_to(now_ns);
    }

    /// Which threads could run at this moment: they stand for the time since the last look.
    pub(super) fn look(&mut self, now_ns: u64) {
        let length_ns = now_ns.saturating_sub(self.at_ns);
        let Table { proc, processes, .. } = self;
        for process in processes.iter_mut().filter(|process| !process.has_ended) {
            let Process { pid, threads, living, .. } = process;
            let mut able = Vec::new();
            for (&tid, &number) in living.iter() {
                let Some(thread) = threads.get_mut(&number) else { continue };
                thread.is_able = is_able(proc, Pid(*pid), Tid(tid)).unwrap_or(false);
                if thread.is_able {
                    able.push(number);
                }
            }
            for number in &able {
                if let Some(thread) = threads.get_mut(number) {
                    thread.tally.add_look(length_ns, able.len() as u32);
                }
            }
        }
        self.is_known_to(now_ns);
    }

    /// Finds out which threads there are.
    pub(super) fn list(&mut self, family: &[Pid], now_ns: u64) {
        for &pid in family {
            let Ok(tids) = self.proc.threads(pid) else { continue };
            let proc = self.proc.clone();
            let process = self.process(pid, now_ns);
            let there: BTreeSet<u32> = tids.iter().map(|tid| tid.0).collect();
            let gone: Vec<u32> = process.living.keys().copied().filter(|tid| !there.contains(tid)).collect();
            gone.into_iter().for_each(|tid| process.end(Tid(tid), now_ns));
            for tid in tids {
                let thread = process.thread(tid);
                if let Ok(name) = proc.name(pid, tid) {
                    thread.name = String::from_utf8_lossy(&name).into_owned();
                }
            }
            if let Ok(name) = proc.name(pid, Tid(pid.0)) {
                process.name = String::from_utf8_lossy(&name).into_owned();
            }
        }
    }

    /// All that are not among these have ended.
    pub(super) fn keep_only(&mut self, family: &[Pid], now_ns: u64) {
        for process in self.processes.iter_mut().filter(|process| !family.contains(&Pid(process.pid))) {
            process.end_all(now_ns);
        }
    }

    /// The processes that live, as far as is known.
    pub(super) fn living(&self) -> Vec<Pid> {
        let living = self.processes.iter().filter(|process| !process.has_ended);
        living.map(|process| Pid(process.pid)).collect()
    }

    /// What the kernel has counted of threads that are only looked at.
    pub(super) fn count(&mut self) {
        let Table { proc, processes, .. } = self;
        for process in processes.iter_mut().filter(|process| !process.has_ended) {
            let Process { pid, threads, living, .. } = process;
            for (&tid, number) in living.iter() {
                let Some(thread) = threads.get_mut(number) else { continue };
                let (pid, tid) = (Pid(*pid), Tid(tid));
                let Ok(now) = proc.scheduling(pid, tid) else { continue };
                let switches = voluntary_switches(proc, pid, tid).unwrap_or(0);
                if let Some((before, switches_before)) = thread.counted {
                    let active_ns =
                        (now.cpu_ns + now.run_delay_ns).saturating_sub(before.cpu_ns + before.run_delay_ns);
                    // Each time it blocked it was woken too.
                    thread.tally.add_counted(active_ns, 2 * switches.saturating_sub(switches_before));
                }
                thread.counted = Some((now, switches));
            }
        }
    }

    pub(super) fn survey(&mut self) -> Survey {
        if self.looks {
            self.count();
        }
        let (at_ns, looks, proc) = (self.at_ns, self.looks, &self.proc);
        let mut lookups = MOST_WAITS;
        let mut processes: Vec<ProcessSeen> = Vec::with_capacity(self.processes.len());
        for process in &mut self.processes {
            let Process { pid, course, threads, .. } = process;
            let threads = threads.iter().map(|(&number, thread)| {
                let (criticality_ns, active_ns) = thread.tally.read(course, at_ns);
                let is_active = if looks { thread.is_able } else { thread.tally.is_active() };
                let state = match (thread.has_ended, is_active) {
                    (true, _) => Doing::Ended,
                    (false, true) => Doing::Active,
                    (false, false) if lookups > 0 => {
                        lookups -= 1;
                        Doing::Waits(waits_for(proc, Pid(*pid), Tid(thread.tid)))
                    }
                    (false, false) => Doing::Waits(String::new()),
                };
                let (tid, name, changes) = (thread.tid, thread.name.clone(), thread.tally.changes());
                ThreadSeen { number, tid, name, state, criticality_ns, active_ns, changes, ended_ns: None }
            });
            processes.push(ProcessSeen {
                pid: *pid,
                name: process.name.clone(),
                age_ns: at_ns.saturating_sub(process.since_ns),
                has_ended: process.has_ended,
                number: process.number,
                others: process.others,
                threads: threads.collect(),
            });
        }
        Survey { at_ns, processes }
    }

    fn process_of(&self, tid: Tid) -> Option<Pid> {
        let has = |process: &&Process| process.living.contains_key(&tid.0);
        self.processes.iter().find(has).map(|process| Pid(process.pid))
    }

    fn set_active(&mut self, pid: Pid, tid: Tid, now_ns: u64, is_active: bool) {
        let Process { course, threads, living, next, .. } = self.process(pid, now_ns);
        let thread = thread(threads, living, next, tid);
        thread.tally.set_active(course, now_ns, is_active);
    }

    fn process(&mut self, pid: Pid, now_ns: u64) -> &mut Process {
        let known = self.processes.iter().position(|process| process.pid == pid.0 && !process.has_ended);
        let index = known.unwrap_or_else(|| {
            let number = self.begun;
            self.begun += 1;
            self.processes.push(Process {
                pid: pid.0,
                name: String::new(),
                since_ns: now_ns,
                has_ended: false,
                course: Course::new(now_ns),
                threads: BTreeMap::new(),
                living: BTreeMap::new(),
                next: 0,
                number,
                others: Others::default(),
            });
            self.forget_ended();
            self.processes.len() - 1
        });
        &mut self.processes[index]
    }

    fn forget_ended(&mut self) {
        let ended = self.processes.iter().filter(|process| process.has_ended).count();
        if ended > MOST_ENDED {
            let oldest = self.processes.iter().position(|process| process.has_ended);
            oldest.map(|oldest| self.processes.remove(oldest));
        }
    }
}

impl Process {
    fn thread(&mut self, tid: Tid) -> &mut Thread {
        thread(&mut self.threads, &mut self.living, &mut self.next, tid)
    }

    fn end(&mut self, tid: Tid, now_ns: u64) {
        let Some(number) = self.living.remove(&tid.0) else { return };
        if let Some(thread) = self.threads.get_mut(&number) {
            thread.tally.set_active(&mut self.course, now_ns, false);
            thread.has_ended = true;
        }
        if self.threads.len() - self.living.len() > MOST_ENDED {
            let oldest = self.threads.iter().find(|(_, thread)| thread.has_ended).map(|(&number, _)| number);
            if let Some(forgotten) = oldest.and_then(|oldest| self.threads.remove(&oldest)) {
                let (criticality_ns, active_ns) = forgotten.tally.read(&mut self.course, now_ns);
                self.others.threads += 1;
                self.others.criticality_ns += criticality_ns;
                self.others.active_ns += active_ns;
                self.others.changes += forgotten.tally.changes();
            }
        }
        self.has_ended = self.living.is_empty();
    }

    fn end_all(&mut self, now_ns: u64) {
        let living: Vec<u32> = self.living.keys().copied().collect();
        living.into_iter().for_each(|tid| self.end(Tid(tid), now_ns));
        self.has_ended = true;
    }
}

fn thread<'a>(
    threads: &'a mut BTreeMap<u32, Thread>,
    living: &mut BTreeMap<u32, u32>,
    next: &mut u32,
    tid: Tid,
) -> &'a mut Thread {
    let number = *living.entry(tid.0).or_insert_with(|| {
        *next += 1;
        *next - 1
    });
    threads.entry(number).or_insert_with(|| Thread { tid: tid.0, ..Thread::default() })
}

#[cfg(test)]
mod tests;
