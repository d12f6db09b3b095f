//! What words that threads share are: locks, barriers, flags; and so what the simulation has to keep in order.
//!
//! Recorded is what each thread did, not who was first: so what a word is follows from the patterns of all threads' uses.
//!
//! | | each thread |
//! |---|---|
//! | a lock that is taken | takes and writes it in turn (test-and-set, compare-and-swap, with back-off, on futexes) |
//! | a lock with tickets | waits for a word and writes it in turn, and draws a number before |
//! | turns | the same, without numbers |
//! | a barrier | waits for a word or writes it, all as often; or adds to it and waits for it, all as often |
//! | a lock with a queue | swaps or counts a word, and at the end writes another one for which another thread waits (MCS, CLH, arrays of flags) |
//! | a flag | one writes, others wait as often; or several count, and others wait once |
//!
//! A thread holds a lock from the attempt that succeeded to its next write. Attempts that failed, and all looks of a wait but
//! the first and the last one, are left out: how long it waits is decided in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use holdup_model::Mode;
use holdup_sim::{Act, Reason};

use crate::words::{Use, WordUse, WordUses};

/// Where a thread has executed all its steps.
pub(crate) const END_STEP: u64 = u64::MAX / 4;
/// Steps between drawing a number and waiting for its turn.
const DRAWS: u64 = 64;

/// What a thread does at a step of its own, besides what marks say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AtStep {
    Act(Act),
    /// What follows is left out up to this step, which is executed.
    LeaveOut(u64),
}

/// What a thread does at its steps, in order: the key is twice the step for what is before it, and one more for what is
/// behind.
pub(crate) type StepScript = Vec<(u64, AtStep)>;

/// Objects that threads share by words, behind those that marks tell of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// The addresses of locks, from this number on.
    pub locks: Vec<u64>,
    /// Parties of barriers.
    pub barriers: Vec<u32>,
    /// Acts that open gates.
    pub gates: Vec<u32>,
    /// By thread.
    pub scripts: Vec<StepScript>,
    /// Instructions of waits of which it is not known what ends them.
    pub unordered: u64,
}

/// The numbers of the first objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct First {
    pub lock: u32,
    pub barrier: u32,
    pub gate: u32,
}

/// Finds out what words are.
pub(crate) fn order(found: &WordUses, first: First) -> Order {
    let mut by_word: Vec<Rows> = vec![Rows::new(); found.words.len()];
    for (thread, uses) in found.uses.iter().enumerate() {
        for (at, one) in uses.iter().enumerate() {
            by_word[one.word as usize].entry(thread).or_default().push(at);
        }
    }
    let mut finder = Finder {
        found,
        first,
        order: Order { scripts: vec![Vec::new(); found.uses.len()], ..Order::default() },
        settled: found.uses.iter().map(|uses| vec![false; uses.len()]).collect(),
        shared: by_word.iter().map(|rows| rows.len() > 1).collect(),
    };
    let mut left = Vec::new();
    for (word, rows) in by_word.iter().enumerate() {
        let is_known = finder.shared[word]
            && (finder.lock(word, rows)
                || finder.counted_barrier(rows)
                || finder.tickets(word, rows)
                || finder.barrier(rows));
        if !is_known {
            left.push(word);
        }
    }
    left.retain(|word| !finder.queue(*word, &by_word));
    for word in left {
        finder.flag(&by_word[word]);
    }
    finder.end()
}

/// Waits of a thread, each with the write behind it.
type Turns = Vec<(usize, Option<usize>)>;
/// By thread: its uses of a word.
type Rows = BTreeMap<usize, Vec<usize>>;

struct Finder<'a> {
    found: &'a WordUses,
    first: First,
    order: Order,
    /// By thread and use: it is known what it waits for.
    settled: Vec<Vec<bool>>,
    /// By word: several threads use it.
    shared: Vec<bool>,
}

impl Finder<'_> {
    fn at(&self, thread: usize, at: usize) -> WordUse {
        self.found.uses[thread][at]
    }

    fn before(&mut self, thread: usize, step: u64, act: Act) {
        self.order.scripts[thread].push((2 * step, AtStep::Act(act)));
    }

    fn behind(&mut self, thread: usize, step: u64, act: Act) {
        self.order.scripts[thread].push((2 * step + 1, AtStep::Act(act)));
    }

    /// The thread does this before the use, and what it did until the use ended is left out.
    fn instead(&mut self, thread: usize, at: usize, act: Option<Act>) {
        self.instead_of(thread, at..=at, act);
    }

    /// As [`Finder::instead`], for several that follow each other.
    fn instead_of(&mut self, thread: usize, range: RangeInclusive<usize>, act: Option<Act>) {
        let (begin, end) = (self.at(thread, *range.start()).begin, self.at(thread, *range.end()).end);
        self.settled[thread][range].fill(true);
        if let Some(act) = act {
            self.before(thread, begin, act);
        }
        if end > begin + 1 {
            self.order.scripts[thread].push((2 * begin + 1, AtStep::LeaveOut(end)));
        }
    }

    fn hold(&mut self, lock: u32, thread: usize, taken: RangeInclusive<usize>, freed: Option<usize>) {
        self.instead_of(thread, taken, Some(Act::Acquire(lock, Mode::Exclusive)));
        match freed {
            Some(freed) => {
                self.settled[thread][freed] = true;
                let end = self.at(thread, freed).end;
                self.behind(thread, end, Act::Release(lock));
            }
            None => self.behind(thread, END_STEP, Act::Release(lock)),
        }
    }

    fn new_lock(&mut self, word: usize) -> u32 {
        self.order.locks.push(self.found.words[word]);
        self.first.lock + self.order.locks.len() as u32 - 1
    }

    fn new_barrier(&mut self, parties: usize) -> u32 {
        self.order.barriers.push(parties as u32);
        self.first.barrier + self.order.barriers.len() as u32 - 1
    }

    fn new_gate(&mut self, acts: usize) -> u32 {
        self.order.gates.push(acts as u32);
        self.first.gate + self.order.gates.len() as u32 - 1
    }

    /// A lock that is taken.
    fn lock(&mut self, word: usize, rows: &Rows) -> bool {
        // Who takes it: the first attempt, the one that succeeded, and what frees it.
        let mut held = Vec::new();
        let (mut attempts, mut takers) = (0, 0);
        for (&thread, row) in rows {
            let mut taken: Option<(usize, usize)> = None;
            let mut freed = None;
            let mut takes = false;
            let mut strange = 0;
            for &at in row {
                match self.at(thread, at).of {
                    Use::Waits => {}
                    Use::Takes | Use::Compares => {
                        takes = true;
                        let goes_on = freed.is_none() && self.at(thread, at).goes_on;
                        attempts += usize::from(!goes_on);
                        if let (Some(taken), Some(freed)) = (taken, freed.take()) {
                            held.push((thread, taken, freed));
                        }
                        let first = taken.filter(|_| goes_on).map_or(at, |(first, _)| first);
                        taken = Some((first, at));
                    }
                    // The first write frees it; others tell who sleeps.
                    Use::Writes | Use::Counts if taken.is_some() => freed = freed.or(Some(at)),
                    Use::Writes | Use::Counts => strange += 1,
                }
            }
            if let (Some(taken), Some(freed)) = (taken, freed) {
                held.push((thread, taken, freed));
            }
            takers += usize::from(takes);
            // Who made it may have written it.
            if strange > 1 {
                return false;
            }
        }
        if takers < 2 || 2 * held.len() < attempts || held.is_empty() {
            return false;
        }
        let lock = self.new_lock(word);
        for (thread, (first, taken), freed) in held {
            self.hold(lock, thread, first..=taken, Some(freed));
        }
        self.settle(rows);
        true
    }

    /// All that is done at a word is known.
    fn settle(&mut self, rows: &Rows) {
        for (&thread, row) in rows {
            for &at in row {
                self.settled[thread][at] = true;
            }
        }
    }

    /// Waits and the writes behind them, if each of the threads does these in turn.
    fn turns(&self, rows: &Rows) -> Option<BTreeMap<usize, Turns>> {
        let mut found: BTreeMap<usize, Turns> = BTreeMap::new();
        for (&thread, row) in rows {
            let mut turns: Turns = Vec::new();
            // Who made it may have written it.
            let mut strange = 0;
            for &at in row {
                match (self.at(thread, at).of, turns.last_mut()) {
                    (Use::Takes | Use::Compares, _) => return None,
                    (Use::Waits, Some((_, None))) => return None,
                    (Use::Waits, _) => turns.push((at, None)),
                    (Use::Writes | Use::Counts, Some((_, written @ None))) => *written = Some(at),
                    (Use::Writes | Use::Counts, _) => strange += 1,
                }
            }
            if strange > 1 {
                return None;
            }
            if !turns.is_empty() {
                found.insert(thread, turns);
            }
        }
        (found.len() > 1).then_some(found)
    }

    /// The word at which the thread counted just before a use of another word.
    fn draws(&self, thread: usize, at: usize) -> Option<u32> {
        let one = self.at(thread, at);
        let before = self.found.uses[thread][..at].iter().rev();
        // Who comes last may write that word before it lets the others through.
        let mut near = before.take(2).take_while(|before| one.begin <= before.end + DRAWS);
        near.find(|before| before.of == Use::Counts && before.word != one.word).map(|before| before.word)
    }

    /// Whether those who wait for a word have drawn numbers for other words, too.
    fn is_one_of_several(&self, word: usize, turns: &BTreeMap<usize, Turns>) -> bool {
        turns.iter().any(|(&thread, turns)| {
            let counter = turns.iter().find_map(|(at, _)| self.draws(thread, *at));
            let uses = &self.found.uses[thread];
            let others = (0..uses.len()).filter(|at| {
                let one = uses[*at];
                one.of == Use::Waits && one.word as usize != word && self.shared[one.word as usize]
            });
            counter.is_some() && others.into_iter().any(|at| self.draws(thread, at) == counter)
        })
    }

    /// A lock with tickets, or turns.
    fn tickets(&mut self, word: usize, rows: &Rows) -> bool {
        let Some(turns) = self.turns(rows) else { return false };
        let all: usize = turns.values().map(Vec::len).sum();
        let drawn: usize = turns
            .iter()
            .map(|(thread, turns)| turns.iter().filter(|(at, _)| self.draws(*thread, *at).is_some()).count())
            .sum();
        if 10 * drawn >= 9 * all {
            // An array of flags, each for who drew its number, is one lock.
            if self.is_one_of_several(word, &turns) {
                return false;
            }
            let lock = self.new_lock(word);
            for (thread, turns) in turns {
                for (waits, written) in turns {
                    self.hold(lock, thread, waits..=waits, written);
                }
            }
        } else if all > 2 * turns.len() && turns.values().all(|own| own.len() == all / turns.len()) {
            self.alternate(&turns);
        } else {
            return false;
        }
        self.settle(rows);
        true
    }

    /// Threads take turns; who did not have to wait at first was the first, and the order is that of their numbers: with another
    /// one their turns would take as long.
    fn alternate(&mut self, turns: &BTreeMap<usize, Turns>) {
        let mut all: Vec<(&usize, &Turns)> = turns.iter().collect();
        all.sort_by_key(|(thread, turns)| {
            let first = self.at(**thread, turns[0].0);
            (first.end > first.begin, **thread)
        });
        let rounds = all.iter().map(|(_, turns)| turns.len()).max().unwrap_or(0);
        let mut gate = None;
        for round in 0..rounds {
            for (thread, turns) in &all {
                let Some(&(waits, written)) = turns.get(round) else { continue };
                self.instead(**thread, waits, gate.map(|gate| Act::Pass(gate, Reason::Condition)));
                gate = written.map(|written| {
                    let gate = self.new_gate(1);
                    let end = self.at(**thread, written).end;
                    self.behind(**thread, end, Act::Open(gate));
                    gate
                });
            }
        }
    }

    fn barrier(&mut self, rows: &Rows) -> bool {
        let of = |thread: usize, at: &usize| self.at(thread, *at).of;
        let count = |row: &[usize], thread: usize, uses: &[Use]| {
            row.iter().filter(|at| uses.contains(&of(thread, at))).count()
        };
        let each = |uses: &[Use]| -> Vec<usize> {
            rows.iter().map(|(thread, row)| count(row, *thread, uses)).collect()
        };
        let (waits, writes, counts) = (each(&[Use::Waits]), each(&[Use::Writes]), each(&[Use::Counts]));
        if each(&[Use::Takes, Use::Compares]).iter().any(|takes| *takes > 0)
            || waits.iter().all(|waits| *waits == 0)
        {
            return false;
        }
        let rounds = waits[0] + writes[0] + counts[0];
        let passes = (0..waits.len()).all(|at| waits[at] + writes[at] + counts[at] == rounds);
        let ended = writes.iter().chain(&counts).sum::<usize>();
        let writers = (0..waits.len()).filter(|at| writes[*at] + counts[*at] > 0).count();
        // Where one thread alone lets the others through it is a flag, unless all have counted that they came.
        let come = rows.iter().all(|(thread, row)| row.iter().all(|at| self.draws(*thread, *at).is_some()));
        if passes && ended == rounds && (writers > 1 || come) {
            // Who comes last lets the others through.
            let barrier = self.new_barrier(rows.len());
            for (&thread, row) in rows {
                for &at in row {
                    self.instead(thread, at, Some(Act::Arrive(barrier)));
                }
            }
            return true;
        }
        false
    }

    /// A barrier at which each thread counts and waits until all have.
    fn counted_barrier(&mut self, rows: &Rows) -> bool {
        let of = |thread: usize, at: usize| self.at(thread, at).of;
        let rounds = rows.values().next().map_or(0, Vec::len);
        let is_one = rows.iter().all(|(&thread, row)| {
            let mut pairs = row.chunks(2);
            row.len() == rounds
                && pairs.all(|pair| {
                    pair.len() == 2 && of(thread, pair[0]) == Use::Counts && of(thread, pair[1]) == Use::Waits
                })
        });
        if is_one {
            let barrier = self.new_barrier(rows.len());
            for (&thread, row) in rows {
                for &at in row.iter().skip(1).step_by(2) {
                    self.instead(thread, at, Some(Act::Arrive(barrier)));
                }
            }
            self.settle(rows);
        }
        is_one
    }

    /// A lock with a queue: what is written last before the next time is a word for which others wait, or the queue's.
    fn queue(&mut self, word: usize, by_word: &[Rows]) -> bool {
        let rows = &by_word[word];
        let joins = |thread: usize, at: usize| {
            let one = self.found.uses[thread][at];
            one.word as usize == word && matches!(one.of, Use::Takes | Use::Counts)
        };
        let leaves =
            |one: WordUse| one.word as usize == word && matches!(one.of, Use::Writes | Use::Compares);
        let waits = |thread: usize, at: &usize| self.at(thread, *at).of == Use::Waits;
        let awaited_by = |word: u32, by: &dyn Fn(usize) -> bool| {
            let mut rows = by_word[word as usize].iter().filter(|(thread, _)| by(**thread));
            rows.any(|(thread, row)| row.iter().any(|at| waits(*thread, at)))
        };
        let mut held = Vec::new();
        let mut absorbed = Vec::new();
        let mut members = BTreeSet::new();
        for (&thread, row) in rows {
            let uses = &self.found.uses[thread];
            let entries: Vec<usize> = row.iter().copied().filter(|at| joins(thread, *at)).collect();
            for (number, &begin) in entries.iter().enumerate() {
                let end = entries.get(number + 1).copied().unwrap_or(uses.len());
                let hands_over = |at: &usize, to: &dyn Fn(usize) -> bool| {
                    let one = uses[*at];
                    let is_open = !self.settled[thread][*at];
                    leaves(one)
                        || is_open && matches!(one.of, Use::Writes | Use::Counts) && awaited_by(one.word, to)
                };
                // Just before it comes again it makes its own word ready.
                let next = entries.get(number + 1).map_or(u64::MAX, |next| uses[*next].begin);
                let in_time = |at: &usize| uses[*at].end + 1 < next;
                let last = |to: &dyn Fn(usize) -> bool, when: &dyn Fn(&usize) -> bool| {
                    (begin + 1..end).rev().find(|at| hands_over(at, to) && when(at))
                };
                let others = |to: usize| to != thread;
                // Who was alone for a while handed it over to itself.
                let freed = last(&others, &in_time).or_else(|| last(&|_| true, &in_time));
                let freed = freed.or_else(|| last(&others, &|_| true));
                if freed.is_none() && number + 1 < entries.len() {
                    return false;
                }
                held.push((thread, begin, freed));
                members.insert(thread);
                let waits = |at: &usize| uses[*at].of == Use::Waits && !self.settled[thread][*at];
                absorbed.extend((begin + 1..end).filter(waits).map(|at| (thread, at)));
            }
        }
        // Where nobody had to wait, all left as they had come.
        let alone = |&(thread, _, freed): &(usize, usize, Option<usize>)| {
            freed.is_some_and(|freed| leaves(self.at(thread, freed)))
        };
        if members.len() < 2 || absorbed.is_empty() && !held.iter().all(alone) {
            return false;
        }
        let lock = self.new_lock(word);
        for (thread, taken, freed) in held {
            self.hold(lock, thread, taken..=taken, freed);
        }
        for (thread, at) in absorbed {
            self.instead(thread, at, None);
        }
        true
    }

    fn flag(&mut self, rows: &Rows) {
        let mut writers: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut waiters: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut counted = 0;
        for (&thread, row) in rows {
            let of = |uses: &[Use]| -> Vec<usize> {
                row.iter().copied().filter(|at| uses.contains(&self.at(thread, *at).of)).collect()
            };
            let open = |at: &usize| !self.settled[thread][*at];
            let waits: Vec<usize> = of(&[Use::Waits]).into_iter().filter(open).collect();
            let writes = of(&[Use::Writes, Use::Counts]);
            counted += of(&[Use::Counts]).len();
            if !of(&[Use::Takes, Use::Compares]).is_empty() || !waits.is_empty() && !writes.is_empty() {
                return;
            }
            if !waits.is_empty() {
                waiters.push((thread, waits));
            }
            if !writes.is_empty() {
                writers.push((thread, writes));
            }
        }
        let writes: usize = writers.iter().map(|(_, writes)| writes.len()).sum();
        if waiters.is_empty() || writes == 0 {
            return;
        }
        if waiters.iter().all(|(_, waits)| waits.len() == 1) && (writes == 1 || counted == writes) {
            let gate = self.new_gate(writes);
            for (thread, writes) in writers {
                for at in writes {
                    let end = self.at(thread, at).end;
                    self.behind(thread, end, Act::Open(gate));
                }
            }
            for (thread, waits) in waiters {
                self.instead(thread, waits[0], Some(Act::Pass(gate, Reason::Condition)));
            }
            return;
        }
        let [(writer, writes)] = writers.as_slice() else { return };
        if waiters.iter().any(|(_, waits)| waits.len() != writes.len()) {
            return;
        }
        for (number, &at) in writes.iter().enumerate() {
            let gate = self.new_gate(1);
            let end = self.at(*writer, at).end;
            self.behind(*writer, end, Act::Open(gate));
            for (thread, waits) in &waiters {
                self.instead(*thread, waits[number], Some(Act::Pass(gate, Reason::Condition)));
            }
        }
    }

    fn end(mut self) -> Order {
        for (uses, settled) in self.found.uses.iter().zip(&self.settled) {
            let open = uses.iter().zip(settled).filter(|(_, settled)| !**settled).map(|(one, _)| one);
            let waits = open.filter(|one| one.of == Use::Waits && self.shared[one.word as usize]);
            self.order.unordered += waits.map(|one| one.instructions).sum::<u64>();
        }
        for script in &mut self.order.scripts {
            script.sort_by_key(|(key, _)| *key);
        }
        self.order
    }
}
