//! How much of the variance of time is decided where: exactly, and adding up.
//!
//! The time of a thread is a sum over the decisions that it takes. At block u, execution k of which goes on to block v, the
//! thread commits itself to W(v) instructions (see `worth`) where it could expect W(u) − d(u). Summed over all that a thread
//! executed,
//!
//! A(u) = Σ_v c(u→v) · W(v) − x(u) · (W(u) − d(u))
//!
//! with its counts c of edges and its executions x = Σ c(·→u). Σ_u A(u) telescopes: it is the thread's instructions without
//! what was to be expected where it began. So the *charge* of a block,
//!
//! charge(u) = κ · Cov(A(u), T) / Var(T)
//!
//! is the share of the variance of time that is decided there, and over all blocks these shares add up to the square of
//! the correlation of instructions with time: to 1 where time is executed instructions. κ = Cov(T, I) / Var(I) turns
//! instructions into time. What libraries execute beyond their average for a call is the call's charge in its own right. A
//! branch with much in both ways is charged with the difference; a function that is called from everywhere burdens the
//! places that decide whether it is called; a loop burdens what ends it.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Arrange;
use holdup_model::counts::{BlockExit, BlockId, SectionPlace};

use super::deal::{Column, Dealt};
use super::program::Program;
use super::rows::{Rows, dot, to_unit};
use super::worth::{Flow, worths};

/// Charges of a section.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges {
    /// The charge of each block that was executed: what its last instruction decides.
    decided: BTreeMap<BlockId, f64>,
    /// The charge of each block for what libraries executed more for one call than for another.
    library: BTreeMap<BlockId, f64>,
    /// How often each column was counted.
    totals: Vec<u64>,
    /// Cov(count, T) · rows of each column.
    with_time: Vec<f64>,
    /// The square of the correlation of instructions with time.
    pub(super) all: f64,
    /// The charge of where threads begin, if they begin in different copies of the code: what was decided before.
    pub(super) before: f64,
    /// The blocks that they begin at then; first the one at which those begin that take long.
    pub(super) beginnings: Vec<BlockId>,
    /// The blocks that threads begin at, other than behind the call at which they met, each with the share of the variance of time
    /// that is in who begins there.
    pub(super) entries: Vec<(BlockId, f64)>,
    /// Code that waits.
    pub(super) waits: Vec<Waiting>,
}

/// Code that waits, all of it that hangs together.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// The block that most leave it by, which is charged with how it goes on.
    pub(super) exit: BlockId,
    blocks: Vec<BlockId>,
    /// The edges out of it behind which there is no less to do than behind all of them on average.
    pub(super) to_work: Vec<Column>,
}

impl Charges {
    /// Charges over all instances of a section with this begin and end.
    pub(super) fn new(
        program: &Program<'_>,
        instances: &[&Dealt<'_>],
        borders: [&SectionPlace; 2],
    ) -> Charges {
        let columns = program.counts.events() + program.counts.blocks.len();
        let meetings = meetings(program, instances, borders);
        let mut totals = vec![0_u64; columns];
        for (column, _, count) in instances.iter().flat_map(|instance| &instance.entries) {
            totals[*column as usize] = totals[*column as usize].saturating_add(*count);
        }
        let rows = Rows::new(instances.iter().map(|instance| instance.time.len()));
        let mut time: Vec<f64> =
            instances.iter().flat_map(|instance| instance.time.iter().map(|time| *time as f64)).collect();
        let longest = time.iter().copied().fold(0.0, f64::max);
        rows.centre(&mut time);
        let varies = to_unit(&mut time, longest).is_some();
        let mut charges = Charges { totals, with_time: vec![0.0; columns], ..Charges::default() };
        if !varies {
            return charges;
        }

        let blocks = executed(program, &charges.totals);
        let weights = weights(program, &blocks, columns);
        let mut instructions = vec![0.0; rows.len()];
        for (instance, span) in instances.iter().zip(rows.spans()) {
            for (column, row, count) in &instance.entries {
                let row = span.start + *row as usize;
                let count = *count as f64;
                charges.with_time[*column as usize] += count * time[row];
                instructions[row] += count * weights[*column as usize];
            }
        }
        rows.centre(&mut instructions);
        let spread = dot(&instructions, &instructions);
        let along = dot(&instructions, &time);
        if spread <= (longest * 1e-12).powi(2) || along <= 0.0 {
            return charges;
        }
        charges.all = along * along / spread;
        // κ · Cov(·, T) / Var(T), for sums over time scaled to length 1: its length cancels.
        charges.fill(program, &blocks, &meetings, along / spread);
        charges
    }

    fn fill(
        &mut self,
        program: &Program<'_>,
        blocks: &BTreeMap<BlockId, Executed>,
        meetings: &BTreeSet<Column>,
        scale: f64,
    ) {
        let mut number = vec![None; program.counts.blocks.len()];
        for (at, block) in blocks.keys().enumerate() {
            number[block.index()] = Some(at as u32);
        }
        let events = program.counts.events();
        let library_of = |block: BlockId| events + block.index();
        let flow = Flow {
            executions: blocks.values().map(|executed| executed.times).collect(),
            instructions: blocks
                .iter()
                .map(|(block, executed)| {
                    let library = self.totals[library_of(*block)] as f64;
                    own(program, *block) + if executed.times > 0.0 { library / executed.times } else { 0.0 }
                })
                .collect(),
            out: blocks
                .keys()
                .map(|block| {
                    let taken = program.out(*block).iter().filter(|edge| self.totals[**edge as usize] > 0);
                    taken
                        .filter(|edge| !meetings.contains(edge))
                        .filter_map(|edge| {
                            let (_, to) = program.edge(*edge)?;
                            Some((number[to.index()]?, self.totals[*edge as usize] as f64))
                        })
                        .collect()
                })
                .collect(),
            components: blocks.keys().map(|block| program.component(*block)).collect(),
        };
        let worth = worths(&flow);
        let begins = |edge: &Column| Some((*edge, program.edge(*edge)?.1));
        let mut entries: Vec<(Column, BlockId)> = meetings.iter().filter_map(begins).collect();
        entries.arrange_by(|(a, _), (b, _)| self.with_time(*b).total_cmp(&self.with_time(*a)).then(a.cmp(b)));
        for (edge, at) in entries {
            self.beginnings.push(at);
            self.before += scale
                * self.with_time[edge as usize]
                * number[at.index()].map_or(0.0, |at| worth[at as usize]);
        }
        for (at, (block, executed)) in blocks.iter().enumerate() {
            let times: f64 = executed.by.iter().map(|edge| self.with_time[*edge as usize]).sum();
            let taken = program.out(*block).iter().filter(|edge| self.totals[**edge as usize] > 0);
            let went: f64 = taken
                .filter(|edge| !meetings.contains(edge))
                .filter_map(|edge| {
                    let to = number[program.edge(*edge)?.1.index()]?;
                    Some(self.with_time[*edge as usize] * worth[to as usize])
                })
                .sum();
            let expected = times * (worth[at] - flow.instructions[at]);
            let came: f64 = program.into(*block).iter().map(|edge| self.with_time[*edge as usize]).sum();
            if executed.by.as_slice() != program.into(*block) && !program.waits(*block) {
                self.entries.push((*block, scale * (times - came) * worth[at]));
            }
            self.decided.insert(*block, scale * (went - expected));
            if self.totals[library_of(*block)] > 0 {
                let average = flow.instructions[at] - own(program, *block);
                let beyond = self.with_time[library_of(*block)] - times * average;
                self.library.insert(*block, scale * beyond);
            }
        }
        let worth_of = |block: BlockId| number[block.index()].map_or(0.0, |at| worth[at as usize]);
        self.wait_together(program, &worth_of);
    }

    /// What is decided in code that waits, as a whole: how often it looks says nothing, how it goes on does. That is charged to the
    /// block of it that most leave by.
    fn wait_together(&mut self, program: &Program<'_>, worth: &dyn Fn(BlockId) -> f64) {
        let mut open: BTreeSet<BlockId> =
            self.decided.keys().copied().filter(|block| program.waits(*block)).collect();
        while let Some(first) = open.pop_first() {
            let mut blocks = vec![first];
            let mut at = 0;
            while let Some(block) = blocks.get(at).copied() {
                at += 1;
                let edges = program.out(block).iter().chain(program.into(block));
                let beside = edges.filter_map(|edge| program.edge(*edge)).flat_map(|(from, to)| [from, to]);
                blocks.extend(beside.filter(|block| open.remove(block)));
            }
            let leaves = |block: BlockId| {
                let out = program.out(block).iter().filter_map(|edge| Some((*edge, program.edge(*edge)?.1)));
                out.filter(|(edge, to)| !program.waits(*to) && self.totals[*edge as usize] > 0)
            };
            let times = |edges: &mut dyn Iterator<Item = (Column, BlockId)>| -> u64 {
                edges.map(|(edge, _)| self.totals[edge as usize]).sum()
            };
            let exit = blocks
                .iter()
                .copied()
                .max_by_key(|block| (times(&mut leaves(*block)), std::cmp::Reverse(*block)));
            let Some(exit) = exit else { continue };
            let all: Vec<(Column, BlockId)> = blocks.iter().flat_map(|block| leaves(*block)).collect();
            let sum: f64 = all.iter().map(|(edge, to)| self.totals[*edge as usize] as f64 * worth(*to)).sum();
            let mean = sum / times(&mut all.iter().copied()).max(1) as f64;
            let to_work = all.iter().filter(|(_, to)| worth(*to) >= mean).map(|(edge, _)| *edge).collect();
            let charge = blocks.iter().map(|block| self.decided(*block)).sum();
            self.decided.extend(blocks.iter().map(|block| (*block, 0.0)));
            self.decided.insert(exit, charge);
            self.waits.push(Waiting { exit, blocks, to_work });
        }
    }

    /// The code that waits of which a block is part.
    pub(super) fn waiting_at(&self, block: BlockId) -> Option<&Waiting> {
        self.waits.iter().find(|waiting| waiting.blocks.contains(&block))
    }

    /// The share of the variance of time that this block's last instruction decides.
    pub(super) fn decided(&self, block: BlockId) -> f64 {
        self.decided.get(&block).copied().unwrap_or(0.0)
    }

    /// All blocks that were executed, with what they decide.
    pub(super) fn decisions(&self) -> impl Iterator<Item = (BlockId, f64)> {
        self.decided.iter().map(|(block, charge)| (*block, *charge))
    }

    /// All blocks that call libraries, with the share of the variance of time that these take beyond their average.
    pub(super) fn libraries(&self) -> impl Iterator<Item = (BlockId, f64)> {
        self.library.iter().map(|(block, charge)| (*block, *charge))
    }

    /// The share of the variance of time that libraries take more for one call of this block than for another.
    pub(super) fn library(&self, block: BlockId) -> f64 {
        self.library.get(&block).copied().unwrap_or(0.0)
    }

    /// How often a column was counted in the section.
    pub(super) fn total(&self, column: Column) -> u64 {
        self.totals.get(column as usize).copied().unwrap_or(0)
    }

    /// Grows with the covariance of a column with time.
    pub(super) fn with_time(&self, column: Column) -> f64 {
        self.with_time.get(column as usize).copied().unwrap_or(0.0)
    }
}

/// The edges over the calls at which the threads met before the section: each thread comes in over such an edge, once, and
/// what a thread does once decides nothing in the section. Where the section ends at the same place, it arrives at the call
/// in the end, so that they close a ring without a way out. Where the compiler has doubled the code around the call, a loop or
/// the ways that a branch before the call leads to, there is such a call for each copy.
fn meetings(
    program: &Program<'_>,
    instances: &[&Dealt<'_>],
    [begin, end]: [&SectionPlace; 2],
) -> BTreeSet<Column> {
    let over_call = |column: Column| {
        let (from, to) = program.edge(column)?;
        let is_ring = program.component(from) == program.component(to);
        (program.return_edge(from) == Some(column)).then_some((from, is_ring))
    };
    let stands_at = |block: BlockId, place: &SectionPlace| {
        let line = place.frames.first().and_then(|frame| Some((frame.file.as_ref()?, frame.line?)));
        let frames = &program.counts.blocks[block.index()].end;
        line.is_some() && frames.iter().any(|frame| frame.file.as_ref().zip(frame.line) == line)
    };
    let mut sums: Vec<Vec<u64>> = instances.iter().map(|instance| vec![0; instance.time.len()]).collect();
    let mut alone: BTreeMap<Column, u64> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (instance, sums) in instances.iter().zip(&mut sums) {
        let begin = instance.begin.unwrap_or(begin);
        for (column, row, count) in &instance.entries {
            let Some((block, is_ring)) = over_call(*column) else { continue };
            if stands_at(block, begin) || is_ring && stands_at(block, end) {
                sums[*row as usize] += count;
                found.insert(*column);
            }
            if *count == 1 && is_ring && instance.begin.is_none() {
                *alone.entry(*column).or_default() += 1;
            }
        }
    }
    // The first turn of a loop may begin where threads do: at no call.
    let comes_in = |(instance, sums): (&&Dealt<'_>, &Vec<u64>)| {
        sums.iter().all(|sum| *sum == 1) || instance.begin.is_some() && sums.iter().all(|sum| *sum == 0)
    };
    if !found.is_empty() && instances.iter().zip(&sums).all(comes_in) {
        return found;
    }
    let usual = instances.iter().filter(|instance| instance.begin.is_none());
    let rows: usize = usual.map(|instance| instance.time.len()).sum();
    // Without lines: what each thread does once.
    alone.into_iter().filter(|(_, times)| *times == rows as u64).map(|(column, _)| column).collect()
}

/// A block that was executed.
struct Executed {
    times: f64,
    /// The edges that count its executions.
    by: Vec<Column>,
}

/// The blocks that were executed. Executions are what leads into a block or, where more leads out of it (threads began
/// there), that.
fn executed(program: &Program<'_>, totals: &[u64]) -> BTreeMap<BlockId, Executed> {
    let mut blocks = BTreeMap::new();
    let sum = |edges: &[Column]| edges.iter().map(|edge| totals[*edge as usize] as f64).sum::<f64>();
    for at in 0..program.counts.blocks.len() {
        let block = BlockId(at as u32);
        let (into, out) = (program.into(block), leading_out(program, totals, block));
        let (entered, left) = (sum(into), sum(&out));
        if entered == 0.0 && left == 0.0 {
            continue;
        }
        let executed = if left > entered {
            Executed { times: left, by: out }
        } else {
            Executed { times: entered, by: into.to_vec() }
        };
        blocks.insert(block, executed);
    }
    blocks
}

/// The edges out of a block of which each execution takes one.
fn leading_out(program: &Program<'_>, totals: &[u64], block: BlockId) -> Vec<Column> {
    if let Some(edge) = program.return_edge(block) {
        return vec![edge];
    }
    let out = program.out(block);
    match program.exit(block) {
        // The callee, or the block behind: whichever edge has more.
        BlockExit::Call | BlockExit::IndirectCall => out
            .iter()
            .copied()
            .max_by_key(|edge| (totals[*edge as usize], std::cmp::Reverse(*edge)))
            .into_iter()
            .collect(),
        _ => out.to_vec(),
    }
}

/// A block's own instructions; waiting takes none.
fn own(program: &Program<'_>, block: BlockId) -> f64 {
    let block = &program.counts.blocks[block.index()];
    if block.waits { 0.0 } else { f64::from(block.instructions) }
}

/// How many instructions one more count of each column stands for.
fn weights(program: &Program<'_>, blocks: &BTreeMap<BlockId, Executed>, columns: usize) -> Vec<f64> {
    let mut weights = vec![0.0; columns];
    weights[program.counts.events()..].fill(1.0);
    for (block, executed) in blocks {
        for edge in &executed.by {
            weights[*edge as usize] += own(program, *block);
        }
    }
    weights
}
