//! What padding gains: simulations in which falsely shared lines are padded, after those that find them.

use holdup_model::Arrange;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use holdup_cycles::{CycleNames, FalseSharing, false_sharing};
use holdup_model::cycles::Simulated;
use holdup_sim::{Changes, Padding};

use super::plan::{Role, Simulation};

/// For so many pieces of code, those that cost most, it is simulated what padding gains.
const MOST_PIECES: usize = 3;

/// What is simulated once it is known which lines are falsely shared.
pub(super) struct Second {
    /// Those that the user asked for, by their index in the plan.
    pub(super) asked: Vec<(usize, Simulation)>,
    /// Those that tell what padding gains in the simulation that is told in detail.
    pub(super) gains: Vec<(BTreeSet<u64>, Simulation)>,
    /// The index of that one.
    pub(super) in_detail: Option<usize>,
}

impl Second {
    /// What follows from the simulations that pad nothing, which `done` has by their index in the plan.
    pub(super) fn of(planned: &[Simulation], done: &[Option<(Simulated, Duration)>]) -> Second {
        let found = |index: usize| done[index].as_ref().map(|(simulated, _)| simulated);
        let asked = (0..planned.len()).filter(|&index| planned[index].pads).map(|index| {
            let base = (0..index).rev().find(|&base| is_plain(&planned[base])).and_then(found);
            let lines = base.map(falsely_shared).unwrap_or_default();
            (index, padded(&planned[index], base, &lines.iter().map(|line| line.address).collect()))
        });
        let in_detail = in_detail(planned);
        let gains = in_detail.and_then(|index| Some((&planned[index], found(index)?))).map(|(plain, run)| {
            let sets = together(run).into_iter();
            sets.map(|lines| (lines.clone(), padded(plain, Some(run), &lines))).collect()
        });
        Second { asked: asked.collect(), gains: gains.unwrap_or_default(), in_detail }
    }
}

/// True for a simulation of the program and the machine as they are.
fn is_plain(simulation: &Simulation) -> bool {
    simulation.role == Role::Told && simulation.words.is_empty()
}

/// The simulation that the answer tells of in detail: of the first recording and machine, on the most cores.
fn in_detail(planned: &[Simulation]) -> Option<usize> {
    let first = planned.first()?;
    let is_like = |one: &Simulation| one.input == first.input && one.machine.name == first.machine.name;
    let plain = planned.iter().enumerate().filter(|(_, one)| is_plain(one) && is_like(one));
    plain.max_by_key(|(index, one)| (one.cores, Reverse(*index))).map(|(index, _)| index)
}

/// Which lines are padded together to tell what that gains: those of each piece of code that costs much, and all where there
/// are several pieces.
fn together(run: &Simulated) -> Vec<BTreeSet<u64>> {
    let lines = falsely_shared(run);
    let mut pieces: Vec<BTreeSet<u64>> = pieces(&lines);
    let several = pieces.len() > 1;
    pieces.truncate(MOST_PIECES);
    if several {
        pieces.push(lines.iter().map(|line| line.address).collect());
    }
    pieces
}

/// The simulation with these lines of a run padded.
fn padded(simulation: &Simulation, run: Option<&Simulated>, lines: &BTreeSet<u64>) -> Simulation {
    let shared = run.map_or(&[][..], |run| &run.shared_lines);
    let those = shared.iter().filter(|line| lines.contains(&line.address));
    let padded = Padding::of(those, simulation.machine.l1d.line);
    Simulation { changes: Changes { padded, ..simulation.changes.clone() }, ..simulation.clone() }
}

fn falsely_shared(run: &Simulated) -> Vec<FalseSharing> {
    false_sharing(run, &CycleNames::default())
}

/// Lines that the same instructions use, such as those of an array, are one piece: to pad one of many gains nothing. Those
/// that cost most first.
fn pieces(lines: &[FalseSharing]) -> Vec<BTreeSet<u64>> {
    struct Piece {
        lines: BTreeSet<u64>,
        instructions: BTreeSet<u64>,
        cycles: u64,
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for line in lines {
        let instructions = line.bytes.iter().flat_map(|bytes| bytes.instructions.iter().copied()).collect();
        let mut one = Piece { lines: BTreeSet::from([line.address]), instructions, cycles: line.cycles };
        let (same, others): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(|piece| !piece.instructions.is_disjoint(&one.instructions));
        for piece in same {
            one.lines.extend(piece.lines);
            one.instructions.extend(piece.instructions);
            one.cycles += piece.cycles;
        }
        pieces = others;
        pieces.push(one);
    }
    pieces.arrange_by_key(|piece| (Reverse(piece.cycles), piece.lines.first().copied()));
    pieces.into_iter().map(|piece| piece.lines).collect()
}

#[cfg(test)]
mod tests {
    use holdup_cycles::SharedBytes;

    use super::*;

    fn line(address: u64, cycles: u64, instructions: &[u64]) -> FalseSharing {
        let bytes = SharedBytes {
            range: (0, 8),
            variable: None,
            readers: Vec::new(),
            writers: vec![0],
            instructions: instructions.to_vec(),
        };
        FalseSharing { address, transfers: 1, cycles, share: 0.1, bytes: vec![bytes] }
    }

    #[test]
    fn lines_of_the_same_code_are_padded_together() {
        let lines = [
            line(0, 50, &[1, 2]),
            line(64, 40, &[7]),
            line(128, 30, &[2, 3]),
            line(192, 20, &[3]),
            line(256, 45, &[9, 7]),
        ];
        let found: Vec<Vec<u64>> =
            pieces(&lines).into_iter().map(|lines| lines.into_iter().collect()).collect();
        assert_eq!(found, [vec![0, 128, 192], vec![64, 256]]);
    }
}
