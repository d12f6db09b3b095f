//! Who asks when: each slice's criticality goes to Algorithm 1, and what it says to the helper.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use holdup_live::{Live, LiveProcess, Snapshot};
use holdup_pirate::Undo;
use holdup_policy::{Critical, Moment, Policy, Rules, Slice, ThreadSlice, WaitTable};

use crate::effect::{Effect, Verdict};
use crate::hand::Hand;
use crate::helper::{Helper, Program, Wanted};
use crate::means::{Means, Tool};

/// How often it is looked whether a thread that is to have a CPU for itself while it is active is active.
const LOOK: Duration = Duration::from_millis(1);

/// How a program is steered.
#[derive(Clone, Debug)]
pub struct Options {
    /// The slice of Algorithm 1 (the paper's: 10 ms).
    pub slice: Duration,
    /// Its parameters.
    pub rules: Rules,
    /// What may be done.
    pub means: Means,
    /// Help whether it is of use or not.
    pub always: bool,
}

/// What was done for a process, and what came of it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Which.
    pub process: u32,
    /// For how long it was looked at, with more than one thread.
    pub watched: Duration,
    /// For how long Algorithm 1 named a thread.
    pub critical: Duration,
    /// For how long one was helped.
    pub helped: Duration,
    /// By what.
    pub used: BTreeSet<Tool>,
    /// The threads that were helped, by number: their names, and for how long.
    pub threads: BTreeMap<u32, (String, Duration)>,
    /// CPUs in use with and without help, where both were tried.
    pub rates: Option<(f64, f64)>,
    /// What is thought of help at the end.
    pub verdict: Verdict,
    /// What the system refused.
    pub trouble: Option<String>,
}

/// Threads by small numbers that are used again, as policies index them.
#[derive(Debug, Default)]
struct Places {
    /// The number of the thread at each place.
    threads: Vec<Option<u32>>,
}

impl Places {
    fn of(&mut self, number: u32) -> usize {
        if let Some(place) = self.threads.iter().position(|thread| *thread == Some(number)) {
            return place;
        }
        let free = self.threads.iter().position(Option::is_none);
        let place = free.unwrap_or(self.threads.len());
        if free.is_none() {
            self.threads.push(None);
        }
        self.threads[place] = Some(number);
        place
    }

    /// Threads that are not among these leave their places.
    fn keep(&mut self, snapshot: &Snapshot) {
        for place in &mut self.threads {
            let lives =
                |number: u32| snapshot.threads.binary_search_by_key(&number, |thread| thread.number).is_ok();
            if place.is_some_and(|number| !lives(number)) {
                *place = None;
            }
        }
    }
}

struct Steered<'a> {
    policy: Critical,
    places: Places,
    /// At the end of the last slice.
    last: Snapshot,
    last_cpu: Option<u64>,
    effect: Effect,
    helper: Helper<'a>,
    table: WaitTable,
    told: Told,
}

/// What registers a change with the guardian.
pub type Guard<'a> = &'a dyn Fn(Undo) -> io::Result<()>;

/// All processes of a session.
pub struct Steering<'a> {
    options: Options,
    hand: &'a dyn Hand,
    guard: Guard<'a>,
    steered: BTreeMap<u32, Steered<'a>>,
    ended: Vec<Told>,
    slice_end: Instant,
}

impl<'a> Steering<'a> {
    /// Nobody is helped yet.
    pub fn new(options: Options, hand: &'a dyn Hand, guard: Guard<'a>) -> Steering<'a> {
        let slice_end = Instant::now() + options.slice;
        Steering { options, hand, guard, steered: BTreeMap::new(), ended: Vec::new(), slice_end }
    }

    /// Looks at the program, and does what is to be done. How long to wait until the next time.
    pub fn step(&mut self, live: &mut Live) -> Duration {
        let now = Instant::now();
        let slice_ends = now >= self.slice_end;
        if slice_ends {
            self.slice_end = now + self.options.slice;
            live.refresh();
            self.take_in(live);
        }
        for process in live.processes() {
            let Some(steered) = self.steered.get_mut(&process.pid()) else { continue };
            if slice_ends {
                steered.slice(process, &self.options, self.hand);
            } else if steered.helper.minds_a_core() {
                steered.look(process, &self.options);
            }
        }
        let minds = self.steered.values().any(|steered| steered.helper.minds_a_core());
        let left = self.slice_end.saturating_duration_since(Instant::now());
        if minds { left.min(LOOK) } else { left }
    }

    fn take_in(&mut self, live: &Live) {
        let is_there = |pid: &u32| live.processes().iter().any(|process| process.pid() == *pid);
        let gone: Vec<u32> = self.steered.keys().copied().filter(|pid| !is_there(pid)).collect();
        for pid in gone {
            self.ended.extend(self.steered.remove(&pid).map(Steered::end));
        }
        for process in live.processes() {
            if self.steered.contains_key(&process.pid()) {
                continue;
            }
            let snapshot = process.snapshot();
            // Who has one thread has none that waits for it.
            if snapshot.threads.len() < 2 {
                continue;
            }
            let Ok(program) = Program::look(self.hand, process.pid()) else { continue };
            let guard = self.guard;
            let cpus = program.cpus.len();
            let helper = Helper::new(self.hand, program, self.options.means.clone(), Box::new(guard));
            let told = Told {
                process: process.pid(),
                watched: Duration::ZERO,
                critical: Duration::ZERO,
                helped: Duration::ZERO,
                used: BTreeSet::new(),
                threads: BTreeMap::new(),
                rates: None,
                verdict: Verdict::Trying,
                trouble: None,
            };
            let steered = Steered {
                policy: Critical::new(self.options.rules),
                places: Places::default(),
                last: snapshot,
                last_cpu: self.hand.cpu_ns(process.pid()),
                effect: Effect::new(cpus),
                helper,
                table: WaitTable::new(0),
                told,
            };
            self.steered.insert(process.pid(), steered);
        }
    }

    /// Takes everything back; gives what was done for each process that had several threads, the longest first.
    pub fn finish(mut self) -> Vec<Told> {
        let left = std::mem::take(&mut self.steered);
        self.ended.extend(left.into_values().map(Steered::end));
        self.ended.sort_by_key(|told| (std::cmp::Reverse(told.watched), told.process));
        self.ended
    }
}

impl Steered<'_> {
    /// A slice ends.
    fn slice(&mut self, process: &LiveProcess, options: &Options, hand: &dyn Hand) {
        let snapshot = process.snapshot();
        let slice = snapshot.since(&self.last);
        let length = Duration::from_nanos(slice.length_ns);
        let cpu = hand.cpu_ns(process.pid());
        let used = cpu.zip(self.last_cpu).map_or(0, |(now, then)| now.saturating_sub(then));
        self.told.watched += length;
        if let Some(thread) = self.named(&self.last) {
            self.told.critical += length;
            if self.helps(options) {
                self.told.helped += length;
                let entry = self.told.threads.entry(thread).or_default();
                entry.1 += length;
            }
            self.effect.slice(slice.length_ns, used);
        } else if self.effect.verdict() != Verdict::Trying {
            // Where nobody is critical there is nothing to compare, but time passes.
            self.effect.slice(slice.length_ns, used);
        }
        self.places.keep(&snapshot);
        let mut threads = Vec::<ThreadSlice>::new();
        for part in &slice.threads {
            let place = self.places.of(part.now.number);
            if threads.len() <= place {
                threads.resize(place + 1, ThreadSlice::default());
            }
            threads[place] = part.for_policy();
        }
        self.policy.decide(&Slice { length: slice.length_ns, threads: &threads, bottlenecks: &self.table });
        self.react(&snapshot);
        self.last = snapshot;
        self.last_cpu = cpu;
        self.act(options);
    }

    /// Looks within a slice whether the helped thread is active.
    fn look(&mut self, process: &LiveProcess, options: &Options) {
        let now = process.snapshot();
        // The sums stay those of the slice's beginning.
        self.last.active = now.active;
        for thread in &mut self.last.threads {
            let found = now.threads.binary_search_by_key(&thread.number, |thread| thread.number);
            if let Ok(index) = found {
                thread.state = now.threads[index].state;
            }
        }
        self.act(options);
    }

    fn react(&mut self, snapshot: &Snapshot) {
        let mut active = vec![false; self.places.threads.len()];
        for thread in &snapshot.threads {
            let place = self.places.of(thread.number);
            if active.len() <= place {
                active.resize(place + 1, false);
            }
            active[place] = thread.state.is_active();
        }
        self.policy.react(&Moment { now: snapshot.at_ns, active: &active, bottlenecks: &self.table });
    }

    /// The thread that Algorithm 1 accelerates, by its number.
    fn named(&self, snapshot: &Snapshot) -> Option<u32> {
        let place = *self.policy.accelerated().first()? as usize;
        let number = (*self.places.threads.get(place)?)?;
        snapshot.threads.iter().any(|thread| thread.number == number).then_some(number)
    }

    fn helps(&self, options: &Options) -> bool {
        options.always || self.effect.helps()
    }

    fn act(&mut self, options: &Options) {
        let named = self.named(&self.last).filter(|_| self.helps(options));
        let thread = named.and_then(|number| self.last.threads.iter().find(|thread| thread.number == number));
        let all: Vec<u32> = self.last.threads.iter().map(|thread| thread.tid).collect();
        let Some(thread) = thread else {
            self.helper.meet(&all);
            return self.helper.release();
        };
        self.told.threads.entry(thread.number).or_default().0 = thread.name.to_string();
        let cpus = options.means.cores.all.len();
        let is_crowded = thread.state.is_active() && self.last.active as usize > cpus;
        self.helper.help(&Wanted { thread: thread.tid, all: &all, is_crowded });
    }

    fn end(mut self) -> Told {
        self.helper.release();
        self.told.used.clone_from(self.helper.used());
        self.told.rates = self.effect.rates();
        self.told.verdict = self.effect.verdict();
        self.told.trouble = self.helper.trouble().map(str::to_owned);
        self.told.threads.retain(|_, (_, length)| !length.is_zero());
        self.told
    }
}
