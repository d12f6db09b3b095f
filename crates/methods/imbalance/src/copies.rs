//! Decisions that compilers have copied: a loop that is unrolled, a function that is inlined into several others or into itself.
//!
//! Each copy is a block of its own with a part of the weight. What is at one line is one decision.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::counts::BlockId;
use holdup_model::{Arrange, Frame};

use super::causes::{
    LEAST_CHARGE, MOST_DECIDED, MOST_MADE_UP, begin, end, most_with_time, of_block, of_leader, sum_of,
};
use super::charge::Charges;
use super::deal::Column;
use super::program::{Line, Program, line_of};
use super::recursion::Recursion;
use super::{Cause, CauseKind, Method};

/// The squared correlation of instructions with time from which on time is instructions.
const EXACT: f64 = 0.95;

/// What is decided at a line, in all its copies, is told from this share of the differences on where nothing else explains them.
const LEAST_OF_LINE: f64 = 0.2;

/// What is decided at each line, by all blocks that end there, where time is instructions and so it is exact.
pub(super) struct Lines(BTreeMap<Line, Vec<(BlockId, f64)>>);

impl Lines {
    pub(super) fn new(program: &Program<'_>, charges: &Charges) -> Lines {
        let mut lines: BTreeMap<Line, Vec<(BlockId, f64)>> = BTreeMap::new();
        if charges.all < EXACT {
            return Lines(lines);
        }
        let leads_to_waiting = |block: BlockId| {
            let mut ways = program.out(block).iter().filter_map(|edge| program.edge(*edge));
            program.waits(block) || ways.any(|(_, to)| program.waits(to))
        };
        for (block, charge) in charges.decisions().filter(|(block, _)| !leads_to_waiting(*block)) {
            if let Some(line) = line_of(&end(program, block)) {
                lines.entry(line).or_default().push((block, charge));
            }
        }
        Lines(lines)
    }

    /// Charges causes with those copies of their lines that are too weak for statistics.
    pub(super) fn complete(&self, program: &Program<'_>, charges: &Charges, causes: &mut Vec<Cause>) {
        let loops = causes.iter().filter(|cause| cause.kind == CauseKind::Loop && !self.0.is_empty());
        let heads: Vec<BlockId> = loops.filter_map(|cause| cause.leader).collect();
        for nest in heads.into_iter().filter_map(|head| Nest::of(program, charges, head)) {
            nest.take_minor_ones(causes);
            let own = causes.iter_mut().filter(|cause| cause.leader == Some(nest.head));
            own.for_each(|cause| (cause.charge, cause.with_nest) = (nest.charge, true));
        }
        for cause in causes {
            let Some(copies) = line_of(&cause.at).and_then(|line| self.0.get(&line)) else { continue };
            let charge: f64 = copies.iter().map(|(_, charge)| charge).sum();
            if !matches!(cause.kind, CauseKind::Branch | CauseKind::Loop | CauseKind::Recursion) {
                continue;
            }
            if (cause.charge + SAME..=MOST_DECIDED).contains(&charge) {
                cause.charge = charge;
                cause.minor = charge < LEAST_CHARGE;
            }
            // A part can decide more than all; a recursion is all that makes up for its parts.
            let most = if cause.kind == CauseKind::Recursion { MOST_MADE_UP } else { MOST_DECIDED };
            if cause.charge <= most {
                raise(cause);
            }
        }
    }

    /// Adds causes at lines where none is told yet.
    pub(super) fn add_others(
        &self,
        program: &Program<'_>,
        charges: &Charges,
        told: &mut Vec<Cause>,
        counts: &dyn Fn(Column) -> Vec<u64>,
    ) {
        let nests = if self.0.is_empty() { Vec::new() } else { nests(program, charges) };
        nests.iter().for_each(|nest| nest.take_minor_ones(told));
        let is_told = |line: &Line| {
            let is_at = |at: &Vec<Frame>| line_of(at).as_ref() == Some(line);
            told.iter().any(|cause| is_at(&cause.at) || cause.latch.as_ref().is_some_and(is_at))
        };
        let mut causes = Vec::new();
        let mut add = |blocks: &[BlockId], columns: &[Column], members: Vec<Column>, most: f64| {
            let charge: f64 = blocks.iter().map(|block| charges.decided(*block)).sum();
            let Some(first) = columns.first() else { return false };
            if !(LEAST_OF_LINE..=most).contains(&charge) {
                return false;
            }
            let counts = sum_of(columns, counts);
            let one = of_block(blocks[0], *first, members);
            let cause = of_leader(program, charges, blocks[0], &one, &mut BTreeSet::new(), Method::Stacked);
            causes.push(Cause { charge, score: charge.min(1.0), counts, ..cause });
            true
        };
        let mut recursive: BTreeSet<BlockId> = BTreeSet::new();
        let is_exact = !self.0.is_empty();
        for Recursion { blocks, calls } in program.recursions().iter().filter(|_| is_exact) {
            let leads =
                |cause: &Cause| !cause.minor && cause.leader.is_some_and(|leader| blocks.contains(&leader));
            let mut columns = calls.clone();
            columns.arrange_by(|a, b| charges.with_time(*b).total_cmp(&charges.with_time(*a)));
            if told.iter().any(leads) || add(blocks, &columns, calls.clone(), MOST_MADE_UP) {
                recursive.extend(blocks);
            }
        }
        let (mut nested, mut heads): (BTreeSet<BlockId>, BTreeSet<BlockId>) = Default::default();
        for nest in nests {
            if nest.blocks.is_disjoint(&nested) && !recursive.contains(&nest.head) {
                add(&nest.in_order(), &[nest.turn], nest.turns, MOST_DECIDED);
                nested.extend(nest.blocks);
                heads.insert(nest.head);
            }
        }
        for (_, copies) in self.0.iter().filter(|(line, _)| !is_told(line)) {
            let mut blocks: Vec<BlockId> = copies.iter().map(|(block, _)| *block).collect();
            if blocks.iter().any(|block| recursive.contains(block) || nested.contains(block)) {
                continue;
            }
            blocks.arrange_by(|a, b| charges.decided(*b).total_cmp(&charges.decided(*a)));
            let columns: Vec<Column> =
                blocks.iter().filter_map(|block| most_with_time(program, charges, *block)).collect();
            // What a line decides beyond all is made up for at others, and is no answer alone.
            add(&blocks, &columns, Vec::new(), MOST_DECIDED);
        }
        for waiting in charges.waits.iter().filter(|_| is_exact) {
            let is_told = |cause: &Cause| cause.kind == CauseKind::Wait && cause.leader == Some(waiting.exit);
            if !told.iter().any(is_told) {
                add(&[waiting.exit], &waiting.to_work, Vec::new(), MOST_DECIDED);
            }
        }
        for cause in &mut causes {
            cause.with_nest = cause.leader.is_some_and(|leader| heads.contains(&leader));
        }
        causes.extend(self.beginnings(program, charges, counts));
        told.extend(causes);
    }

    /// Where threads begin at different code, a thread that creates others and these as a rule, what they begin with.
    fn beginnings(
        &self,
        program: &Program<'_>,
        charges: &Charges,
        counts: &dyn Fn(Column) -> Vec<u64>,
    ) -> Option<Cause> {
        let sum: f64 = charges.entries.iter().map(|(_, charge)| charge).sum();
        let (block, _) = charges.entries.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if self.0.is_empty() || charges.entries.len() < 2 || !(LEAST_OF_LINE..=MOST_DECIDED).contains(&sum) {
            return None;
        }
        let out: Vec<Column> =
            program.return_edge(block).map_or_else(|| program.out(block).to_vec(), |edge| vec![edge]);
        let came = sum_of(program.into(block), counts);
        let mut began = sum_of(&out, counts);
        began.iter_mut().zip(came).for_each(|(began, came)| *began = began.saturating_sub(came));
        let one = of_block(block, out.first().copied()?, Vec::new());
        let cause = of_leader(program, charges, block, &one, &mut BTreeSet::new(), Method::Stacked);
        Some(Cause {
            kind: CauseKind::Start,
            at: begin(program, block),
            to: Vec::new(),
            latch: None,
            listing: Vec::new(),
            misplaced: false,
            charge: sum.min(1.0),
            score: sum.min(1.0),
            counts: began,
            ..cause
        })
    }
}

/// A loop that decides more than all, with what is in it, or around it, and makes up for what is more: threads with more turns have
/// shorter ones. Together they are one decision, how much of what is shared out a thread has.
struct Nest {
    /// The head of the loop that decides most.
    head: BlockId,
    /// All of the nest, with the tests before that loop's first turn.
    blocks: BTreeSet<BlockId>,
    /// The edge from one turn of it to the next that goes most with time.
    turn: Column,
    /// All such edges.
    turns: Vec<Column>,
    charge: f64,
}

impl Nest {
    /// That of the loop with this head, if it decides more than all and less than twice that, and it and what is in it does not, or
    /// the smallest of the loops around it that does not.
    fn of(program: &Program<'_>, charges: &Charges, head: BlockId) -> Option<Nest> {
        let mut turns = turns_of(program, head);
        turns.arrange_by(|a, b| charges.with_time(*b).total_cmp(&charges.with_time(*a)).then(a.cmp(b)));
        let turn = turns.iter().copied().find(|edge| charges.total(*edge) > 0)?;
        let mut own = BTreeSet::new();
        let one = of_block(head, turn, turns.clone());
        let cause = of_leader(program, charges, head, &one, &mut own, Method::Stacked);
        if cause.kind != CauseKind::Loop || !(MOST_DECIDED..=MOST_MADE_UP).contains(&cause.charge) {
            return None;
        }
        let heads =
            charges.decisions().map(|(block, _)| block).filter(|block| !turns_of(program, *block).is_empty());
        let mut around: Vec<BTreeSet<BlockId>> =
            heads.map(|head| program.nest_of(head)).filter(|nest| nest.contains(&head)).collect();
        around.arrange_by_key(|nest| (nest.len(), nest.first().copied()));
        around.into_iter().find_map(|nest| {
            let blocks: BTreeSet<BlockId> = nest.union(&own).copied().collect();
            let charge: f64 = blocks.iter().map(|block| charges.decided(*block)).sum();
            let is_all = (LEAST_OF_LINE..=MOST_DECIDED).contains(&charge);
            is_all.then(|| Nest { head, blocks, turn, turns: turns.clone(), charge })
        })
    }

    /// What is decided in it by other causes that hardly count is a part of what it decides.
    fn take_minor_ones(&self, causes: &mut Vec<Cause>) {
        let is_in = |cause: &Cause| {
            cause.leader.is_some_and(|leader| leader != self.head && self.blocks.contains(&leader))
        };
        causes.retain(|cause| !cause.minor || !is_in(cause));
    }

    /// All blocks, the head first.
    fn in_order(&self) -> Vec<BlockId> {
        let others = self.blocks.iter().copied().filter(|block| *block != self.head);
        [self.head].into_iter().chain(others).collect()
    }
}

/// The edges from one turn of the loop with this head to the next.
fn turns_of(program: &Program<'_>, head: BlockId) -> Vec<Column> {
    program.into(head).iter().copied().filter(|edge| program.is_back(*edge)).collect()
}

/// All of them, the largest first.
fn nests(program: &Program<'_>, charges: &Charges) -> Vec<Nest> {
    let heads = charges.decisions().map(|(block, _)| block);
    let mut nests: Vec<Nest> = heads.filter_map(|head| Nest::of(program, charges, head)).collect();
    nests.arrange_by(|a, b| b.blocks.len().cmp(&a.blocks.len()).then(a.head.cmp(&b.head)));
    nests
}

/// Scores and charges that differ by less are the same in print.
const SAME: f64 = 0.005;

/// A score below what is decided for certain is raised to it, and has no interval.
fn raise(cause: &mut Cause) {
    let certain = cause.charge.min(1.0);
    if cause.score + SAME < certain {
        (cause.score, cause.interval, cause.stable) = (certain, None, None);
    }
}

/// What compilers have copied is one cause: those of the same line that are of the same kind, or a recursion and what was inlined
/// of it. `causes` come with the cluster that they lead: scores of one cluster say the same, those of several add up.
/// Where what is decided is exact (`charges`), that is how much they count.
pub(super) fn one_for_each_line(causes: Vec<(Cause, usize)>, charges: &Charges) -> Vec<Cause> {
    let mut merged: Vec<(Cause, BTreeMap<usize, f64>)> = Vec::with_capacity(causes.len());
    for (cause, cluster) in causes {
        let line = line_of(&cause.at);
        let is_same = |other: &Cause| {
            let kinds = [other.kind, cause.kind];
            let is_inlined = kinds.contains(&CauseKind::Recursion) && kinds.contains(&CauseKind::Branch);
            (kinds[0] == kinds[1] || is_inlined) && line.is_some() && line_of(&other.at) == line
        };
        let Some((known, scores)) = merged.iter_mut().find(|(other, _)| is_same(other)) else {
            merged.push((cause.clone(), BTreeMap::from([(cluster, cause.score)])));
            continue;
        };
        let before: f64 = scores.values().sum();
        let of_cluster = scores.entry(cluster).or_insert(0.0);
        *of_cluster = of_cluster.max(cause.score);
        known.score = scores.values().sum();
        known.charge += cause.charge;
        known.minor &= cause.minor;
        known.latch = known.latch.take().or(cause.latch);
        if known.score > before {
            known.interval = known.interval.zip(cause.interval).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
            known.stable = known.stable.zip(cause.stable).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
        }
        if cause.kind == CauseKind::Recursion {
            known.kind = CauseKind::Recursion;
        }
        if charges.all >= EXACT {
            raise(known);
        }
        for (sum, count) in known.counts.iter_mut().zip(cause.counts) {
            *sum = sum.saturating_add(count);
        }
    }
    let mut causes: Vec<Cause> = merged.into_iter().map(|(cause, _)| cause).collect();
    causes.iter_mut().for_each(|cause| cause.minor = cause.charge < LEAST_CHARGE);
    causes
}
