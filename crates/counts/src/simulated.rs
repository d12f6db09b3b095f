//! Counts of a simulated run: times are cycles, and what missed where is counted beside the edges.
//!
//! The simulator cuts a thread's cycles where a piece of its course ends, so the n-th [`CyclePiece`] of a thread is what the
//! n-th piece of its stream took.

use std::collections::BTreeMap;

use holdup_model::counts::{
    BlockId, CountSource, Counts, EventId, HardwareEvent, HardwareKind, Instance, SectionKind, SectionPlace,
    TimeUnit,
};
use holdup_model::cycles::{CycleComponent, CyclePiece, CycleStack, Level, PieceMisses, Simulated};
use holdup_model::{Frame, Run};
use holdup_recording::Recording;

use crate::counts::{Gathered, gathered};
use crate::error::CountsError;
use crate::paths::RowPieces;

/// The counts of a recording, with the cycles and misses of a simulation of it for which
/// [`CyclePiece::misses`] were wanted and units were not dealt out anew. `names` has the frames of instructions.
///
/// # Errors
/// As [`crate::counts`].
pub fn simulated_counts(
    recording: &Recording,
    run: &Run,
    simulated: &Simulated,
    names: &BTreeMap<u64, Vec<Frame>>,
) -> Result<Counts, CountsError> {
    let Gathered { mut counts, rows } = gathered(recording, run)?;
    let pieces = Pieces::of(&counts, simulated);
    let mut events = Hardware::of(&counts, &pieces, names);
    for (section, rows) in counts.sections.iter_mut().zip(&rows) {
        for (instance, rows) in section.instances.iter_mut().zip(rows) {
            for (row, own) in (0..).zip(rows) {
                let found: Vec<&CyclePiece> = pieces.of_row(own).collect();
                set_time(instance, row, found.iter().map(|piece| own_cycles(&piece.stack)).sum());
                events.add(instance, row, found.iter().flat_map(|piece| &piece.misses));
            }
            instance.executed.entries.sort_unstable();
        }
    }
    counts.source = CountSource::Simulated;
    counts.time_unit = TimeUnit::Cycles;
    counts.hardware = std::mem::take(&mut events.all);
    counts.warnings.extend(simulated.all_warnings().cloned());
    Ok(counts)
}

/// A static parallel section, and where its cycles went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedSection {
    /// What ends it.
    pub kind: SectionKind,
    /// Where it ends.
    pub end: SectionPlace,
    /// Where it begins.
    pub begin: SectionPlace,
    /// Its dynamic instances.
    pub instances: u32,
    /// Instructions of all threads in it.
    pub instructions: u64,
    /// Where the cycles of all threads went. Waiting at its end counts to what follows.
    pub stack: CycleStack,
}

/// Where the cycles of a simulated recording went by parallel section.
///
/// # Errors
/// As [`crate::counts`].
pub fn simulated_sections(
    recording: &Recording,
    run: &Run,
    simulated: &[&Simulated],
) -> Result<Vec<Vec<SimulatedSection>>, CountsError> {
    let Gathered { counts, rows } = gathered(recording, run)?;
    let sections = simulated.iter().map(|simulated| {
        let pieces = Pieces::of(&counts, simulated);
        let sections = counts.sections.iter().zip(&rows).map(|(section, rows)| {
            let mut found = SimulatedSection {
                kind: section.kind,
                end: section.end.clone(),
                begin: section.begin.clone(),
                instances: section.instances.len() as u32,
                ..SimulatedSection::default()
            };
            for piece in rows.iter().flatten().flat_map(|own| pieces.of_row(own)) {
                found.instructions += piece.instructions;
                found.stack.add(&piece.stack);
            }
            found
        });
        sections.collect()
    });
    Ok(sections.collect())
}

/// The simulated pieces of each thread that was counted.
struct Pieces<'a>(Vec<&'a [CyclePiece]>);

impl<'a> Pieces<'a> {
    fn of(counts: &Counts, simulated: &'a Simulated) -> Pieces<'a> {
        let of_thread = |number: u32| {
            let found = simulated.threads.iter().find(|thread| thread.number == number);
            found.map_or(&[][..], |thread| thread.pieces.as_slice())
        };
        Pieces(counts.threads.iter().map(|thread| of_thread(thread.number)).collect())
    }

    fn of_row(&self, (thread, numbers): &RowPieces) -> impl Iterator<Item = &'a CyclePiece> {
        let pieces = self.0.get(*thread).copied().unwrap_or_default();
        let end = numbers.end.min(pieces.len());
        pieces[numbers.start.min(end)..end].iter()
    }
}

/// The cycles that a thread needed for what it did: neither waiting for others nor for a core.
fn own_cycles(stack: &CycleStack) -> u64 {
    let others = [CycleComponent::NoCore, CycleComponent::Imbalance];
    stack.total() - stack.sync() - others.iter().map(|component| stack.get(*component)).sum::<u64>()
}

/// Sets the time of a row. Units of work that were dealt out have the share of it that they have of its instructions.
fn set_time(instance: &mut Instance, row: u32, cycles: u64) {
    let Some(time) = instance.time.get_mut(row as usize) else { return };
    let units = || instance.units.iter().filter(|unit| unit.row == row);
    let instructions = u128::from(*time) + units().map(|unit| u128::from(unit.time)).sum::<u128>();
    let share = |part: u64| match instructions {
        0 => 0,
        whole => (u128::from(cycles) * u128::from(part) / whole) as u64,
    };
    let mut left = cycles;
    for unit in instance.units.iter_mut().filter(|unit| unit.row == row) {
        unit.time = share(unit.time);
        left -= unit.time;
    }
    *time = left;
}

/// The kinds of events of an instruction, superiors before those that cannot be without them.
const KINDS: [HardwareKind; 7] = [
    HardwareKind::Access,
    HardwareKind::MissL1,
    HardwareKind::MissL2,
    HardwareKind::MissLast,
    HardwareKind::TlbMiss,
    HardwareKind::Queueing,
    HardwareKind::BranchMiss,
];

/// The kind without which one of this kind cannot be; `None`: the instruction's executions.
fn superior(kind: HardwareKind) -> Option<HardwareKind> {
    match kind {
        HardwareKind::Access | HardwareKind::BranchMiss => None,
        HardwareKind::MissL1 | HardwareKind::TlbMiss => Some(HardwareKind::Access),
        HardwareKind::MissL2 | HardwareKind::Queueing => Some(HardwareKind::MissL1),
        HardwareKind::MissLast => Some(HardwareKind::MissL2),
    }
}

/// How often it happened.
fn amount(kind: HardwareKind, misses: &PieceMisses) -> u64 {
    let from = |levels: &[Level]| levels.iter().map(|level| misses.served[*level as usize]).sum::<u64>();
    match kind {
        HardwareKind::Access => misses.accesses.max(misses.served.iter().sum()),
        HardwareKind::MissL1 => from(&Level::ALL[1..]),
        HardwareKind::MissL2 => from(&Level::ALL) - from(&[Level::L1, Level::L2]),
        HardwareKind::MissLast => from(&[Level::OffSocket, Level::Dram]),
        HardwareKind::TlbMiss => misses.tlb_misses,
        HardwareKind::Queueing => misses.interconnect_queueing + misses.memory_queueing,
        HardwareKind::BranchMiss => misses.branch_misses,
    }
}

/// Which events of an instruction are worth telling, by [`KINDS`]. `all` are those of all instructions: what is less than a
/// thousandth of them is no cause. Neither is queueing for less than a fiftieth of the threads' own cycles. A miss that nearly always is one in the next level, too, is that alone: the two would only
/// share what they explain.
fn worth_telling(sums: &[u64; KINDS.len()], all: &[u64; KINDS.len()], cycles: u64) -> [bool; KINDS.len()] {
    const LEAST: u64 = 1000;
    const LEAST_QUEUEING: u64 = 50;
    const NEARLY: f64 = 0.9;
    let at = |kind| KINDS.iter().position(|known| *known == kind).unwrap_or(0);
    let mut told = [false; KINDS.len()];
    for (told, (sum, all)) in told.iter_mut().zip(sums.iter().zip(all)) {
        *told = *sum > 0 && sum.saturating_mul(LEAST) >= *all;
    }
    let queueing = at(HardwareKind::Queueing);
    told[queueing] &= sums[queueing].saturating_mul(LEAST_QUEUEING) >= cycles;
    let levels = [HardwareKind::MissL1, HardwareKind::MissL2, HardwareKind::MissLast].map(at);
    for (above, below) in [(levels[1], levels[2]), (levels[0], levels[1]), (levels[0], levels[2])] {
        if told[below] && sums[below] as f64 >= NEARLY * sums[above] as f64 {
            told[above] = false;
        }
    }
    let is_cause = told[1..].iter().any(|told| *told);
    told[0] = is_cause && sums[0] > 0;
    told
}

/// Hardware events, as they are found.
struct Hardware {
    all: Vec<HardwareEvent>,
    ids: BTreeMap<(u64, HardwareKind), EventId>,
}

impl Hardware {
    /// All that happened, by address and kind.
    fn of(counts: &Counts, pieces: &Pieces<'_>, names: &BTreeMap<u64, Vec<Frame>>) -> Hardware {
        let mut happened: BTreeMap<u64, [u64; KINDS.len()]> = BTreeMap::new();
        for misses in pieces.0.iter().flat_map(|pieces| pieces.iter()).flat_map(|piece| &piece.misses) {
            let sums = happened.entry(misses.address).or_default();
            sums.iter_mut().zip(KINDS).for_each(|(sum, kind)| *sum += amount(kind, misses));
        }
        let all_pieces = pieces.0.iter().flat_map(|pieces| pieces.iter());
        let cycles = all_pieces.map(|piece| own_cycles(&piece.stack)).sum();
        let mut all = [0; KINDS.len()];
        for sums in happened.values() {
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        let starts: BTreeMap<u64, BlockId> =
            (0..).map(BlockId).zip(&counts.blocks).map(|(id, block)| (block.address, id)).collect();
        let mut found = Hardware { all: Vec::new(), ids: BTreeMap::new() };
        for (address, sums) in happened {
            // Its block begins at or before it; what is in a library has none.
            let block = starts.range(..=address).next_back().map(|(_, id)| *id).filter(|id| {
                let block = &counts.blocks[id.index()];
                block.address == address || block.listing.iter().any(|(own, _)| *own == address)
            });
            let told = worth_telling(&sums, &all, cycles);
            for (kind, _) in KINDS.into_iter().zip(told).filter(|(_, told)| *told) {
                let id = EventId((counts.edges.len() + found.all.len()) as u32);
                found.ids.insert((address, kind), id);
                let superior =
                    superior(kind).and_then(|superior| found.ids.get(&(address, superior)).copied());
                let at = names.get(&address).cloned().unwrap_or_default();
                found.all.push(HardwareEvent { kind, at, address, block, superior });
            }
        }
        found
    }

    /// Adds what happened in pieces to a row.
    fn add<'a>(&self, instance: &mut Instance, row: u32, misses: impl Iterator<Item = &'a PieceMisses>) {
        let mut sums: BTreeMap<EventId, u64> = BTreeMap::new();
        for misses in misses {
            for kind in KINDS {
                if let Some(id) = self.ids.get(&(misses.address, kind)) {
                    *sums.entry(*id).or_default() += amount(kind, misses);
                }
            }
        }
        let happened = sums.into_iter().filter(|(_, sum)| *sum > 0);
        instance.executed.entries.extend(happened.map(|(id, sum)| (id, row, sum)));
    }
}

#[cfg(test)]
mod tests;
