//! What the machine costs: cores, time slices, and what it takes to put a thread to sleep and to wake it.

use std::collections::BTreeMap;

use holdup_model::{AwakeWaits, Left, ObjectId, Process, State, Time, Timeline, awake_waits};

/// The machine that a program runs on in virtual time. All times in ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// How many threads run at once, at least one.
    pub cores: u32,
    /// How long a thread runs while another one waits for its core.
    pub slice: u64,
    /// After how long a core that has nothing to do takes a thread that waits for another core.
    pub pull: u64,
    /// From a wake-up until the thread runs, where a core is free, by how long it was blocked: the latency for waits
    /// below each limit. The last limit is [`u64::MAX`].
    pub latency: [(u64, u64); 3],
    /// A thread that waits for so long at most does not sleep: it is given what it waits for at no cost.
    pub park: u64,
    /// CPU time that it takes to wake a thread, of the one who wakes it.
    pub wake_cost: u64,
    /// CPU time that it takes a thread to go to sleep and to come back.
    pub block_cost: u64,
    /// Objects whose waiters stay on a core, so that nobody has to wake them, by [`ObjectId`]. Those beyond the end are none.
    pub awake: Vec<bool>,
}

/// Waits shorter than this find their core awake still.
const SHORT_WAIT: u64 = 10_000;
/// Waits longer than this find it in a deeper state of rest.
const LONG_WAIT: u64 = 200_000;
/// No wake-up by itself takes longer (ns).
const MOST_LATENCY: u64 = 100_000;
/// Cores look for threads that wait for others at least so often (ns): at every tick of the slowest clock.
const MOST_PULL: u64 = 10_000_000;
/// No switch from one thread to another takes longer (ns).
const SWITCH: u64 = 40_000;
/// Who waits for an object stays awake if it is on a core for this share of its waits.
const MOSTLY_AWAKE: f64 = 0.5;
/// Waits from which a latency or a cost is taken, at least: below that the defaults say more.
const ENOUGH: usize = 12;

impl Machine {
    /// A machine with so many cores, and the costs of a small virtual machine, where nothing was measured.
    pub fn new(cores: u32) -> Self {
        Self {
            cores: cores.max(1),
            slice: 3_000_000,
            pull: 300_000,
            latency: [(SHORT_WAIT, 11_000), (LONG_WAIT, 22_000), (u64::MAX, 30_000)],
            park: 3_000,
            wake_cost: 4_000,
            block_cost: 4_000,
            awake: Vec::new(),
        }
    }

    /// The machine of a recording: its costs are estimated from it.
    pub fn of(process: &Process, timeline: &Timeline, cores: u32) -> Self {
        let mut machine = Self::new(cores);
        machine.take_latencies(process, timeline);
        machine.take_slice(process);
        machine.take_pull(process, timeline);
        machine.take_awake(process);
        machine
    }

    /// The machine without costs of sleeping and waking.
    pub fn without_costs(&self) -> Self {
        let latency = self.latency.map(|(limit, _)| (limit, 0));
        Self { latency, wake_cost: 0, block_cost: 0, ..self.clone() }
    }

    /// The latency (ns) of a thread that was blocked for so long.
    pub(crate) fn latency_after(&self, blocked: u64) -> u64 {
        let entry = self.latency.iter().find(|(limit, _)| blocked < *limit);
        entry.map_or(0, |(_, latency)| *latency)
    }

    /// True where threads that wait for this object stay on a core.
    pub(crate) fn is_awake_at(&self, object: ObjectId) -> bool {
        self.awake.get(object.index()).copied().unwrap_or(false)
    }

    /// An OpenMP runtime lets threads spin before they sleep: where they do for most of their waits, it does not take waking
    /// them.
    fn take_awake(&mut self, process: &Process) {
        let mut sums: BTreeMap<ObjectId, AwakeWaits> = BTreeMap::new();
        for ((object, _), waits) in awake_waits(process, |object| process.object(object).is_of_openmp()) {
            let sums = sums.entry(object).or_default();
            sums.waited += waits.waited;
            sums.on_core += waits.on_core;
        }
        self.awake = vec![false; process.objects.len()];
        for (object, waits) in sums {
            self.awake[object.index()] = waits.on_core.share_of(waits.waited) >= MOSTLY_AWAKE;
        }
    }

    /// From the waits for signals, barriers and joins. Those for locks say nothing: a thread that was woken may have come
    /// too late, and have been awake already when the lock was released to it.
    fn take_latencies(&mut self, process: &Process, timeline: &Timeline) {
        let mut seen: [Vec<u64>; 3] = [const { Vec::new() }; 3];
        for row in &timeline.threads {
            for pair in row.segments.windows(2) {
                let [wait, waking] = pair else { continue };
                let is_lock = |object: ObjectId| process.object(object).kind.is_lock();
                let is_wait = wait.state == State::Blocked
                    && waking.state == State::Waking
                    && wait.object.is_some_and(|object| !is_lock(object));
                if is_wait && wait.end == waking.start && waking.by.is_some() {
                    let blocked = wait.length().get();
                    let class = self.latency.iter().position(|(limit, _)| blocked < *limit);
                    seen[class.unwrap_or(2)].push(waking.length().get());
                }
            }
        }
        // Many waits end in a queue for a core, with more threads than cores or with other programs beside: the quick
        // ones tell of the wake-up itself.
        for (entry, seen) in self.latency.iter_mut().zip(&mut seen) {
            if seen.len() >= ENOUGH {
                let rank = seen.len() / 4;
                entry.1 = (*seen.select_nth_unstable(rank).1).min(MOST_LATENCY);
            }
        }
    }

    /// How long a core stays without a thread while one waits for another core, on average: the time of that, for each
    /// time that it ends with one more thread on a core.
    fn take_pull(&mut self, process: &Process, timeline: &Timeline) {
        // Time, change of the threads that wait, change of those on a core: a wait that ends comes first.
        let mut changes: Vec<(Time, i32, i32)> = Vec::new();
        for span in &process.on_core {
            changes.extend([(span.begin, 0, 1), (span.end, 0, -1)]);
        }
        for row in &timeline.threads {
            let waits = row.segments.iter().filter(|segment| segment.state == State::Descheduled);
            changes.extend(waits.flat_map(|wait| [(wait.start, 1, 0), (wait.end, -1, 0)]));
        }
        changes.sort_unstable();
        let (mut waiting, mut on_core) = (0, 0);
        let (mut since, mut exposed, mut pulls) = (None, 0, 0);
        for &(time, waits, runs) in &changes {
            waiting += waits;
            on_core += runs;
            let is_exposed = waiting > 0 && on_core < self.cores as i32;
            match (since, is_exposed) {
                (None, true) => since = Some(time),
                (Some(begin), false) => {
                    let length = time.since(begin).get();
                    // Shorter than it takes to switch: a thread that has been chosen and does not run yet.
                    if length > SWITCH {
                        exposed += length;
                        pulls += usize::from(runs > 0 || waits < 0 && on_core >= self.cores as i32 - 1);
                    }
                    since = None;
                }
                _ => {}
            }
        }
        if pulls >= ENOUGH {
            self.pull = (exposed / pulls as u64).clamp(50_000, MOST_PULL);
        }
    }

    fn take_slice(&mut self, process: &Process) {
        let spans = process.on_core.iter().filter(|span| span.left == Left::Preempted);
        let mut lengths: Vec<u64> = spans.map(|span| span.end.since(span.begin).get()).collect();
        if lengths.len() >= ENOUGH {
            let middle = lengths.len() / 2;
            self.slice = (*lengths.select_nth_unstable(middle).1).clamp(300_000, 20_000_000);
        }
    }
}
