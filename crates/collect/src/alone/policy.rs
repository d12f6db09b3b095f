//! Who is to run by itself, and when the others must be let go: decisions from what was seen, without a clock or a look of
//! its own.
//!
//! 1. *Choice.* Threads that begin while nobody is profiled are held and form a group. Once everybody else is quiet, or has
//!    executed for [`GATHERING`] without a new one, the wanted one is chosen: by the order that was asked for, else by that of
//!    creation, in which the thread that created them counts as the last. It stays so until it ends; a better one that
//!    has come since is chosen while it waits, or at once if it is held.
//! 2. *Sleep.* A profiled thread that is asleep on two looks while it has the turn waits where no hook sees it.
//! 3. *Silence.* One that comes to no hook for long may compute, or wait in a loop of the program's own. The others are let
//!    go; if it comes to a hook at once it waited for them, and the next silence will be short. Otherwise it will be
//!    twice as long.
//! 4. *Turns.* One that comes to hooks but does not wait may look again and again for something that others do. It is asked to
//!    let them go on for a moment, and does so at its next hook, where its stretch ends.
//! 5. *Others* that sleep where no hook sees it count as quiet.
//! 6. *Limit.* When the time for all of it is up, everybody runs to the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdup_trace::alone::{AloneCode, Conduct, Phase};

/// Who has executed for so long since the newest thread came creates no other one soon: the group is complete. It is CPU
/// time, since threads that have lost their core have not ended what they do.
const GATHERING: Duration = Duration::from_millis(20);
/// However little they got to execute, the group is complete after so long.
const LONGEST_GATHERING: Duration = Duration::from_secs(2);
/// Looks whether a thread sleeps are at least so far apart.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// The shortest silence that lets the others go, once the program is known to wait in loops of its own.
const SHORTEST_SILENCE: Duration = Duration::from_millis(20);
/// Who comes to a hook so soon after the others were let go had waited for them.
const AT_ONCE: Duration = Duration::from_millis(10);
/// A profiled thread that does not wait for so long lets the others go for a moment.
const LONG_TURN: Duration = Duration::from_millis(200);
/// The moment, the first [`SHORT_WINDOWS`] times in a row; then twice as long each time, up to [`LONGEST_WINDOW`].
const WINDOW: Duration = Duration::from_millis(2);
/// See [`WINDOW`].
const SHORT_WINDOWS: u32 = 5;
/// See [`WINDOW`].
const LONGEST_WINDOW: Duration = Duration::from_millis(64);

/// What is wanted.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Which thread of a group.
    pub which: u32,
    /// Places of threads, by their numbers, in the order in which `which` counts those of a group; who is not among them is
    /// not to be chosen, if another one is.
    pub order: BTreeMap<u32, usize>,
    /// The first silence that lets the others go.
    pub silence: Duration,
    /// When all of it is given up.
    pub limit: Duration,
}

/// A thread of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Its slot.
    pub slot: u32,
    /// Its number in the order of creation; the main thread's is 0.
    pub number: u32,
    /// Who created it.
    pub parent: Option<u32>,
    /// Its kernel id.
    pub tid: u32,
    /// What it does.
    pub conduct: Conduct,
}

/// What can be asked about a thread, by its kernel id.
pub(super) trait Look {
    /// True if it is asleep.
    fn is_asleep(&mut self, tid: u32) -> bool;
    /// For how long it has executed since it began; `None` where that cannot be known.
    fn executed(&mut self, tid: u32) -> Option<Duration>;
}

/// The program at one moment.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Time since the start.
    pub now: Duration,
    /// The phase of the turn.
    pub phase: Phase,
    /// The generation of the turn.
    pub generation: u32,
    /// The number of the profiled thread.
    pub profiled: Option<u32>,
    /// Raised at each of its hooks.
    pub progress: u32,
    /// The live threads.
    pub threads: Vec<Seen>,
    /// Threads that have been created and have not begun.
    pub unborn: u32,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// This thread is the profiled one from now on.
    Choose(Seen),
    /// The profiled thread is gone: new ones are gathered again.
    Gather,
    /// The others are let go; the profiled thread does not want its turn for so long.
    Release(AloneCode, Duration),
    /// The profiled thread is asked to let the others go on for so long.
    Cut(Duration),
    /// The thread in this slot counts as quiet: it sleeps.
    Sleeps(u32),
    /// Everybody runs to the end.
    GiveUp,
}

/// How often what was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub chosen: u32,
    pub sleeps: u32,
    pub silences: u32,
    pub spins: u32,
    pub turns: u32,
    pub sleepers: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Silent {
    generation: u32,
    progress: u32,
    since: Duration,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Policy {
    wanted: Wanted,
    pub(super) counts: Counts,
    silence: Duration,
    /// The number of the first thread of the present group.
    group: Option<u32>,
    /// The numbers of all its members so far, of those too that have ended, and who created them.
    members: BTreeSet<u32>,
    creator: Option<u32>,
    newest: Option<(u32, Duration)>,
    /// For how long threads had executed when the newest one came, by number.
    executed: BTreeMap<u32, Duration>,
    silent: Option<Silent>,
    /// Since when the present turn lasts, by its generation.
    turn: Option<(u32, Duration)>,
    /// Released since silent, at: whether the thread comes to a hook at once is to be seen.
    tried: Option<(u32, Duration)>,
    /// Turns in a row that were cut, and the generation after the last of them.
    cuts: (u32, u32),
    /// Who was asleep at the last look, and when that was.
    asleep: Vec<u32>,
    looked: Option<Duration>,
}

impl Policy {
    pub(super) fn new(wanted: Wanted) -> Policy {
        Policy {
            silence: wanted.silence,
            wanted,
            counts: Counts::default(),
            group: None,
            members: BTreeSet::new(),
            creator: None,
            newest: None,
            executed: BTreeMap::new(),
            silent: None,
            turn: None,
            tried: None,
            cuts: (0, 0),
            asleep: Vec::new(),
            looked: None,
        }
    }

    /// Decides; `look` is asked where words in memory do not say enough.
    pub(super) fn step(&mut self, view: &View, look: &mut dyn Look) -> Vec<Act> {
        if view.now >= self.wanted.limit {
            return vec![Act::GiveUp];
        }
        self.see_whether_it_spun(view);
        let profiled =
            view.profiled.and_then(|number| view.threads.iter().find(|seen| seen.number == number));
        match (profiled, view.phase) {
            (None, Phase::Gather) => self.gather(view, look),
            (None, _) => vec![Act::Gather],
            (Some(profiled), Phase::Alone) => self.watch(view, profiled, look),
            (Some(profiled), Phase::Wanted) => self.look_at_others(view, profiled, look),
            (Some(profiled), _) => self.choose_better(view, profiled),
        }
    }

    /// How long until the next step is due, if nothing calls before.
    pub(super) fn pause(&self, view: &View) -> Duration {
        const FRESH: Duration = Duration::from_millis(20);
        const SHORT: Duration = Duration::from_millis(1);
        const MIDDLE: Duration = Duration::from_millis(2);
        const LONG: Duration = Duration::from_millis(5);
        const IDLE: Duration = Duration::from_millis(20);
        let held = view.threads.iter().any(|seen| seen.conduct == Conduct::Held);
        let fresh = self.silent.is_none_or(|silent| view.now.saturating_sub(silent.since) < FRESH);
        match view.phase {
            Phase::Gather if held => SHORT,
            Phase::Wanted => SHORT,
            Phase::Alone if fresh => MIDDLE,
            Phase::Alone => LONG,
            Phase::Free if self.tried.is_some() => SHORT,
            Phase::Free | Phase::Gather => IDLE,
        }
    }

    fn gather(&mut self, view: &View, look: &mut dyn Look) -> Vec<Act> {
        self.group = None;
        let held = || view.threads.iter().filter(|seen| seen.conduct == Conduct::Held);
        let Some(newest) = held().map(|seen| seen.number).max() else { return Vec::new() };
        if self.newest.is_none_or(|(number, _)| number != newest) {
            self.newest = Some((newest, view.now));
            self.executed.clear();
        }
        let since = self.newest.map_or(view.now, |(_, since)| since);
        let waited = view.now.saturating_sub(since);
        if waited < LONGEST_GATHERING && (view.unborn > 0 || self.may_create(view, waited, look)) {
            return Vec::new();
        }
        // The thread that created the others is no member of the group, though it may be held with them.
        let oldest = held().map(|seen| seen.number).min();
        let first = held().filter(|seen| seen.parent.is_some()).map(|seen| seen.number).min().or(oldest);
        self.group = first;
        self.members.clear();
        self.creator = None;
        self.target(view).map_or_else(Vec::new, |target| self.choose(target))
    }

    /// True if a thread that runs may be about to create another one.
    fn may_create(&mut self, view: &View, waited: Duration, look: &mut dyn Look) -> bool {
        let mut restless = Vec::new();
        for seen in view.threads.iter().filter(|seen| seen.conduct == Conduct::Runs) {
            let lasted = match look.executed(seen.tid) {
                Some(now) => now.saturating_sub(*self.executed.entry(seen.number).or_insert(now)),
                None => waited,
            };
            if lasted < GATHERING {
                restless.push(seen.tid);
            }
        }
        if restless.is_empty() {
            return false;
        }
        let sleepers = self.sleeps_still(view, &restless, look).unwrap_or_default();
        restless.iter().any(|tid| !sleepers.contains(tid))
    }

    fn choose(&mut self, target: Seen) -> Vec<Act> {
        self.counts.chosen += 1;
        self.silent = None;
        self.turn = None;
        self.tried = None;
        vec![Act::Choose(target)]
    }

    /// The thread of the group that is to be profiled; `None` if it has ended.
    fn target(&mut self, view: &View) -> Option<Seen> {
        let first = self.group?;
        for seen in view.threads.iter().filter(|seen| seen.number >= first) {
            self.members.insert(seen.number);
            self.creator = self.creator.or(seen.parent);
        }
        let live = |number: u32| view.threads.iter().find(|seen| seen.number == number).copied();
        let which = self.wanted.which as usize;
        let place = |number: &u32| Some((*self.wanted.order.get(number)?, *number));
        let mut ordered: Vec<_> = self.members.iter().chain(&self.creator).filter_map(place).collect();
        ordered.sort_unstable();
        let wanted = match ordered.last() {
            Some((_, last)) => {
                let comes = self
                    .wanted
                    .order
                    .last_key_value()
                    .is_some_and(|(most, _)| Some(most) > self.members.last());
                let found = ordered.get(which).map(|(_, number)| *number);
                // Until it comes the creator is the one that has to go on.
                found.or(if comes { self.creator } else { Some(*last) })
            }
            None => self.members.iter().nth(which).copied(),
        };
        match wanted {
            Some(number) => live(number),
            None => self.creator.and_then(live).or(self.members.last().copied().and_then(live)),
        }
    }

    /// Another one may have come that is the wanted one of its group: it is chosen while the profiled thread waits, or, where
    /// it is held, at once, since it would be let go when the profiled one waits.
    fn choose_better(&mut self, view: &View, profiled: &Seen) -> Vec<Act> {
        let better = self.target(view).filter(|target| target.number != profiled.number);
        let better = better.filter(|target| match view.phase {
            Phase::Alone => target.conduct == Conduct::Held,
            _ => profiled.conduct == Conduct::Waits,
        });
        better.map_or_else(Vec::new, |target| self.choose(target))
    }

    fn watch(&mut self, view: &View, profiled: &Seen, look: &mut dyn Look) -> Vec<Act> {
        let better = self.choose_better(view, profiled);
        if !better.is_empty() {
            return better;
        }
        let present = Silent { generation: view.generation, progress: view.progress, since: view.now };
        let silent = match self.silent {
            Some(before)
                if (before.generation, before.progress) == (present.generation, present.progress) =>
            {
                before
            }
            _ => present,
        };
        self.silent = Some(silent);
        if self.turn.is_none_or(|(generation, _)| generation != view.generation) {
            self.turn = Some((view.generation, view.now));
            if self.cuts.1 != view.generation {
                self.cuts = (0, 0);
            }
        }
        if profiled.conduct == Conduct::Runs && self.sleeps_still(view, &[profiled.tid], look).is_some() {
            self.counts.sleeps += 1;
            return vec![Act::Release(AloneCode::Asleep, Duration::ZERO)];
        }
        if view.now.saturating_sub(silent.since) >= self.silence {
            self.counts.silences += 1;
            self.tried = Some((view.progress, view.now));
            return vec![Act::Release(AloneCode::Spun, WINDOW)];
        }
        let lasts = self.turn.map_or(Duration::ZERO, |(_, since)| view.now.saturating_sub(since));
        let comes = self.turn.is_some_and(|(_, since)| silent.since > since);
        if comes && lasts >= LONG_TURN && self.cuts.1 != view.generation.wrapping_add(1) {
            self.counts.turns += 1;
            let row = self.cuts.0 + 1;
            self.cuts = (row, view.generation.wrapping_add(1));
            let doublings = row.saturating_sub(SHORT_WINDOWS).min(8);
            return vec![Act::Cut((WINDOW * (1 << doublings)).min(LONGEST_WINDOW))];
        }
        Vec::new()
    }

    fn look_at_others(&mut self, view: &View, profiled: &Seen, look: &mut dyn Look) -> Vec<Act> {
        let running = |seen: &&Seen| seen.number != profiled.number && seen.conduct == Conduct::Runs;
        let tids: Vec<u32> = view.threads.iter().filter(running).map(|seen| seen.tid).collect();
        let Some(sleepers) = self.sleeps_still(view, &tids, look) else { return Vec::new() };
        let found = view.threads.iter().filter(running).filter(|seen| sleepers.contains(&seen.tid));
        let acts: Vec<Act> = found.map(|seen| Act::Sleeps(seen.slot)).collect();
        self.counts.sleepers += acts.len() as u32;
        acts
    }

    /// Those of `tids` that were asleep at the last look and are asleep now; `None` if there are none, or it is too early
    /// for a look.
    fn sleeps_still(&mut self, view: &View, tids: &[u32], look: &mut dyn Look) -> Option<Vec<u32>> {
        if self.looked.is_some_and(|looked| view.now < looked + BETWEEN_LOOKS) {
            return None;
        }
        self.looked = Some(view.now);
        let asleep: Vec<u32> = tids.iter().copied().filter(|tid| look.is_asleep(*tid)).collect();
        let before = std::mem::replace(&mut self.asleep, asleep);
        let still: Vec<u32> = self.asleep.iter().copied().filter(|tid| before.contains(tid)).collect();
        (!still.is_empty()).then_some(still)
    }

    /// After the others were let go since the profiled thread was silent: whether it was they whom it waited for.
    fn see_whether_it_spun(&mut self, view: &View) {
        let Some((progress, since)) = self.tried else { return };
        if view.progress != progress {
            self.tried = None;
            self.counts.spins += 1;
            let shorter = if self.counts.spins > 1 { SHORTEST_SILENCE } else { self.silence / 4 };
            self.silence = shorter.max(SHORTEST_SILENCE);
        } else if view.now.saturating_sub(since) > AT_ONCE {
            self.tried = None;
            self.silence *= 2;
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
