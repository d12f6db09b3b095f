//! A recording made ready: what all simulations of it share.

use holdup_model::Run;
use holdup_recording::{Instructions, Recording};
use holdup_sim::{Program, SimThread};
use holdup_trace::instructions::{CodeClass, Loss};

use crate::calls::{Within, within};
use crate::code::code;
use crate::error::FeedError;
use crate::script::{Script, UnitPlace, scripts};
use crate::stream::{Telling, tell};
use crate::units::{Unit, UnitWriter};
use crate::wakes::{Wakes, same_threads, wakes};

/// A recording made ready for simulations: the program, and what its threads do. Simulations share it.
#[derive(Clone, Debug)]
pub struct Prepared<'a> {
    pub(crate) instructions: Instructions<'a>,
    program: Program,
    /// By thread: its stream.
    pub(crate) streams: Vec<u32>,
    /// By thread: what it does besides executing blocks.
    pub(crate) scripts: Vec<Script>,
    /// By thread: units that it executed.
    pub(crate) units: Vec<Vec<Unit>>,
    /// All units that are dealt, by number.
    pub(crate) places: Vec<UnitPlace>,
    /// By thread: instructions.
    executed: Vec<u64>,
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
        let mut tellings: Vec<Telling> = instructions
            .streams()
            .map(|stream| tell(&instructions, stream, &lengths, &first, &mut writer))
            .collect();
        tellings.sort_by_key(|telling| telling.number.unwrap_or(u32::MAX));
        check(&tellings, &instructions)?;
        let process = run.processes.first();
        let wakes = process.map_or_else(Wakes::new, |process| wakes(process, &tellings));
        let within = process.map_or_else(Within::new, |process| within(process, &tellings));
        let objects = process.map_or(&[][..], |process| &process.objects);
        let barriers = objects.iter().filter(|object| object.is_condition_barrier);
        let barriers = barriers.filter_map(|object| Some((object.address, object.parties?)));
        let found = scripts(&tellings, &wakes, &within, barriers.collect());
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
        let warnings = warnings(&tellings, &instructions, found.unexplained);
        code.blocks.shrink_to_fit();
        Ok(Prepared {
            program: Program {
                code,
                threads,
                locks: found.locks.iter().map(name_of).collect(),
                lock_addresses: found.locks,
                barriers: found.barriers,
                gates: found.gates,
                tokens: found.tokens,
                constructs: found.constructs,
                calls: found.calls,
                warnings,
            },
            streams: tellings.iter().map(|telling| telling.stream).collect(),
            executed: tellings.iter().map(|telling| telling.instructions).collect(),
            units: tellings.into_iter().map(|telling| telling.units).collect(),
            scripts: found.scripts,
            places: found.units,
            instructions,
        })
    }

    /// What is simulated.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many instructions were recorded of all threads together.
    pub fn instructions(&self) -> u64 {
        self.executed.iter().sum()
    }

    /// How many were recorded of each thread, by its index.
    pub fn executed(&self) -> &[u64] {
        &self.executed
    }
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
