//! Who asks when: each slice's criticality goes to Algorithm 1, and what it says to the helper.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use holdup_live::{Live, LiveProcess, Snapshot, ThreadNow};
use holdup_pirate::Undo;
use holdup_policy::{Critical, Moment, Policy, Rules, Slice, ThreadSlice, WaitTable};

use crate::effect::{Effect, Verdict};
use crate::hand::Hand;
use crate::helper::{Helper, Program, Wanted};
use crate::means::{Means, Tool};

/// How often it is looked whether a thread that is to have a CPU for itself while it is active is active.
const LOOK: Duration = Duration::from_millis(1);

/// A CPU is given by the criticality of so long, where the slice is shorter: who moves from CPU to CPU loses time, and when
/// one thread has its CPU, which other one ends last is a matter of chance from slice to slice.
const CORE_WINDOW: Duration = Duration::from_millis(100);

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
    /// At the ends of the last slices: as many as the policy is shown at once.
    past: VecDeque<Snapshot>,
    /// When it was last looked.
    now: Snapshot,
    last_cpu: Option<u64>,
    effect: Effect,
    helper: Helper<'a>,
    table: WaitTable,
    told: Told,
    tell: Tell<'a>,
    /// Who is helped, as far as that has been told, and its share of the criticality of the time that decides.
    helped: Option<u32>,
    share: f64,
}

/// What happens to a process that is steered, for who wants to follow it.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A thread, by its number and name, is helped from now on, with this share of the criticality that decided.
    Helps(u32, String, f64),
    /// Nobody is.
    Rests,
    /// CPUs in use with and without help, in the last pair of stretches, and what is thought of help now.
    Compared(f64, f64, Verdict),
}

/// Told of events: the process, and for how long it has run.
pub type Tell<'a> = &'a dyn Fn(u32, Duration, Event);

/// What registers a change with the guardian.
pub type Guard<'a> = &'a dyn Fn(Undo) -> io::Result<()>;

/// All processes of a session.
pub struct Steering<'a> {
    options: Options,
    hand: &'a dyn Hand,
    guard: Guard<'a>,
    tell: Tell<'a>,
    steered: BTreeMap<u32, Steered<'a>>,
    ended: Vec<Told>,
    slice_end: Instant,
}

impl<'a> Steering<'a> {
    /// Nobody is helped yet.
    pub fn new(options: Options, hand: &'a dyn Hand, guard: Guard<'a>, tell: Tell<'a>) -> Steering<'a> {
        let slice_end = Instant::now() + options.slice;
        Steering { options, hand, guard, tell, steered: BTreeMap::new(), ended: Vec::new(), slice_end }
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
                past: VecDeque::from([snapshot.clone()]),
                now: snapshot,
                last_cpu: self.hand.cpu_ns(process.pid()),
                effect: Effect::new(cpus),
                helper,
                table: WaitTable::new(0),
                told,
                tell: self.tell,
                helped: None,
                share: 0.0,
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
        let before = self.past.back().map_or(0, |snapshot| snapshot.at_ns);
        let was_named = self.named();
        self.now = process.snapshot();
        let length = self.now.at_ns.saturating_sub(before);
        let cpu = hand.cpu_ns(process.pid());
        let used = cpu.zip(self.last_cpu).map_or(0, |(now, then)| now.saturating_sub(then));
        self.last_cpu = cpu;
        self.told.watched += Duration::from_nanos(length);
        if let Some(thread) = was_named {
            self.told.critical += Duration::from_nanos(length);
            if self.helps(options) {
                self.told.helped += Duration::from_nanos(length);
                self.told.threads.entry(thread).or_default().1 += Duration::from_nanos(length);
            }
        }
        // Where nobody is critical there is nothing to compare, but time passes.
        if was_named.is_some() || self.effect.verdict() != Verdict::Trying {
            let compared = self.effect.slice(length, used);
            if let Some((with, without)) = compared {
                self.tells(Event::Compared(with, without, self.effect.verdict()));
            }
        }
        self.decide(options);
        self.react();
        self.act(options);
    }

    /// Shows the policy what the last slice was like, or the last few.
    fn decide(&mut self, options: &Options) {
        let window = if self.helper.gives_cores() { CORE_WINDOW } else { options.slice };
        let slices = (window.as_nanos() / options.slice.as_nanos()).max(1) as usize;
        while self.past.len() > slices {
            self.past.pop_front();
        }
        let slice = self.now.since(&self.past[0]);
        self.places.keep(&self.now);
        let mut threads = Vec::<ThreadSlice>::new();
        for part in &slice.threads {
            let place = self.places.of(part.now.number);
            if threads.len() <= place {
                threads.resize(place + 1, ThreadSlice::default());
            }
            threads[place] = part.for_policy();
        }
        self.policy.decide(&Slice { length: slice.length_ns, threads: &threads, bottlenecks: &self.table });
        let all = slice.with_somebody_ns().max(1) as f64;
        let named = self.named();
        let part = slice.threads.iter().find(|part| Some(part.now.number) == named);
        self.share = part.map_or(0.0, |part| part.criticality_ns as f64 / all);
        self.past.push_back(self.now.clone());
    }

    fn tells(&self, event: Event) {
        (self.tell)(self.told.process, Duration::from_nanos(self.now.at_ns), event);
    }

    /// Looks within a slice whether the helped thread is active.
    fn look(&mut self, process: &LiveProcess, options: &Options) {
        self.now = process.snapshot();
        self.act(options);
    }

    fn react(&mut self) {
        let mut active = vec![false; self.places.threads.len()];
        for thread in &self.now.threads {
            let place = self.places.of(thread.number);
            if active.len() <= place {
                active.resize(place + 1, false);
            }
            active[place] = thread.state.is_active();
        }
        self.policy.react(&Moment { now: self.now.at_ns, active: &active, bottlenecks: &self.table });
    }

    /// The thread that Algorithm 1 accelerates, by its number.
    fn named(&self) -> Option<u32> {
        let place = *self.policy.accelerated().first()? as usize;
        let number = (*self.places.threads.get(place)?)?;
        self.now.threads.iter().any(|thread| thread.number == number).then_some(number)
    }

    fn helps(&self, options: &Options) -> bool {
        options.always || self.effect.helps()
    }

    fn act(&mut self, options: &Options) {
        let named = self.named().filter(|_| self.helps(options));
        let thread = named.and_then(|number| self.now.threads.iter().find(|thread| thread.number == number));
        let all: Vec<u32> = self.now.threads.iter().map(|thread| thread.tid).collect();
        let helped = thread.map(|thread| thread.number);
        if self.helped != helped {
            let helps = |thread: &ThreadNow| Event::Helps(thread.number, thread.name.to_string(), self.share);
            self.tells(thread.map_or(Event::Rests, helps));
            self.helped = helped;
        }
        let Some(thread) = thread else {
            self.helper.meet(&all);
            return self.helper.release();
        };
        self.told.threads.entry(thread.number).or_default().0 = thread.name.to_string();
        let cpus = options.means.cores.all.len();
        // With others fewer than the remaining CPUs nobody loses by its having one, and taking it back costs.
        let is_crowded =
            thread.state.is_active() && (self.helper.has_a_core() || self.now.active as usize > cpus);
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
