//! Cores that a policy makes faster while the program runs.
//!
//! Cycles of the simulation are those of the machine's frequency. A core at a higher one does more of its own cycles in
//! each of them ([`super::cores`]); what lies beyond its private caches takes the time that it takes, so that its latencies
//! are more of the core's cycles. Costs of the operating system are times, too.
//!
//! A policy is asked when all cores are past a time, so one or two quanta late. A core that changes its frequency while it has a
//! thread stands still for the machine's transition time, booked as `io`; one without a thread changes for nothing.

use holdup_model::cycles::{CycleComponent, CycleStack, Level, Resource};
use holdup_model::{FastSpan, RunEnergy, Steered, ThreadProspect, from_fixed};
use holdup_policy::energy::{Activity, CoreTime};
use holdup_policy::{Change, Choice, Governor, WaitTable, Weights};

use super::{State, System};
use crate::machine::Machine;
use crate::program::{Act, Feed};

/// How threads are made fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// Which threads.
    pub choice: Choice,
    /// The frequency of a fast core, in GHz.
    pub fast: f64,
    /// Nanoseconds from one decision to the next.
    pub slice_ns: f64,
    /// How many threads are fast at once, at most.
    pub most: usize,
}

/// Thread-nanoseconds of waiting from which on a bottleneck is accelerated, and after which sums are halved, both against the
/// length of a slice: an assumption, since the paper does not say what its reimplementation of BIS used.
const THRESHOLD_PART: u64 = 10_000;
const HALVING_PART: u64 = 1;

/// The time of a change where the machine does not say: on-chip regulators change voltage within nanoseconds to tens of them
/// (Kim et al., HPCA 2008).
const TRANSITION_NS: f64 = 100.0;

/// Kinds of bottlenecks, above their number.
const LOCK: u64 = 1 << 32;
const BARRIER: u64 = 2 << 32;
const GATE: u64 = 3 << 32;
const TOKENS: u64 = 4 << 32;
const END: u64 = 5 << 32;

#[derive(Clone, Copy, Debug, Default)]
struct CoreState {
    is_fast: bool,
    is_busy: bool,
    since: u64,
    /// Cycles by whether it was fast and whether it was busy: had a thread, or ran the system's code.
    cycles: [[u64; 2]; 2],
    last: u32,
    /// Cycles of system code that it did since then without a thread.
    system: u64,
}

impl CoreState {
    fn note(&mut self, now: u64) {
        let now = now.max(self.since);
        let length = now - self.since;
        let busy = if self.is_busy { length } else { self.system.min(length) };
        let cycles = &mut self.cycles[usize::from(self.is_fast)];
        *cycles = [cycles[0] + length - busy, cycles[1] + busy];
        (self.since, self.system) = (now, 0);
    }
}

/// A policy at work.
pub(super) struct Steer {
    governor: Governor,
    fast: f64,
    ratio: f64,
    slice: u64,
    transition: u64,
    /// What putting a thread to sleep and waking it takes its core: that runs the system's code, which takes energy as the thread's.
    sleep_and_wake: u64,
    cores: Vec<CoreState>,
    /// By thread, its cycles up to when it got its core that take as long at each frequency.
    stalled: Vec<u64>,
    /// By thread, when what it waited for was there.
    released: Vec<Option<u64>>,
    /// By thread, the bottleneck that it waits for.
    waits: Vec<Option<u64>>,
    /// No core is before this time.
    passed: u64,
    transitions: u64,
}

impl Steer {
    pub(super) fn new(steering: &Steering, machine: &Machine, cores: u32, threads: usize) -> Self {
        let slice = machine.cycles(steering.slice_ns.max(1.0)).max(1);
        let beyond = [machine.l2.as_ref(), machine.l3.as_ref()].map(|level| level.map(|level| level.latency));
        let second = f64::from(beyond[0].unwrap_or(machine.l1d.latency));
        let third = beyond[1].map_or(second, f64::from);
        let memory = third + machine.memory.latency_ns * machine.frequency;
        let threshold = (slice / THRESHOLD_PART).max(1);
        let policy = steering.choice.policy(Weights::of([second, third, memory]), threshold, steering.most);
        let table = WaitTable::new((slice / HALVING_PART).max(1));
        let transition = machine.energy.as_ref().map_or(TRANSITION_NS, |energy| energy.transition_ns);
        let is_fast = policy.is_fast(u32::MAX);
        Self {
            governor: Governor::new(policy, slice, table, threads)
                .foreseeing(steering.fast / machine.frequency),
            fast: steering.fast,
            ratio: steering.fast / machine.frequency,
            slice,
            transition: machine.cycles(transition),
            sleep_and_wake: machine.cycles(machine.system.sleep_ns + machine.system.wake_up_ns),
            cores: vec![CoreState { is_fast, last: u32::MAX, ..CoreState::default() }; cores as usize],
            stalled: vec![0; threads],
            released: vec![None; threads],
            waits: vec![None; threads],
            passed: 0,
            transitions: 0,
        }
    }

    /// What the thread waited for is there; it is being woken.
    pub(super) fn released(&mut self, thread: u32, now: u64) {
        self.released[thread as usize] = Some(now);
        self.governor.tell(now, thread, Change::Released);
    }

    /// The thread gets a core; its cycles so far went to these components. Gives how many times as fast that is, and for how
    /// long it stands still first.
    pub(super) fn attached(&mut self, thread: u32, core: u32, start: u64, stack: &CycleStack) -> (f64, u64) {
        let released = self.released[thread as usize].take();
        let state = &mut self.cores[core as usize];
        state.system = if released.is_some() { self.sleep_and_wake } else { 0 };
        state.note(start);
        let is_fast = self.governor.is_fast(thread);
        let stands = if is_fast == state.is_fast { 0 } else { self.transition };
        self.transitions += u64::from(is_fast != state.is_fast);
        (state.is_busy, state.is_fast, state.last) = (true, is_fast, thread);
        if let Some(bottleneck) = self.waits[thread as usize].take() {
            self.governor.tell(start, thread, Change::GoesOn(bottleneck));
            if bottleneck >> 32 == BARRIER >> 32 {
                self.governor.tell(start, thread, Change::Enters(bottleneck));
            }
        }
        self.stalled[thread as usize] = stalled(stack);
        self.governor.tell(start, thread, Change::Active);
        if let Some(released) = released {
            self.governor.tell(start, thread, Change::Stalled(start.saturating_sub(released)));
        }
        (if is_fast { self.ratio } else { 1.0 }, stands)
    }

    /// The thread leaves its core; its cycles so far went to these components.
    pub(super) fn detached(&mut self, thread: u32, core: u32, now: u64, stack: &CycleStack) {
        let stalled = stalled(stack).saturating_sub(self.stalled[thread as usize]);
        self.governor.tell(now, thread, Change::Stalled(stalled));
        let state = &mut self.cores[core as usize];
        state.note(now);
        state.is_busy = false;
        self.governor.tell(now, thread, Change::Inactive);
    }

    /// The thread has ended.
    pub(super) fn ended(&mut self, thread: u32, now: u64) {
        self.governor.tell(now, thread, Change::Ends);
    }

    /// The thread did an act, and waits behind it or not.
    pub(super) fn acted(&mut self, thread: u32, act: Act, now: u64, waits: bool) {
        let bottleneck = match act {
            Act::Acquire(lock, _) | Act::Release(lock) => LOCK + u64::from(lock),
            Act::Arrive(barrier) => BARRIER + u64::from(barrier),
            Act::Pass(gate, _) | Act::PassWithin(gate, ..) => GATE + u64::from(gate),
            Act::Take(tokens, _) => TOKENS + u64::from(tokens),
            Act::Join(child) => END + u64::from(child),
            _ => return,
        };
        let change = match act {
            Act::Acquire(..) if !waits => Some(Change::Enters(bottleneck)),
            Act::Release(_) => Some(Change::Leaves(bottleneck)),
            // Who came last begins the next round at once.
            Act::Arrive(_) if waits => Some(Change::Leaves(bottleneck)),
            Act::Arrive(_) => Some(Change::Enters(bottleneck)),
            Act::Join(_) if waits => Some(Change::Joins),
            _ => None,
        };
        if let Some(change) = change {
            self.governor.tell(now, thread, change);
        }
        if waits {
            self.waits[thread as usize] = Some(bottleneck);
            self.governor.tell(now, thread, Change::Waits(bottleneck));
            if let Act::Join(child) = act {
                self.governor.tell(now, child, Change::Enters(bottleneck));
            }
        }
    }

    /// What the policy did in a run of so many cycles.
    pub(super) fn finish(mut self, machine: &Machine, cycles: u64, resources: &[Resource]) -> Steered {
        self.cores.iter_mut().for_each(|core| core.note(cycles));
        let policy = self.governor.name().to_owned();
        let record = self.governor.finish(cycles);
        let seconds = |cycles: u64| machine.nanos(cycles) * 1e-9;
        let at = |is_fast: bool, frequency: f64| {
            let of =
                |busy: usize| self.cores.iter().map(|core| core.cycles[usize::from(is_fast)][busy]).sum();
            CoreTime { frequency, busy_seconds: seconds(of(1)), idle_seconds: seconds(of(0)) }
        };
        let activity = Activity {
            seconds: seconds(cycles),
            cores: vec![at(false, machine.frequency), at(true, self.fast)],
            memory_accesses: resources
                .iter()
                .filter(|resource| resource.name.starts_with("memory"))
                .map(|resource| resource.requests)
                .sum(),
        };
        let energy = machine.energy.as_ref().map(|facts| facts.energy(&activity));
        let work = record.work();
        Steered {
            policy,
            fast: self.fast,
            slice: self.slice,
            slices: record.slices.len() as u64,
            criticality: record.criticality().into_iter().map(from_fixed).collect(),
            prospects: record
                .prospects
                .iter()
                .map(|found| ThreadProspect {
                    active: found.active,
                    alone: found.alone,
                    stalled: found.stalled,
                    scaling: found.scaling,
                    saved: found.saved,
                })
                .collect(),
            nobody: record.slices.iter().map(|slice| slice.nobody).sum(),
            updates: (work.updates, work.nanojoules()),
            spans: record
                .spans
                .iter()
                .map(|span| FastSpan { thread: span.thread, begin: span.begin, end: span.end })
                .collect(),
            transitions: self.transitions,
            energy: energy.map(|energy| RunEnergy {
                dynamic: energy.dynamic,
                leaked: energy.leaked,
                uncore: energy.uncore,
                memory: energy.memory,
            }),
        }
    }
}

/// Cycles that are times and not those of a core: what lies beyond its own caches, and the system, waking others too.
fn stalled(stack: &CycleStack) -> u64 {
    let is_time = |component: &CycleComponent| {
        component.is_sync()
            || matches!(
                component,
                CycleComponent::MemL1Neighbor
                    | CycleComponent::MemL2Neighbor
                    | CycleComponent::MemL3
                    | CycleComponent::MemOffSocket
                    | CycleComponent::MemDram
                    | CycleComponent::SyncCreate
                    | CycleComponent::Io
            )
    };
    stack.parts().filter(|(component, _)| is_time(component)).map(|(_, cycles)| cycles).sum()
}

/// Which count of misses data from there is: as from the second level, the third, or memory.
pub(super) fn miss_of(by: Level) -> Option<usize> {
    match by {
        Level::L1 => None,
        Level::L1Neighbor | Level::L2 | Level::L2Neighbor => Some(0),
        Level::L3 => Some(1),
        Level::OffSocket | Level::Dram => Some(2),
    }
}

impl<F: Feed> System<'_, F> {
    /// All cores have come to `time`: whoever should be fast is made so.
    pub(super) fn steer(&mut self, time: u64) {
        let Some(steer) = &mut self.steer else { return };
        let passed = std::mem::replace(&mut steer.passed, time);
        if passed >= steer.governor.slice_end() {
            for thread in 0..self.threads.len() as u32 {
                steer.governor.missed(thread, self.tally.take_levels(thread));
            }
        }
        if !steer.governor.advance(passed) {
            return;
        }
        for core in 0..self.on.len() as u32 {
            self.set_frequency(core, time);
        }
    }

    fn set_frequency(&mut self, core: u32, time: u64) {
        let Some(steer) = &mut self.steer else { return };
        let on = self.on[core as usize];
        let state = &mut steer.cores[core as usize];
        let is_fast = steer.governor.is_fast(on.unwrap_or(state.last));
        if is_fast == state.is_fast {
            return;
        }
        let ratio = if is_fast { steer.ratio } else { 1.0 };
        let Some(thread) = on else {
            state.note(time);
            state.is_fast = is_fast;
            return;
        };
        let stands = steer.transition;
        steer.transitions += 1;
        self.cores.all[core as usize].core.settle();
        state.note(self.cores.now(core));
        state.is_fast = is_fast;
        self.account(thread);
        self.cores.set_ratio(core, ratio);
        self.cores.spend(core, stands, CycleComponent::Io);
    }

    /// The thread on a core did an act at a time: policies may want to know.
    pub(super) fn note_act(&mut self, thread: u32, act: Act, now: u64) {
        if let Some(steer) = &mut self.steer {
            let waits = self.threads[thread as usize].state == State::Blocked;
            steer.acted(thread, act, now, waits);
        }
    }
}
