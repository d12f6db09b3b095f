//! From what threads tell to acts: each object gets its number, and each wait what ends it.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Mode;
use holdup_sim::{Act, CallWithin, Reason};

use crate::calls::Within;
use crate::stream::{JOIN, Telling};
use crate::told::{Told, Wait, Woke};
use crate::wakes::{Wakes, Woken};

/// What a thread does at a mark of its stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    Act(Act),
    /// Where units are dealt anew: it takes units of this construct.
    Deal(u32),
    /// Where they are dealt anew: what follows is a unit, and not executed here.
    UnitBegin,
    UnitEnd,
}

/// What a thread does besides executing blocks: at which mark of its stream, from 1.
pub(crate) type Script = Vec<(u32, Entry)>;

/// A unit among all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPlace {
    /// The index of the thread that executed it.
    pub thread: u32,
    /// Which of that thread's units it is.
    pub unit: u32,
    /// Where its entries begin in the script of the thread.
    pub script_at: u32,
}

/// Objects by number, and the scripts that name them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scripts {
    pub scripts: Vec<Script>,
    /// The addresses of locks.
    pub locks: Vec<u64>,
    pub barriers: Vec<u32>,
    pub gates: Vec<u32>,
    pub tokens: Vec<u64>,
    pub constructs: Vec<Vec<u32>>,
    pub calls: Vec<CallWithin>,
    pub units: Vec<UnitPlace>,
    /// By thread: another one creates it.
    pub is_created: Vec<bool>,
    /// Waits of which it is not known what ended them.
    pub unexplained: u64,
}

/// Translates what all threads tell. `condition_barriers` are the condition variables that are barriers, with their parties.
pub(crate) fn scripts(
    tellings: &[Telling],
    wakes: &Wakes,
    within: &Within,
    condition_barriers: BTreeMap<u64, u32>,
) -> Scripts {
    let mut writer = Writer::new(tellings, wakes, within, condition_barriers);
    for (thread, telling) in tellings.iter().enumerate() {
        let script = writer.script(thread, telling);
        writer.found.scripts.push(script);
    }
    writer.number_units();
    writer.found
}

/// What can be a gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GateKey {
    /// A wake-up: thread, object, which.
    Wake(usize, u64, u32),
    /// The beginning of a region.
    Region(u64),
    /// The creation of a task, and its end.
    Task(u64),
    TaskDone(u64),
}

struct Writer<'a> {
    tellings: &'a [Telling],
    wakes: &'a Wakes,
    within: &'a Within,
    found: Scripts,
    by_number: BTreeMap<u32, usize>,
    locks: BTreeMap<u64, u32>,
    barriers: BTreeMap<u64, u32>,
    /// Teams' barriers: region and, where its threads do not all come to the same number of meetings, meeting.
    teams: BTreeMap<(u64, u32), u32>,
    /// Conditions that are barriers: for how many threads.
    conditions: BTreeMap<u64, u32>,
    /// The mutex of each condition, from waits for it.
    mutexes: BTreeMap<u64, u64>,
    gates: BTreeMap<GateKey, u32>,
    semaphores: BTreeMap<u64, u32>,
    constructs: BTreeMap<u64, u32>,
    /// Units of each construct: first iteration, place.
    units: Vec<Vec<(u64, UnitPlace)>>,
    joined: Vec<bool>,
}

impl<'a> Writer<'a> {
    fn new(
        tellings: &'a [Telling],
        wakes: &'a Wakes,
        within: &'a Within,
        conditions: BTreeMap<u64, u32>,
    ) -> Writer<'a> {
        let numbers = tellings.iter().enumerate().filter_map(|(at, telling)| Some((telling.number?, at)));
        let mut writer = Writer {
            tellings,
            wakes,
            within,
            found: Scripts { is_created: vec![false; tellings.len()], ..Scripts::default() },
            by_number: numbers.collect(),
            locks: BTreeMap::new(),
            barriers: BTreeMap::new(),
            teams: BTreeMap::new(),
            conditions,
            mutexes: BTreeMap::new(),
            gates: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            constructs: BTreeMap::new(),
            units: Vec::new(),
            joined: vec![false; tellings.len()],
        };
        writer.number_barriers();
        writer.number_gates();
        writer.number_semaphores();
        writer.number_constructs();
        writer
    }

    fn told(&self) -> impl Iterator<Item = (usize, Told)> + use<'a> {
        let each = self.tellings.iter().enumerate();
        each.flat_map(|(index, telling)| telling.told.iter().map(move |(_, told)| (index, *told)))
    }

    /// Barriers are for as many threads as was said, or as come to them where that was not seen.
    fn number_barriers(&mut self) {
        let mut threads: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        // Of each region: by thread, how often it comes to a meeting; and by meeting, how many threads come.
        let mut comes: BTreeMap<u64, BTreeMap<usize, u32>> = BTreeMap::new();
        let mut meetings: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        for (index, told) in self.told() {
            match told {
                Told::Arrive(object) => {
                    threads.entry(object).or_default().insert(index);
                }
                Told::Meet(instance, sequence) => {
                    *comes.entry(instance).or_default().entry(index).or_default() += 1;
                    *meetings.entry((instance, sequence)).or_default() += 1;
                }
                _ => {}
            }
        }
        let said: BTreeMap<u64, u64> =
            self.tellings.iter().flat_map(|telling| telling.barriers.iter().copied()).collect();
        for (object, threads) in threads {
            let parties = said.get(&object).map_or(threads.len() as u32, |parties| *parties as u32);
            self.barriers.insert(object, self.found.barriers.len() as u32);
            self.found.barriers.push(parties.max(1));
        }
        for (&(instance, sequence), &count) in &meetings {
            let threads = &comes[&instance];
            let mut counts = threads.values();
            let first = counts.next();
            if counts.all(|count| Some(count) == first) {
                // Its threads meet again and again: one barrier.
                if !self.teams.contains_key(&(instance, JOIN)) {
                    self.teams.insert((instance, JOIN), self.found.barriers.len() as u32);
                    self.found.barriers.push(threads.len() as u32);
                }
                let barrier = self.teams[&(instance, JOIN)];
                self.teams.insert((instance, sequence), barrier);
            } else {
                self.teams.insert((instance, sequence), self.found.barriers.len() as u32);
                self.found.barriers.push(count);
            }
        }
        for (object, parties) in self.conditions.clone() {
            self.barriers.insert(object, self.found.barriers.len() as u32);
            self.found.barriers.push(parties);
        }
    }

    /// Gates are what is both opened and waited for.
    fn number_gates(&mut self) {
        let mut opened: BTreeSet<GateKey> = BTreeSet::new();
        let mut awaited: BTreeSet<GateKey> = BTreeSet::new();
        for (_, told) in self.told() {
            match told {
                Told::RegionBegin(instance) => {
                    opened.insert(GateKey::Region(instance));
                }
                Told::ShareBegin(instance) => {
                    awaited.insert(GateKey::Region(instance));
                }
                Told::TaskCreate(task) => {
                    opened.insert(GateKey::Task(task));
                }
                Told::TaskBegin(task) => {
                    awaited.insert(GateKey::Task(task));
                }
                Told::TaskDone(task) => {
                    opened.insert(GateKey::TaskDone(task));
                }
                Told::TaskAwaited(task) => {
                    awaited.insert(GateKey::TaskDone(task));
                }
                _ => {}
            }
        }
        for (index, telling) in self.tellings.iter().enumerate() {
            for woke in &telling.wakes {
                opened.insert(GateKey::Wake(index, woke.object, woke.number));
            }
            for wait in &telling.waits {
                self.mutexes.insert(wait.object, wait.mutex);
                if let Some(Woken::By(by, which) | Woken::TimedOut(_, Some((by, which)))) =
                    self.wakes.get(&(index, wait.object, wait.number))
                {
                    awaited.insert(GateKey::Wake(*by, wait.object, *which));
                }
            }
        }
        self.gates = opened.intersection(&awaited).copied().zip(0..).collect();
        self.found.gates = vec![1; self.gates.len()];
    }

    /// A semaphore has at first what it was initialized with; at least so much that all takes that were seen can be.
    fn number_semaphores(&mut self) {
        let mut uses: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (_, told) in self.told() {
            match told {
                Told::Take(object) => uses.entry(object).or_default().0 += 1,
                Told::Give(object) => uses.entry(object).or_default().1 += 1,
                _ => {}
            }
        }
        let said: BTreeMap<u64, u64> =
            self.tellings.iter().flat_map(|telling| telling.semaphores.iter().copied()).collect();
        for (object, (takes, gives)) in uses {
            self.semaphores.insert(object, self.found.tokens.len() as u32);
            let value = said.get(&object).copied().unwrap_or(0);
            self.found.tokens.push(value.max(takes.saturating_sub(gives)));
        }
    }

    /// Constructs that dealt out at least one unit.
    fn number_constructs(&mut self) {
        let mut last = None;
        for (_, told) in self.told() {
            match told {
                Told::Deal(construct) => last = Some(construct),
                Told::UnitBegin => {
                    if let Some(construct) = last.take() {
                        let next = self.units.len() as u32;
                        if *self.constructs.entry(construct).or_insert(next) == next {
                            self.units.push(Vec::new());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Units are dealt in the order of their first iterations.
    fn number_units(&mut self) {
        for mut units in std::mem::take(&mut self.units) {
            units.sort_by_key(|(first, place)| (*first, place.thread, place.unit));
            let begin = self.found.units.len() as u32;
            self.found.units.extend(units.iter().map(|(_, place)| *place));
            self.found.constructs.push((begin..self.found.units.len() as u32).collect());
        }
    }

    fn script(&mut self, thread: usize, telling: &Telling) -> Script {
        let mut script = Script::new();
        let mut created: Vec<usize> = Vec::new();
        let mut held: BTreeSet<u64> = BTreeSet::new();
        let mut construct = None;
        let mut units = 0;
        for (mark, told) in &telling.told {
            let mut act = |act: Act| script.push((*mark, Entry::Act(act)));
            match *told {
                Told::Cut => act(Act::Cut),
                Told::Created(number) => {
                    let child = self.by_number.get(&number).copied();
                    if let Some(child) = child.filter(|child| *child != thread) {
                        created.push(child);
                        if !std::mem::replace(&mut self.found.is_created[child], true) {
                            act(Act::Create(child as u32));
                        }
                    }
                }
                Told::Join(handle) => {
                    if let Some(child) = self.joined(handle, &created).filter(|child| *child != thread) {
                        act(Act::Join(child as u32));
                    }
                }
                Told::Acquire(lock, mode) => {
                    held.insert(lock);
                    act(Act::Acquire(self.lock(lock), mode));
                }
                Told::Release(lock) => {
                    held.remove(&lock);
                    act(Act::Release(self.lock(lock)));
                }
                Told::Arrive(object) => act(Act::Arrive(self.barriers[&object])),
                Told::Meet(instance, sequence) => act(Act::Arrive(self.teams[&(instance, sequence)])),
                Told::RegionBegin(instance) => self.open(GateKey::Region(instance), &mut act),
                Told::ShareBegin(instance) => self.pass_gate(GateKey::Region(instance), &mut act),
                Told::TaskCreate(task) => self.open(GateKey::Task(task), &mut act),
                Told::TaskBegin(task) => self.pass_gate(GateKey::Task(task), &mut act),
                Told::TaskDone(task) => self.open(GateKey::TaskDone(task), &mut act),
                Told::TaskAwaited(task) => self.pass_gate(GateKey::TaskDone(task), &mut act),
                Told::Take(object) => act(Act::Take(self.semaphores[&object], Reason::Condition)),
                Told::Give(object) => act(Act::Give(self.semaphores[&object])),
                Told::Wait(wait) => self.wait(thread, &telling.waits[wait as usize], &mut act),
                Told::Woke(woke) => {
                    let woke = &telling.wakes[woke as usize];
                    let mutex = self.mutexes.get(&woke.object).copied();
                    self.woke(thread, woke, mutex.filter(|mutex| held.contains(mutex)), &mut act);
                }
                Told::Call(call) => {
                    let nanos = telling.calls[call as usize].nanos;
                    act(match self.within.get(&(thread, call)) {
                        Some(within) => {
                            self.found.calls.push(CallWithin { nanos, ..*within });
                            Act::CallWithin(self.found.calls.len() as u32 - 1)
                        }
                        None => Act::Call { nanos },
                    });
                }
                Told::Deal(key) => {
                    construct = self.constructs.get(&key).copied();
                    if let Some(construct) = construct {
                        script.push((*mark, Entry::Deal(construct)));
                    }
                }
                Told::UnitBegin => {
                    script.push((*mark, Entry::UnitBegin));
                    if let Some(construct) = construct {
                        let place =
                            UnitPlace { thread: thread as u32, unit: units, script_at: script.len() as u32 };
                        let first = telling.units[units as usize].first;
                        self.units[construct as usize].push((first, place));
                    }
                    units += 1;
                }
                Told::UnitEnd => script.push((*mark, Entry::UnitEnd)),
            }
        }
        script
    }

    fn lock(&mut self, address: u64) -> u32 {
        let next = self.found.locks.len() as u32;
        let number = *self.locks.entry(address).or_insert(next);
        if number == next {
            self.found.locks.push(address);
        }
        number
    }

    /// Handles are used again: the first thread with this one that was not joined, one of the thread's own if there is.
    fn joined(&mut self, handle: u64, created: &[usize]) -> Option<usize> {
        let is_it = |child: &usize| !self.joined[*child] && self.tellings[*child].handle == handle;
        let own = created.iter().copied().find(is_it);
        let child = own.or_else(|| (0..self.tellings.len()).find(is_it))?;
        self.joined[child] = true;
        Some(child)
    }

    fn open(&self, gate: GateKey, act: &mut impl FnMut(Act)) {
        if let Some(gate) = self.gates.get(&gate) {
            act(Act::Open(*gate));
        }
    }

    fn pass_gate(&self, gate: GateKey, act: &mut impl FnMut(Act)) {
        if let Some(gate) = self.gates.get(&gate) {
            act(Act::Pass(*gate, Reason::Condition));
        }
    }

    fn wait(&mut self, thread: usize, wait: &Wait, act: &mut impl FnMut(Act)) {
        if wait.is_condition && self.conditions.contains_key(&wait.object) {
            if !wait.looks_again {
                act(Act::Arrive(self.barriers[&wait.object]));
            }
            return;
        }
        match self.wakes.get(&(thread, wait.object, wait.number)) {
            Some(Woken::By(by, which)) => self.pass_gate(GateKey::Wake(*by, wait.object, *which), act),
            Some(Woken::TimedOut(nanos, later)) => {
                let gate =
                    later.and_then(|(by, which)| self.gates.get(&GateKey::Wake(by, wait.object, which)));
                act(match gate {
                    Some(gate) => Act::PassWithin(*gate, Reason::Condition, nanos.get()),
                    None => Act::Call { nanos: nanos.get() },
                });
            }
            None => self.found.unexplained += 1,
        }
    }

    /// Who wakes the others of a barrier has come to it too; it does not keep the mutex while it waits for those who come
    /// later in the simulation.
    fn woke(&self, thread: usize, woke: &Woke, mutex: Option<u64>, act: &mut impl FnMut(Act)) {
        if woke.is_condition && woke.broadcasts && self.conditions.contains_key(&woke.object) {
            let mutex = mutex.and_then(|mutex| self.locks.get(&mutex));
            if let Some(mutex) = mutex {
                act(Act::Release(*mutex));
            }
            act(Act::Arrive(self.barriers[&woke.object]));
            if let Some(mutex) = mutex {
                act(Act::Acquire(*mutex, Mode::Exclusive));
            }
            return;
        }
        self.open(GateKey::Wake(thread, woke.object, woke.number), act);
    }
}
