//! A recording made ready: what all simulations of it share.

use std::collections::BTreeSet;

use holdup_model::{Mode, Run};
use holdup_recording::{Instructions, Recording};
use holdup_sim::{Act, Program, SimThread, Skipped, Spun};
use holdup_trace::instructions::{CodeClass, Loss};

use crate::calls::{Within, within};
use crate::code::code;
use crate::error::FeedError;
use crate::order::{First, StepScript, order};
use crate::script::{Entry, Script, UnitPlace, scripts};
use crate::stream::{Telling, tell};
use crate::told::Told;
use crate::units::{Unit, UnitWriter};
use crate::wakes::{Wakes, same_threads, wakes};
use crate::words::{Survey, word_uses};

/// A recording made ready for simulations: the program, and what its threads do. Simulations share it.
#[derive(Clone, Debug)]
pub struct Prepared<'a> {
    pub(crate) instructions: Instructions<'a>,
    program: Program,
    /// By thread: its stream.
    pub(crate) streams: Vec<u32>,
    /// By thread: what it does besides executing blocks.
    pub(crate) scripts: Vec<Script>,
    /// By thread: what it does at words of memory that others use too.
    pub(crate) step_scripts: Vec<StepScript>,
    /// By thread: units that it executed.
    pub(crate) units: Vec<Vec<Unit>>,
    /// All units that are dealt, by number.
    pub(crate) places: Vec<UnitPlace>,
    /// By thread: instructions.
    pub(crate) executed: Vec<u64>,
    /// By thread: what it did before it was of interest, list by list.
    pub(crate) before: Vec<Vec<Skipped>>,
}

impl<'a> Prepared<'a> {
    /// Reads the streams of a recording once; `run` is what the same recording gives.
    ///
    /// Threads are in the order of their numbers, as those of counts are.
    ///
    /// # Errors
    /// [`FeedError`] where there is nothing that could be simulated.
    pub fn new(recording: &'a Recording, run: &Run) -> Result<Prepared<'a>, FeedError> {
        let instructions = Instructions::of(recording).ok_or(FeedError::NoStreams)?;
        let mut code = code(&instructions.blocks);
        let lengths: Vec<u32> = instructions.blocks.iter().map(|block| block.instructions).collect();
        let accesses = code.accesses.len();
        let first: Vec<usize> =
            code.blocks.iter().map(|block| block.accesses.start as usize).chain([accesses]).collect();
        let mut writer = UnitWriter::default();
        let mut survey = Survey::new(&code, &instructions.blocks);
        let mut tellings: Vec<Telling> = instructions
            .streams()
            .map(|stream| tell(&instructions, stream, &lengths, &first, &mut writer, &mut survey))
            .collect();
        tellings.sort_by_key(|telling| telling.number.unwrap_or(u32::MAX));
        check(&tellings, &instructions)?;
        let process = run.processes.first();
        let wakes = process.map_or_else(Wakes::new, |process| wakes(process, &tellings));
        let within = process.map_or_else(Within::new, |process| within(process, &tellings));
        let objects = process.map_or(&[][..], |process| &process.objects);
        let barriers = objects.iter().filter(|object| object.is_condition_barrier);
        let barriers = barriers.filter_map(|object| Some((object.address, object.parties?)));
        let mut found = scripts(&tellings, &wakes, &within, barriers.collect());
        let streams: Vec<u32> = tellings.iter().map(|telling| telling.stream).collect();
        let known = known_words(&tellings);
        let uses = word_uses(survey, &instructions, &streams, |word| known.contains(&word));
        let first = First {
            lock: found.locks.len() as u32,
            barrier: found.barriers.len() as u32,
            gate: found.gates.len() as u32,
        };
        let order = order(&uses, first);
        let told_locks = found.locks.clone();
        let spins = |address: &u64| tellings.iter().any(|telling| telling.spin_locks.contains(address));
        let told_spins = (0..).zip(&told_locks).filter(|(_, address)| spins(address)).map(|(lock, _)| lock);
        let spun_locks = told_spins.chain((first.lock..).take(order.locks.len())).collect();
        found.locks.extend(&order.locks);
        found.barriers.extend(&order.barriers);
        found.gates.extend(&order.gates);
        let names = recording.processes.first().and_then(|raw| raw.names.as_ref());
        let name_of = |address: &u64| {
            let known = names.and_then(|names| names.data.get(address).cloned());
            known.unwrap_or_else(|| format!("lock at {address:#x}"))
        };
        let mut threads: Vec<SimThread> = (0..)
            .zip(&tellings)
            .map(|(index, telling)| SimThread {
                number: telling.number.unwrap_or(index),
                name: None,
                entry: telling.entry,
                is_created: found.is_created[index as usize],
            })
            .collect();
        if let Some(process) = process {
            let same = same_threads(process.threads.iter().map(|thread| thread.tid), &tellings);
            for (thread, index) in process.threads.iter().zip(same) {
                if let Some(index) = index {
                    threads[index].name.clone_from(&thread.name);
                }
            }
        }
        let before = (0..).zip(&tellings).map(|(thread, telling)| {
            let lists = telling.touched.iter();
            lists
                .map(|list| Skipped::before(thread, list.pages.iter().copied(), list.lines.iter().copied()))
                .collect()
        });
        let before = before.collect();
        let warnings = warnings(&tellings, &instructions, found.unexplained);
        let executed: Vec<u64> = tellings.iter().map(|telling| telling.instructions).collect();
        let doubts = unordered(order.unordered, executed.iter().sum());
        code.blocks.shrink_to_fit();
        Ok(Prepared {
            program: Program {
                code,
                threads,
                locks: found.locks.iter().map(name_of).collect(),
                // The words of others are accessed by what was recorded.
                lock_addresses: told_locks,
                spun: Spun { locks: spun_locks, barrier: first.barrier, gate: first.gate },
                barriers: found.barriers,
                gates: found.gates,
                tokens: found.tokens,
                constructs: found.constructs,
                calls: found.calls,
                doubts: doubts.into_iter().collect(),
                warnings,
            },
            streams,
            executed,
            before,
            step_scripts: order.scripts,
            units: tellings.into_iter().map(|telling| telling.units).collect(),
            scripts: found.scripts,
            places: found.units,
            instructions,
        })
    }

    /// The same with empty caches where what is simulated begins.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.before.iter_mut().for_each(Vec::clear);
        self
    }

    /// What is simulated.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many instructions were recorded of all threads together.
    pub fn instructions(&self) -> u64 {
        self.executed.iter().sum()
    }

    /// How many threads work at once, at most.
    pub fn working_at_once(&self) -> u32 {
        working_at_once(&self.program.threads, &self.executed, &self.scripts)
    }
}

/// How many threads work at once, at most: those that executed at least a twentieth of what the busiest did, but of those that one
/// thread creates only as many as there are before it has joined others of them.
fn working_at_once(threads: &[SimThread], executed: &[u64], scripts: &[Script]) -> u32 {
    const SHARE: u64 = 20;
    let most = executed.iter().copied().max().unwrap_or(0);
    let works =
        |thread: usize| executed.get(thread).is_some_and(|own| *own > 0 && own.saturating_mul(SHARE) >= most);
    let created = |script: &Script| {
        let mut there: BTreeSet<u32> = BTreeSet::new();
        let mut at_once = 0;
        for (_, entry) in script {
            match *entry {
                Entry::Act(Act::Create(child)) if works(child as usize) => _ = there.insert(child),
                Entry::Act(Act::Join(child)) => _ = there.remove(&child),
                _ => {}
            }
            at_once = at_once.max(there.len());
        }
        at_once
    };
    let first = (0..threads.len()).filter(|thread| !threads[*thread].is_created && works(*thread)).count();
    let at_once = first + scripts.iter().map(created).sum::<usize>();
    at_once.max(1) as u32
}

/// Words of objects that marks tell of: what is done there, these tell.
fn known_words(tellings: &[Telling]) -> BTreeSet<u64> {
    let mut objects = BTreeSet::new();
    for telling in tellings {
        objects.extend(telling.told.iter().filter_map(|(_, told)| match *told {
            // The C library's: a barrier and a semaphore have 32 bytes, a mutex 40, a read-write lock 56, a spin lock 4.
            Told::Acquire(object, Mode::Shared) => Some((object, 56)),
            Told::Acquire(object, Mode::Exclusive) => Some((object, 40)),
            Told::Arrive(object) | Told::Take(object) | Told::Give(object) => Some((object, 32)),
            _ => None,
        }));
        objects.extend(telling.waits.iter().filter(|wait| wait.is_condition).map(|wait| (wait.object, 48)));
    }
    objects.into_iter().flat_map(|(object, bytes)| object..object.saturating_add(bytes)).collect()
}

/// What the reader must know of waits whose end is not known, if these are more than a hundredth of what was executed.
fn unordered(instructions: u64, all: u64) -> Option<String> {
    let share = instructions as f64 / all.max(1) as f64;
    (share > 0.01).then(|| {
        format!(
            "{:.0} % of the instructions wait in loops of the program's own for what holdup does not understand: they \
             are executed as often as recorded, and threads do not wait for each other there.",
            100.0 * share
        )
    })
}

fn check(tellings: &[Telling], instructions: &Instructions<'_>) -> Result<(), FeedError> {
    if tellings.iter().any(|telling| telling.instructions > 0) {
        return Ok(());
    }
    if tellings.iter().any(|telling| telling.has_counts) {
        return Err(FeedError::CountsOnly);
    }
    if instructions.damaged_pieces > 0 || tellings.iter().any(|telling| !telling.is_whole) {
        return Err(FeedError::Damaged);
    }
    Err(FeedError::NothingExecuted)
}

fn warnings(tellings: &[Telling], instructions: &Instructions<'_>, unexplained: u64) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(why) = tellings.iter().find_map(|telling| telling.lost) {
        let end = match why {
            Some(Loss::Instructions) => "at the limit on instructions",
            Some(Loss::Bytes) => "at the limit on the recording's size",
            Some(Loss::RecorderLeft) => "when holdup did",
            Some(Loss::Room) => "for some threads or blocks, of which there were too many",
            None => "before the program did",
        };
        told.push(format!("recording ended {end}: what came later is not simulated"));
    }
    if instructions.damaged_pieces > 0 || tellings.iter().any(|telling| !telling.is_whole) {
        told.push(
            "parts of the instruction streams are damaged or missing: threads end early in the simulation"
                .to_owned(),
        );
    }
    let cut = tellings.iter().skip(1).filter(|telling| telling.is_at_work && telling.instructions > 0);
    match cut.count() {
        0 => {}
        1 => told.push("a thread still ran when the program ended: it is simulated up to there".to_owned()),
        count => told.push(format!(
            "{count} threads still ran when the program ended: they are simulated up to there"
        )),
    }
    if tellings.iter().any(|telling| telling.leaves) {
        told.push("the program started other programs: only its own process is simulated".to_owned());
    }
    if tellings.iter().any(|telling| telling.has_tasks) {
        told.push("OpenMP tasks are executed by the threads that executed them when recorded".to_owned());
    }
    if unexplained > 0 {
        let waits = if unexplained == 1 { "wait" } else { "waits" };
        told.push(format!(
            "of {unexplained} {waits} for conditions it is not known who ended them: they take no time"
        ));
    }
    if !instructions.blocks.iter().any(|block| block.class == CodeClass::Own) {
        told.push("no code of the program itself was executed, only that of libraries".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_follow_others_do_not_work_beside_them() {
        let threads = |created: &[bool]| -> Vec<SimThread> {
            created
                .iter()
                .map(|is_created| SimThread { is_created: *is_created, ..SimThread::default() })
                .collect()
        };
        let script = |acts: &[Act]| -> Script { (1..).zip(acts.iter().copied().map(Entry::Act)).collect() };
        let (create, join) = (Act::Create, Act::Join);
        let of = |executed: &[u64], acts: &[Act]| {
            let mut scripts = vec![script(acts)];
            scripts.resize(executed.len(), Script::new());
            let created: Vec<bool> = (0..executed.len()).map(|thread| thread > 0).collect();
            working_at_once(&threads(&created), executed, &scripts)
        };
        // Who did next to nothing did not work.
        assert_eq!(of(&[10, 1000, 900, 50, 0], &[create(1), create(2), create(3), create(4)]), 3);
        assert_eq!((of(&[], &[]), of(&[0, 0], &[create(1)])), (1, 1));
        // Two rounds of two threads each, in which the first works too.
        let rounds = [create(1), create(2), join(1), join(2), create(3), create(4), join(3), join(4)];
        assert_eq!(of(&[100; 5], &rounds), 3);
        assert_eq!(of(&[1, 100, 100, 100, 100], &rounds), 2);
        // Who is never joined stays.
        assert_eq!(of(&[100; 4], &[create(1), create(2), join(2), create(3)]), 3);
    }
}
