//! The collector's thread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use holdup_kernel::{
    Event, Linux, Lookout, Pid, Processes, Registers, Sight, Switch, Tid, Waited, Waker, Watch, What,
};
use holdup_symbols::{Files, StackCopy};
use holdup_trace::kernel::{self, CoverageCode, InKernelCode, NO_CALL, NO_STACK, Running, SampleCode};

use super::STACK_BYTES;
use super::images::Image;
use super::pace::{Budget, MAX_COST, OnCore, Pace};
use crate::machine::{monotonic_ns, thread_cpu_ns};

/// How often the rings are drained and blocked threads looked at.
const TICK: Duration = Duration::from_millis(40);
/// So many blocked threads are looked at in each tick, at most.
const LOOKS: usize = 6;
/// How often CPU times are read while context switches are not recorded (ns).
const READING_INTERVAL: u64 = 100_000_000;
/// So many threads' CPU times are read at most.
const MOST_READ: usize = 512;
/// Words are handed over when there are this many, or this long after the last time (ns).
const MANY_WORDS: usize = 16 << 10;
const HAND_OVER_INTERVAL: u64 = 500_000_000;
/// What the kernel gives for a thread that is past its exit.
const NOBODY: u32 = u32::MAX;

pub(super) struct Watcher {
    watch: Watch,
    state: State,
    /// `None` where there is nothing (any more) that could be left out.
    budget: Option<Budget>,
    sender: Sender<Vec<u64>>,
    handed_over: u64,
    read: u64,
    has_switches: bool,
    /// Every context switch is to be recorded, whatever it costs.
    has_no_limit: bool,
}

/// What is known of processes and threads, and what is to be handed over.
struct State {
    out: Vec<u64>,
    processes: Processes,
    files: Files,
    images: BTreeMap<u32, Image>,
    last_image: u32,
    threads: BTreeMap<u32, Thread>,
    /// What the program's threads took for records that were drained (ns), and are not paid for yet.
    cost: u64,
    on_core: OnCore,
    /// From which thread on blocked ones are looked at next.
    next_look: u32,
    /// Program arguments may be kept.
    arguments: bool,
    /// The first process.
    root: Option<u32>,
    /// All that runs on the machine is sampled, other programs too.
    samples_all: bool,
    /// The number that a process or thread had been given last when events were still there to tell of it.
    latest: Option<u32>,
}

/// A thread that lives.
struct Thread {
    pid: u32,
    /// It was switched out, and had to wait.
    is_blocked: bool,
    /// Where it was seen to wait, if its switches say that it has not run since.
    seen: Option<Place>,
}

/// Where a thread waits, as words of the recording have it.
#[derive(Clone, Copy)]
struct Place {
    stack: u32,
    call: u32,
    argument: u64,
}

impl Thread {
    fn new(pid: u32, is_blocked: bool) -> Thread {
        Thread { pid, is_blocked, seen: None }
    }

    /// It is switched in or out.
    fn moves(&mut self, is_blocked: bool) {
        *self = Thread::new(self.pid, is_blocked);
    }
}

impl Watcher {
    pub(super) fn new(
        watch: Watch,
        sender: Sender<Vec<u64>>,
        has_switches: bool,
        arguments: bool,
        max_cost: Option<f64>,
    ) -> Watcher {
        let now = monotonic_ns();
        let mut state = State::new(now, arguments);
        if has_switches {
            // Of a program that is started nothing is recorded before it executes: all is known from the start.
            kernel::coverage(&mut state.out, 0, CoverageCode::Begin);
        }
        Watcher {
            watch,
            state,
            budget: has_switches.then(|| Budget::new(max_cost.unwrap_or(MAX_COST))),
            sender,
            handed_over: now,
            read: now,
            has_switches,
            has_no_limit: max_cost.is_none(),
        }
    }

    /// Takes over a process that runs, and begins to record it.
    pub(super) fn begin_with(&mut self, pid: Pid) {
        self.state.out.clear();
        let _ = self.watch.enable();
        let now = monotonic_ns();
        self.state.take_over(pid, now);
        if self.has_switches {
            kernel::coverage(&mut self.state.out, now, CoverageCode::Begin);
        }
    }

    pub(super) fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            if self.watch.wait(TICK) == Waited::Ended {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.drain();
            let now = monotonic_ns();
            self.keep_pace(now);
            let pauses = self.pauses();
            if pauses || !self.has_switches {
                self.read(now);
            }
            // Without records of switches any thread may be blocked.
            self.state.look(now, pauses);
            if self.state.out.len() >= MANY_WORDS || now > self.handed_over + HAND_OVER_INTERVAL {
                self.hand_over(now);
            }
        }
        let _ = self.watch.disable();
        self.drain();
        let now = monotonic_ns();
        if self.has_switches && !self.pauses() {
            kernel::coverage(&mut self.state.out, now, CoverageCode::End);
        }
        self.hand_over(now);
        // The last words are out: nobody has to wait until the kernel has closed its events, which takes it a while.
        drop(self.sender);
    }

    fn drain(&mut self) {
        let state = &mut self.state;
        self.watch.drain(|event| state.take(&event));
    }

    fn pauses(&self) -> bool {
        self.budget.is_some_and(|budget| budget.pauses())
    }

    fn keep_pace(&mut self, now: u64) {
        let cost = std::mem::take(&mut self.state.cost);
        let Some(budget) = &mut self.budget else { return };
        budget.earn(self.state.on_core.taken(now, !budget.pauses()));
        budget.spend(cost);
        // That the kernel has us wait while it closes events costs the program nothing.
        let begun = thread_cpu_ns();
        match budget.decide() {
            Pace::GoOn => {}
            Pace::BackOff if self.has_no_limit => {
                // Every switch is wanted; who woke whom costs half as much again.
                let _ = self.watch.set_wakings(false);
                self.budget = None;
            }
            Pace::BackOff => {
                // Closed, not only switched off: the kernel pays for what is open.
                let state = &mut self.state;
                state.latest = state.processes.latest().ok();
                self.watch.suspend(|event| state.take(&event));
                // A program that switches often has its threads' timers stopped and started all the time.
                state.samples_all |= self.watch.sample_processors(&Linux);
                budget.spend(thread_cpu_ns().saturating_sub(begun));
                let samples = self.state.samples_all;
                let code = if samples { CoverageCode::BackOffWithSamples } else { CoverageCode::BackOff };
                kernel::coverage(&mut self.state.out, now, code);
                self.state.threads.values_mut().for_each(|thread| thread.moves(false));
                self.read = 0;
            }
            Pace::Resume => {
                self.read = 0;
                self.read(now);
                let family = self.state.family();
                match self.watch.resume(&Linux, family) {
                    Ok(()) => {
                        if let Some(budget) = &mut self.budget {
                            budget.spend(thread_cpu_ns().saturating_sub(begun));
                        }
                        self.state.on_core.begins_again(monotonic_ns());
                        kernel::coverage(&mut self.state.out, monotonic_ns(), CoverageCode::Begin);
                        self.state.take_stock(monotonic_ns());
                        // Who is blocked now may never be switched again.
                        self.state.threads.values_mut().for_each(|thread| thread.moves(true));
                    }
                    // What cannot be opened again stays closed; CPU times go on to be read.
                    Err(_) => (self.has_switches, self.budget) = (false, None),
                }
            }
        }
    }

    fn read(&mut self, now: u64) {
        if now < self.read + READING_INTERVAL {
            return;
        }
        self.read = now;
        self.state.count_threads(now);
        for (&tid, thread) in self.state.threads.iter().take(MOST_READ) {
            if let Ok(times) = self.state.processes.scheduling(Pid(thread.pid), Tid(tid)) {
                let (time, who) = (monotonic_ns(), (thread.pid, tid));
                kernel::reading(&mut self.state.out, time, who, times.cpu_ns, times.run_delay_ns);
            }
        }
    }

    fn hand_over(&mut self, now: u64) {
        self.handed_over = now;
        if !self.state.out.is_empty() {
            let _ = self.sender.send(std::mem::take(&mut self.state.out));
        }
    }
}

impl State {
    fn new(now: u64, arguments: bool) -> State {
        State {
            out: Vec::new(),
            processes: Processes::here(),
            files: Files::default(),
            images: BTreeMap::new(),
            last_image: 0,
            threads: BTreeMap::new(),
            cost: 0,
            on_core: OnCore::new(now),
            next_look: 0,
            arguments,
            root: None,
            samples_all: false,
            latest: None,
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        let time = event.time_ns;
        let (pid, tid) = (event.pid.0, event.tid.0);
        match event.what {
            What::Switch(_) | What::Sample(_) if tid == NOBODY => {}
            // Another program's, which is nobody's business; its number may have been one of ours.
            What::Sample(_) if self.samples_all && !self.threads.contains_key(&tid) => {}
            What::Switch(switch) => {
                let timer = if self.samples_all { 0 } else { kernel::TIMER_COST };
                self.cost += kernel::SWITCH_COST + timer;
                let leaves = switch != Switch::In;
                if leaves {
                    self.on_core.leaves(event.cpu.0, time);
                } else {
                    self.on_core.is_on(event.cpu.0, time);
                }
                let preempted = switch == Switch::Preempted;
                kernel::switch(&mut self.out, time, (pid, tid), event.cpu.0, leaves, preempted);
                self.thread(pid, tid).moves(leaves && !preempted);
            }
            What::Sample(sample) => {
                let (stack, running) = match (sample.registers, self.images.get_mut(&pid)) {
                    (Some(at), Some(image)) => {
                        let (sp, bp) = (at.general[Registers::SP], at.general[Registers::BP]);
                        let copy = StackCopy { ip: at.ip, sp, bp: Some(bp), bytes: sample.stack };
                        let in_kernel = sample.in_kernel.then(|| why_in_kernel(&at));
                        let is_outside = in_kernel.is_none();
                        let access = is_outside.then(|| image.accessed(at.ip, &at.general)).flatten();
                        let (access, instruction) = access.unzip();
                        (image.stack(&copy, instruction, &mut self.out), Running { access, in_kernel })
                    }
                    _ => (NO_STACK, Running::default()),
                };
                self.cost += kernel::SAMPLE_COST;
                self.on_core.is_on(event.cpu.0, time);
                kernel::running(&mut self.out, time, (pid, tid), sample.weight_ns, stack, running);
            }
            What::Fork { pid, tid, parent_pid, parent_tid } => {
                self.start(time, (pid.0, tid.0), (parent_pid.0, parent_tid.0));
            }
            What::Exit { pid, tid } => {
                kernel::exit(&mut self.out, time, (pid.0, tid.0));
                self.threads.remove(&tid.0);
                // Its events end with it, before it leaves its core.
                self.on_core.leaves(event.cpu.0, time);
            }
            What::Name { pid, tid, name, exec } => {
                if exec {
                    self.exec(time, pid.0, name);
                }
                kernel::name(&mut self.out, time, (pid.0, tid.0), name);
            }
            What::Mapping { pid, start, len, offset, path, .. } => {
                self.image(pid.0).map(time, start, len, offset, path);
            }
            What::Waking { wakee, by } => {
                self.cost += kernel::WAKING_COST;
                let by = if by == Waker::Thread { tid } else { 0 };
                kernel::waking(&mut self.out, time, wakee.0, by);
            }
            What::Lost { count } => {
                kernel::lost(&mut self.out, time, count);
                // Whoever ran meanwhile is not known.
                self.threads.values_mut().for_each(|thread| thread.seen = None);
            }
            _ => {}
        }
    }

    fn thread(&mut self, pid: u32, tid: u32) -> &mut Thread {
        self.threads.entry(tid).or_insert(Thread::new(pid, false))
    }

    fn image(&mut self, pid: u32) -> &mut Image {
        self.images.entry(pid).or_insert_with(|| {
            self.last_image += 1;
            Image::new(self.last_image, pid, self.files.clone())
        })
    }

    fn start(&mut self, time: u64, (pid, tid): (u32, u32), (parent_pid, parent_tid): (u32, u32)) {
        if pid != parent_pid {
            self.last_image += 1;
            let number = self.last_image;
            let image = match self.images.get(&parent_pid) {
                Some(parent) => parent.forked(number, pid),
                None => Image::new(number, pid, self.files.clone()),
            };
            self.images.insert(pid, image);
        }
        let image = self.image(pid).number;
        kernel::start(&mut self.out, time, (pid, tid), (parent_pid, parent_tid), image);
        self.threads.insert(tid, Thread::new(pid, false));
    }

    fn exec(&mut self, time: u64, pid: u32, name: &[u8]) {
        self.root = self.root.or(Some(pid));
        self.last_image += 1;
        self.images.insert(pid, Image::new(self.last_image, pid, self.files.clone()));
        // Only its first thread is left.
        self.threads.retain(|tid, thread| thread.pid != pid || *tid == pid);
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let program = command.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = match (command.is_empty(), self.arguments) {
            (true, _) => name,
            (false, true) => &command,
            (false, false) => program,
        };
        kernel::exec(&mut self.out, time, pid, self.last_image, text);
    }

    /// A process that was there before.
    fn take_over(&mut self, pid: Pid, now: u64) {
        self.root = self.root.or(Some(pid.0));
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let image = self.image(pid.0).number;
        kernel::exec(&mut self.out, now, pid.0, image, &command);
        // What a thread does is not known before its first switch; if it is blocked it can be looked at.
        self.threads.insert(pid.0, Thread::new(pid.0, true));
        if let Ok(name) = self.processes.name(pid, Tid(pid.0)) {
            kernel::name(&mut self.out, now, (pid.0, pid.0), &name);
        }
        self.take_stock_of(pid, now);
    }

    /// The processes that are recorded: the first one and its descendants.
    fn family(&self) -> Vec<Pid> {
        if self.latest.is_some() && self.latest == self.processes.latest().ok() {
            // There are no new ones.
            return self.with_threads().into_iter().map(Pid).collect();
        }
        self.root.and_then(|root| self.processes.family_of(Pid(root)).ok()).unwrap_or_default()
    }

    /// Finds out what processes there are, and what they have mapped, after a time in which no events told.
    fn take_stock(&mut self, now: u64) {
        for pid in self.family() {
            if self.images.contains_key(&pid.0) {
                self.take_stock_of(pid, now);
            } else {
                self.take_over(pid, now);
            }
        }
    }

    fn take_stock_of(&mut self, pid: Pid, now: u64) {
        for mapping in self.processes.code(pid).unwrap_or_default() {
            self.image(pid.0).map(now, mapping.start, mapping.len, mapping.offset, &mapping.path);
        }
        self.count_threads_of(pid, now);
    }

    /// Finds out what threads the known processes have, while no events tell.
    fn count_threads(&mut self, now: u64) {
        for pid in self.with_threads() {
            self.count_threads_of(Pid(pid), now);
        }
    }

    /// The processes that are known to live.
    fn with_threads(&self) -> BTreeSet<u32> {
        self.threads.values().map(|thread| thread.pid).collect()
    }

    fn count_threads_of(&mut self, pid: Pid, now: u64) {
        let image = self.image(pid.0).number;
        let living: BTreeSet<u32> =
            self.processes.threads(pid).unwrap_or_default().into_iter().map(|tid| tid.0).collect();
        for &tid in living.iter().filter(|tid| !self.threads.contains_key(tid)) {
            kernel::start(&mut self.out, now, (pid.0, tid), (pid.0, 0), image);
            if let Ok(name) = self.processes.name(pid, Tid(tid)) {
                kernel::name(&mut self.out, now, (pid.0, tid), &name);
            }
        }
        for (&tid, _) in
            self.threads.iter().filter(|(tid, thread)| thread.pid == pid.0 && !living.contains(tid))
        {
            kernel::exit(&mut self.out, now, (pid.0, tid));
        }
        self.threads.retain(|tid, thread| thread.pid != pid.0 || living.contains(tid));
        for tid in living {
            self.threads.entry(tid).or_insert(Thread::new(pid.0, true));
        }
    }

    /// Looks at some of the threads that are blocked, or of all.
    fn look(&mut self, now: u64, at_all: bool) {
        let blocked: Vec<(u32, u32)> = self
            .threads
            .iter()
            .filter(|(_, thread)| at_all || thread.is_blocked)
            .map(|(&tid, thread)| (tid, thread.pid))
            .collect();
        let first = blocked.partition_point(|(tid, _)| *tid < self.next_look);
        let chosen: Vec<(u32, u32)> =
            blocked[first..].iter().chain(&blocked[..first]).take(LOOKS).copied().collect();
        self.next_look = chosen.last().map_or(0, |(tid, _)| tid + 1);
        let weight = TICK.as_nanos() as u64 * blocked.len() as u64 / (chosen.len() as u64).max(1);
        for (tid, pid) in chosen {
            // It waits where it was seen: its records would say if it had run.
            let before = self.threads.get(&tid).and_then(|thread| thread.seen).filter(|_| !at_all);
            if let Some(Place { stack, call, argument }) = before {
                let kind = SampleCode::Blocked;
                kernel::sample(&mut self.out, now, (pid, tid), kind, weight, stack, call, argument);
                continue;
            }
            let lookout = Lookout::on(&self.processes, Pid(pid), Tid(tid), STACK_BYTES as usize);
            let Ok(mut lookout) = lookout else { continue };
            let seen = match lookout.look() {
                Ok(Sight::Blocked(seen)) => seen,
                Ok(Sight::Running | Sight::Moved) if at_all => {
                    let kind = SampleCode::Able;
                    kernel::sample(&mut self.out, now, (pid, tid), kind, weight, NO_STACK, NO_CALL, 0);
                    continue;
                }
                _ => continue,
            };
            let copy = StackCopy { ip: seen.pc, sp: seen.sp, bp: None, bytes: seen.stack };
            let stack = match self.images.get_mut(&pid) {
                Some(image) => image.stack(&copy, None, &mut self.out),
                None => NO_STACK,
            };
            let call = seen.call.map_or(NO_CALL, |call| call.number as u32);
            let argument = seen.call.map_or(0, |call| call.arguments[0]);
            let kind = SampleCode::Blocked;
            kernel::sample(&mut self.out, now, (pid, tid), kind, weight, stack, call, argument);
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.seen = (!at_all && thread.is_blocked).then_some(Place { stack, call, argument });
            }
        }
    }
}

/// Why a thread with these registers is in the kernel. A call leaves the address behind it in RCX (the instruction `syscall`), which is
/// where the thread goes on.
fn why_in_kernel(at: &Registers) -> InKernelCode {
    if at.general[Registers::CX] == at.ip { InKernelCode::Call } else { InKernelCode::Fault }
}

#[cfg(test)]
mod tests {
    use holdup_kernel::{Cpu, Sample};

    use super::*;

    /// How many words a sample of this thread adds, and what it costs.
    fn taken(state: &mut State, tid: u32) -> (usize, u64) {
        let sample = Sample { weight_ns: 9, in_kernel: true, registers: None, stack: &[] };
        let what = What::Sample(sample);
        let (words, cost) = (state.out.len(), state.cost);
        state.take(&Event { time_ns: 5, pid: Pid(7), tid: Tid(tid), cpu: Cpu(0), what });
        (state.out.len() - words, state.cost - cost)
    }

    #[test]
    fn of_samples_of_processors_those_of_other_programs_are_dropped() {
        let mut state = State::new(0, false);
        state.threads.insert(8, Thread::new(7, false));
        // Events of threads tell of the program's alone, and of one perhaps before anything else does.
        assert!(taken(&mut state, 8).0 > 0 && taken(&mut state, 9).0 > 0);
        state.samples_all = true;
        assert!(taken(&mut state, 8).0 > 0);
        assert_eq!(taken(&mut state, 9), (0, 0));
    }

    #[test]
    fn who_is_in_the_kernel_has_called_it_or_was_stopped() {
        let mut general = [0; 16];
        general[Registers::CX] = 0x4002;
        assert_eq!(why_in_kernel(&Registers { ip: 0x4002, general }), InKernelCode::Call);
        assert_eq!(why_in_kernel(&Registers { ip: 0x4000, general }), InKernelCode::Fault);
    }

    #[test]
    fn a_switch_costs_more_while_threads_have_timers() {
        let mut state = State::new(0, false);
        let mut cost = |samples_all| {
            (state.samples_all, state.cost) = (samples_all, 0);
            let what = What::Switch(Switch::In);
            state.take(&Event { time_ns: 5, pid: Pid(7), tid: Tid(8), cpu: Cpu(0), what });
            state.cost
        };
        assert_eq!(
            [false, true].map(&mut cost),
            [kernel::SWITCH_COST + kernel::TIMER_COST, kernel::SWITCH_COST]
        );
    }
}
