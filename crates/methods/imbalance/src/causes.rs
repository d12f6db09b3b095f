//! From a leader to what the reader is told: what kind of cause it is, where, and how much of the variance it decides.

use std::collections::{BTreeSet, VecDeque};

use holdup_model::counts::{BlockExit, BlockId, EventId, HardwareKind};
use holdup_model::{Arrange, Frame};

use super::charge::Charges;
use super::deal::Column;
use super::events::Events;
use super::leaders::{Cluster, ClusterKind, Leader, leaders, score};
use super::program::{Program, line_of};
use super::recursion::Recursion;
use super::regress::Fit;
use super::{Cause, CauseKind, Method};

/// A cause with a lower charge is minor, whatever its score.
pub(super) const LEAST_CHARGE: f64 = 0.05;

/// Rounding apart, nothing decides more than all.
pub(super) const MOST_DECIDED: f64 = 1.05;

/// What a recursion decides beyond all is made up for around it: who walks deeper walks less often; what a loop does, in what is in
/// it: who has more turns has shorter ones. Where that makes up for more than all, neither is an answer.
pub(super) const MOST_MADE_UP: f64 = 2.0;

/// How many blocks are looked at on the way up from a leader that decides nothing itself.
const MOST_CLIMBED: usize = 64;

/// What is blamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blamed {
    /// A leader.
    Leader(BlockId),
    /// What libraries execute for this block.
    Library(BlockId),
    /// A hardware event.
    Hardware(Column),
}

/// A cause that was found, before it is described.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) blamed: Blamed,
    /// The edge, or other event, whose counts are shown.
    pub(super) column: Column,
    /// β · s (Eq. 2).
    pub(super) score: f64,
    /// Which of the regressors it belongs to.
    pub(super) regressor: usize,
    /// The events of its cluster.
    pub(super) members: Vec<Column>,
    /// The leader that its score comes from, if one does.
    pub(super) leader: Option<Leader>,
    /// In how many instances it was found.
    pub(super) instances: u32,
    /// The share of the variance of time that its cluster explains, for events that are no instructions: β · corr(C, T),
    /// divided by how many causes the cluster has.
    pub(super) explained: f64,
}

/// The causes in clusters that were chosen: the leaders of each control-flow cluster, the events of the others, with their
/// final scores (Eq. 2). A block that leads several is one cause, with the highest of its scores.
pub(super) fn find(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    clusters: &[Cluster],
    fit: &Fit,
    candidates: &[Vec<f64>],
    method: Method,
) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (regressor, (chosen, beta)) in fit.chosen.iter().zip(&fit.beta).enumerate() {
        let members = clusters[*chosen].members(events);
        let mut add = |blamed: Blamed, column: Column, score: f64, leader: Option<Leader>, explained: f64| {
            let members = members.clone();
            let new = Found { blamed, column, score, regressor, members, leader, instances: 1, explained };
            match found.iter_mut().find(|other| other.blamed == blamed) {
                Some(other) if other.score.abs() < score.abs() => *other = new,
                Some(_) => {}
                None => found.push(new),
            }
        };
        match Cluster::kind(program, &members) {
            ClusterKind::ControlFlow => {
                for leader in leaders(program, charges, events, &members, method) {
                    let library = match method {
                        Method::Paper => None,
                        Method::Stacked => library_behind(program, events, leader.block, &members),
                    };
                    if let Some(block) = library {
                        let column = program.counts.events() as u32 + block.0;
                        add(Blamed::Library(block), column, beta * leader.score, Some(leader), 0.0);
                        continue;
                    }
                    let above = match method {
                        Method::Paper => Vec::new(),
                        Method::Stacked => above(program, charges, events, leader.block, &members),
                    };
                    if above.is_empty() {
                        add(
                            Blamed::Leader(leader.block),
                            leader.edge,
                            beta * leader.score,
                            Some(leader),
                            0.0,
                        );
                    }
                    for leader in above {
                        add(
                            Blamed::Leader(leader.block),
                            leader.edge,
                            beta * leader.score,
                            Some(leader),
                            0.0,
                        );
                    }
                }
            }
            ClusterKind::Hardware => {
                let time = events.time.as_deref().unwrap_or_default();
                let explained = beta * super::rows::dot(&candidates[*chosen], time) / members.len() as f64;
                for member in &members {
                    let blamed = match member.checked_sub(program.counts.events() as u32) {
                        Some(block) => Blamed::Library(BlockId(block)),
                        None => Blamed::Hardware(*member),
                    };
                    add(blamed, *member, *beta, None, explained);
                }
            }
        }
    }
    found
}

/// The leaders in the place of one that decides nothing itself: where several ways join, what differs between threads is
/// decided before, and by none of them alone. They are the nearest blocks before it that decide, as far as it matters.
fn above(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    leader: BlockId,
    members: &[Column],
) -> Vec<Leader> {
    let shape = shape(program, charges, leader, members);
    if shape.deciders.contains(&leader) || !matches!(shape.kind, CauseKind::Branch | CauseKind::Call) {
        return Vec::new();
    }
    let matter = shape.deciders.into_iter().filter(|block| charges.decided(*block) >= LEAST_CHARGE);
    matter
        .filter_map(|block| {
            let edge = most_with_time(program, charges, block)?;
            Some(Leader { block, edge, score: score(program, charges, events, block, edge) })
        })
        .collect()
}

/// If a leader calls a library that takes longer with it, or is only entered out of libraries (a comparison function that
/// `qsort` calls), the block whose call of the library takes longer: the leader, one that leads to the leader or, if none
/// does, that in the cluster with the most of time.
fn library_behind(
    program: &Program<'_>,
    events: &Events,
    leader: BlockId,
    members: &[Column],
) -> Option<BlockId> {
    let first = program.counts.events() as u32;
    let column = |block: BlockId| first + block.0;
    // The call itself leads: it is what is called back that differs, and the library with it.
    if members.binary_search(&column(leader)).is_ok() {
        return Some(leader);
    }
    let mut callers = program
        .into(leader)
        .iter()
        .filter(|edge| !program.is_back(**edge))
        .filter_map(|edge| program.edge(*edge))
        .map(|(from, _)| from)
        .peekable();
    if callers.peek().is_some() {
        let is_callee = |block: BlockId| {
            matches!(program.exit(block), BlockExit::Call | BlockExit::IndirectCall)
                && program
                    .return_edge(block)
                    .and_then(|edge| program.edge(edge))
                    .is_none_or(|(_, to)| to != leader)
        };
        return callers.find(|block| is_callee(*block) && events.correlation(column(*block)) > 0.5);
    }
    let libraries = members.iter().copied().filter(|member| *member >= first);
    let most =
        libraries.max_by(|a, b| events.correlation(*a).total_cmp(&events.correlation(*b)).then(b.cmp(a)))?;
    Some(BlockId(most - first))
}

/// What a cause looks like in the program.
struct Shape {
    kind: CauseKind,
    /// The blocks that decide: their charges are the cause's.
    deciders: Vec<BlockId>,
    /// The block whose end is the place to show.
    at: BlockId,
    latch: Option<BlockId>,
    /// For loops: a test before the first turn is one of the deciders.
    has_guard: bool,
}

/// Describes what was found, the first to look at first. A block that decides for two causes is charged to the one with
/// the higher score. `counts` gives a column's counts for each thread.
pub(super) fn describe(
    program: &Program<'_>,
    charges: &Charges,
    mut found: Vec<Found>,
    counts: &dyn Fn(Column) -> Vec<u64>,
    method: Method,
) -> Vec<(Cause, Found)> {
    found.arrange_by(|a, b| b.score.total_cmp(&a.score).then(a.blamed.cmp(&b.blamed)));
    let mut taken: BTreeSet<BlockId> = BTreeSet::new();
    let mut causes: Vec<(Cause, Found)> = Vec::with_capacity(found.len());
    for one in found {
        let cause = match one.blamed {
            Blamed::Leader(block) => of_leader(program, charges, block, &one, &mut taken, method),
            Blamed::Library(block) => of_library(program, charges, block, &one, &mut taken),
            Blamed::Hardware(column) => of_hardware(program, column, &one),
        };
        let counts = counts_of(program, charges, &cause, one.column, counts);
        causes.push((Cause { counts, minor: cause.charge < LEAST_CHARGE, ..cause }, one));
    }
    decided_further_down(program, charges, &mut causes, &mut taken);
    decided_before(program, charges, &mut causes, method);
    causes.arrange_by(|(a, _), (b, _)| {
        a.minor.cmp(&b.minor).then(b.charge.total_cmp(&a.charge)).then(b.score.total_cmp(&a.score))
    });
    causes
}

/// How often each thread did what a cause is about; `column` where that is one edge or event.
fn counts_of(
    program: &Program<'_>,
    charges: &Charges,
    cause: &Cause,
    column: Column,
    counts: &dyn Fn(Column) -> Vec<u64>,
) -> Vec<u64> {
    let columns = cause.leader.and_then(|leader| match cause.kind {
        CauseKind::Wait => charges.waiting_at(leader).map(|waiting| waiting.to_work.as_slice()),
        CauseKind::Recursion => program.recursion_of(leader).map(|found| found.calls.as_slice()),
        _ => None,
    });
    columns.map_or_else(|| counts(column), |columns| sum_of(columns, counts))
}

/// The sum of columns, for each thread.
pub(super) fn sum_of(columns: &[Column], counts: &dyn Fn(Column) -> Vec<u64>) -> Vec<u64> {
    let all = columns.iter().map(|column| counts(*column));
    let sums = all
        .reduce(|sums, more| sums.iter().zip(more).map(|(sum, count)| sum.saturating_add(count)).collect());
    sums.unwrap_or_default()
}

/// A function that is called from several places works differently long for each of them, and only what it decides itself (how
/// often its loop turns) says so. What is decided behind a leader, by edges of the leader's own cluster, is the leader's: of
/// several leaders that which is nearest on the way.
fn decided_further_down(
    program: &Program<'_>,
    charges: &Charges,
    causes: &mut [(Cause, Found)],
    taken: &mut BTreeSet<BlockId>,
) {
    let before: Vec<f64> = causes.iter().map(|(cause, _)| cause.charge).collect();
    let regressors: BTreeSet<usize> = causes.iter().map(|(_, found)| found.regressor).collect();
    for regressor in regressors {
        let mut open: VecDeque<(BlockId, usize)> = VecDeque::new();
        let mut seen: BTreeSet<BlockId> = BTreeSet::new();
        for (at, (_, found)) in
            causes.iter().enumerate().filter(|(_, (_, found))| found.regressor == regressor)
        {
            let Blamed::Leader(_) = found.blamed else { continue };
            let target = program.edge(found.column).map(|(_, target)| target);
            open.extend(target.filter(|target| seen.insert(*target)).map(|target| (target, at)));
        }
        while let Some((block, at)) = open.pop_front() {
            let (cause, found) = &mut causes[at];
            let out = program.out(block).iter().filter(|edge| charges.total(**edge) > 0);
            if out.clone().any(|edge| found.members.binary_search(edge).is_ok()) && taken.insert(block) {
                cause.charge += charges.decided(block);
            }
            let behind = out.filter_map(|edge| program.edge(*edge)).filter(|(_, to)| seen.insert(*to));
            open.extend(behind.map(|(_, to)| (to, at)));
        }
    }
    for ((cause, _), before) in causes.iter_mut().zip(before) {
        // Shares are exact in their sum over all blocks: a part of them can be a little more than all.
        cause.charge = cause.charge.min(before.max(1.0));
        cause.minor = cause.charge < LEAST_CHARGE;
    }
}

/// Where threads are in different copies of the code since before the section began (a compiler takes a test that does not
/// change out of a loop, and doubles the loop), the branch that sent them there decides. If most is decided there, it is the
/// cause in the place of the one with the highest score, which only tells the copies apart. If it is the guard of a loop that
/// is a cause, or the first instance took it within, both are one decision. Else it is a cause beside the others.
fn decided_before(
    program: &Program<'_>,
    charges: &Charges,
    causes: &mut Vec<(Cause, Found)>,
    method: Method,
) {
    let least = if method == Method::Paper { 0.5 } else { LEAST_CHARGE };
    if charges.before < least || charges.beginnings.len() < 2 {
        return;
    }
    let Some(block) = program.before_all(&charges.beginnings) else { return };
    let most = causes.iter().enumerate().max_by(|(_, (a, _)), (_, (b, _))| a.score.total_cmp(&b.score));
    let Some((most, found)) = most.map(|(at, (_, found))| (at, found.clone())) else { return };
    let test = line_of(&end(program, block));
    let is_same = |cause: &Cause| {
        let is_guard = cause.kind == CauseKind::Loop && test.is_some() && line_of(&cause.at) == test;
        is_guard || cause.kind == CauseKind::Branch && cause.leader == Some(block) && !cause.minor
    };
    if let Some((cause, _)) = causes.iter_mut().find(|(cause, _)| is_same(cause)) {
        cause.charge = (cause.charge + charges.before).min(1.0);
        raise(cause, method);
        return;
    }
    let is_most = charges.before >= 0.5;
    let (one, found) = if is_most { causes.remove(most) } else { (empty(CauseKind::Branch), found) };
    // What it does there, rather than the call behind which it is.
    let target = charges.beginnings.first().copied();
    let mut cause = Cause {
        leader: Some(block),
        target,
        at: end(program, block),
        to: target.map(|target| end(program, target)).unwrap_or_default(),
        score: one.score,
        charge: charges.before.min(1.0),
        interval: one.interval,
        stable: one.stable,
        instances: one.instances,
        counts: one.counts,
        listing: program.counts.blocks[block.index()].listing.clone(),
        ..empty(CauseKind::Branch)
    };
    raise(&mut cause, method);
    causes.push((cause, found));
}

/// What is decided is known exactly: a score that is lower is that of an event that goes with it. The paper has no such thing.
fn raise(cause: &mut Cause, method: Method) {
    if method == Method::Stacked {
        cause.score = cause.score.max(cause.charge);
    }
}

/// A block that was found without statistics.
pub(super) fn of_block(block: BlockId, column: Column, members: Vec<Column>) -> Found {
    Found {
        blamed: Blamed::Leader(block),
        column,
        score: 0.0,
        regressor: 0,
        members,
        leader: None,
        instances: 1,
        explained: 0.0,
    }
}

/// Causes by their charge alone, for sections with too few threads for statistics. They have no score.
pub(super) fn by_charge(
    program: &Program<'_>,
    charges: &Charges,
    counts: &dyn Fn(Column) -> Vec<u64>,
) -> Vec<Cause> {
    let mut taken = BTreeSet::new();
    let mut causes = Vec::new();
    // Of a recursion a part may decide many times all, which the others make up for.
    for Recursion { blocks, calls } in program.recursions() {
        let sum: f64 = blocks.iter().map(|block| charges.decided(*block)).sum();
        let most_with_time = calls
            .iter()
            .copied()
            .max_by(|a, b| charges.with_time(*a).total_cmp(&charges.with_time(*b)).then(b.cmp(a)));
        if let (Some(column), true) = (most_with_time, (LEAST_CHARGE..=MOST_MADE_UP).contains(&sum)) {
            let one = of_block(blocks[0], column, calls.clone());
            let cause = of_leader(program, charges, blocks[0], &one, &mut taken, Method::Stacked);
            causes.push(Cause { counts: counts_of(program, charges, &cause, column, counts), ..cause });
        }
    }
    let mut decisions: Vec<(BlockId, f64)> =
        charges.decisions().filter(|(_, charge)| *charge >= LEAST_CHARGE).collect();
    decisions.arrange_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (block, _) in decisions {
        if taken.contains(&block) {
            continue;
        }
        // A loop is known by its head.
        let head =
            program.out(block).iter().find(|edge| program.is_back(**edge) && charges.total(**edge) > 0);
        let leader = head.and_then(|edge| program.edge(*edge)).map_or(block, |(_, head)| head);
        let Some(column) = most_with_time(program, charges, leader) else { continue };
        let members = program.into(leader).iter().copied().filter(|edge| program.is_back(*edge)).collect();
        let one = of_block(leader, column, members);
        let cause = of_leader(program, charges, leader, &one, &mut taken, Method::Stacked);
        causes.push(Cause { counts: counts_of(program, charges, &cause, column, counts), ..cause });
    }
    for (block, charge) in charges.libraries().filter(|(_, charge)| *charge >= LEAST_CHARGE) {
        let column = program.counts.events() as u32 + block.0;
        causes.push(Cause {
            charge,
            counts: counts(column),
            at: end(program, block),
            leader: Some(block),
            ..empty(CauseKind::Library)
        });
    }
    causes.arrange_by(|a, b| b.charge.total_cmp(&a.charge));
    causes.retain(|cause| cause.charge >= LEAST_CHARGE);
    causes
}

pub(super) fn most_with_time(program: &Program<'_>, charges: &Charges, block: BlockId) -> Option<Column> {
    let taken = program.out(block).iter().copied().filter(|edge| charges.total(*edge) > 0);
    taken.max_by(|a, b| charges.with_time(*a).total_cmp(&charges.with_time(*b)).then(b.cmp(a)))
}

fn empty(kind: CauseKind) -> Cause {
    Cause {
        kind,
        leader: None,
        target: None,
        at: Vec::new(),
        to: Vec::new(),
        latch: None,
        score: 0.0,
        charge: 0.0,
        interval: None,
        stable: None,
        instances: 1,
        counts: Vec::new(),
        minor: false,
        listing: Vec::new(),
        misplaced: false,
        with_nest: false,
    }
}

pub(super) fn begin(program: &Program<'_>, block: BlockId) -> Vec<Frame> {
    program.counts.blocks.get(block.index()).map(|block| block.begin.clone()).unwrap_or_default()
}

pub(super) fn end(program: &Program<'_>, block: BlockId) -> Vec<Frame> {
    let Some(block) = program.counts.blocks.get(block.index()) else { return Vec::new() };
    if block.end.is_empty() { block.begin.clone() } else { block.end.clone() }
}

/// The sum of the charges of blocks that nobody has been charged with yet.
fn charge(charges: &Charges, blocks: &[BlockId], taken: &mut BTreeSet<BlockId>) -> f64 {
    blocks.iter().filter(|block| taken.insert(**block)).map(|block| charges.decided(*block)).sum()
}

pub(super) fn of_leader(
    program: &Program<'_>,
    charges: &Charges,
    leader: BlockId,
    found: &Found,
    taken: &mut BTreeSet<BlockId>,
    method: Method,
) -> Cause {
    let shape = shape(program, charges, leader, &found.members);
    let target = program.edge(found.column).map(|(_, to)| to);
    let charge = charge(charges, &shape.deciders, taken);
    let at = end(program, shape.at);
    let to = target.map(|target| begin(program, target)).unwrap_or_default();
    let listing =
        program.counts.blocks.get(shape.at.index()).map(|block| block.listing.clone()).unwrap_or_default();
    let mut cause = Cause {
        leader: Some(leader),
        target,
        misplaced: !listing.is_empty() && is_misplaced(program.exit(shape.at), &at, &to),
        at,
        to,
        latch: shape.latch.map(|latch| end(program, latch)),
        score: found.score,
        charge,
        instances: found.instances,
        listing,
        ..empty(shape.kind)
    };
    // The statistics know the turns, not those who take none.
    if shape.has_guard && found.score > 0.0 {
        raise(&mut cause, method);
    }
    cause
}

/// True if the branch is said to be in a function that was inlined, and leads out of it: the compiler has merged what
/// belongs to the caller into it, or has given it a line of the callee.
fn is_misplaced(exit: BlockExit, at: &[Frame], to: &[Frame]) -> bool {
    if matches!(exit, BlockExit::Call | BlockExit::IndirectCall | BlockExit::Return) {
        return false;
    }
    match at.first() {
        None => false,
        // Without lines on both sides nothing can disagree.
        Some(innermost) if innermost.line.is_none() || to.iter().all(|frame| frame.line.is_none()) => false,
        Some(innermost) => {
            innermost.inlined && !to.is_empty() && to.iter().all(|frame| frame.function != innermost.function)
        }
    }
}

fn of_library(
    program: &Program<'_>,
    charges: &Charges,
    block: BlockId,
    found: &Found,
    taken: &mut BTreeSet<BlockId>,
) -> Cause {
    // The program's functions that the library calls back are part of what it takes.
    let called: Vec<BlockId> = program
        .out(block)
        .iter()
        .filter(|edge| program.is_call(**edge))
        .filter_map(|edge| program.edge(*edge))
        .flat_map(|(_, callee)| shape(program, charges, callee, &found.members).deciders)
        .chain([block])
        .collect();
    Cause {
        leader: Some(block),
        at: end(program, block),
        score: found.score,
        charge: charges.library(block) + charge(charges, &called, taken),
        instances: found.instances,
        ..empty(CauseKind::Library)
    }
}

fn of_hardware(program: &Program<'_>, column: Column, found: &Found) -> Cause {
    let event = program.counts.hardware_event(EventId(column));
    let kind = match event.map(|event| event.kind) {
        Some(HardwareKind::BranchMiss) => CauseKind::BranchMiss,
        Some(HardwareKind::Queueing) => CauseKind::Queueing,
        Some(HardwareKind::TlbMiss) => CauseKind::TlbMiss,
        _ => CauseKind::CacheMiss,
    };
    Cause {
        leader: event.and_then(|event| event.block),
        at: event.map(|event| event.at.clone()).unwrap_or_default(),
        score: found.score,
        charge: found.explained,
        instances: found.instances,
        ..empty(kind)
    }
}

fn shape(program: &Program<'_>, charges: &Charges, leader: BlockId, members: &[Column]) -> Shape {
    let inside = |edge: Column| members.binary_search(&edge).is_ok();
    let taken = |edge: &Column| charges.total(*edge) > 0;
    let source = |edge: Column| program.edge(edge).map(|(from, _)| from);
    let largest = |blocks: &[BlockId]| {
        blocks
            .iter()
            .copied()
            .max_by(|a, b| charges.decided(*a).total_cmp(&charges.decided(*b)).then(b.cmp(a)))
            .unwrap_or(leader)
    };
    let most = |edges: &mut dyn Iterator<Item = Column>| {
        edges.max_by_key(|edge| (charges.total(*edge), std::cmp::Reverse(*edge))).and_then(source)
    };
    let of_recursion = |recursion: &Recursion| Shape {
        kind: CauseKind::Recursion,
        at: largest(&recursion.blocks),
        deciders: recursion.blocks.clone(),
        latch: most(&mut recursion.calls.iter().copied()),
        has_guard: false,
    };
    if let Some(waiting) = charges.waiting_at(leader) {
        let deciders = vec![waiting.exit];
        return Shape { kind: CauseKind::Wait, at: waiting.exit, deciders, latch: None, has_guard: false };
    }
    let around = program.recursion_of(leader);
    if let Some(recursion) = around.filter(|recursion| recursion.calls.iter().copied().any(inside)) {
        return of_recursion(recursion);
    }
    // Of a recursion a part can decide far more than all, which the rest of it makes up for.
    let is_part = |deciders: &[BlockId]| {
        let decided: f64 = deciders.iter().map(|block| charges.decided(*block)).sum();
        around.filter(|_| decided > MOST_DECIDED)
    };
    let turns =
        || program.into(leader).iter().copied().filter(|edge| program.is_back(*edge) && inside(*edge));
    if turns().next().is_some() {
        let body = program.loop_of(leader);
        let leaves = |block: &&BlockId| {
            !matches!(program.exit(**block), BlockExit::Call | BlockExit::IndirectCall)
                && program
                    .out(**block)
                    .iter()
                    .filter(|edge| taken(edge))
                    .any(|edge| program.edge(*edge).is_some_and(|(_, to)| !body.contains(&to)))
        };
        let deciders: Vec<BlockId> = body.iter().filter(leaves).copied().collect();
        // Several ways can lead back to one head. If it is no way out of the loop that decides, it is a branch in it which
        // of them is taken.
        let decided: f64 = deciders.iter().map(|block| charges.decided(*block)).sum();
        let inner = largest(&body.iter().copied().collect::<Vec<_>>());
        if decided < LEAST_CHARGE && charges.decided(inner) >= LEAST_CHARGE {
            let deciders = vec![inner];
            return Shape { kind: CauseKind::Branch, at: inner, deciders, latch: None, has_guard: false };
        }
        let at = largest(&deciders);
        let guards = guards(program, charges, leader, &body, at);
        let has_guard = !guards.is_empty();
        let deciders = [deciders, guards].concat();
        if let Some(recursion) = is_part(&deciders) {
            return of_recursion(recursion);
        }
        return Shape { kind: CauseKind::Loop, at, latch: most(&mut turns()), deciders, has_guard };
    }
    let deciders = deciders(program, charges, leader);
    if let Some(recursion) = is_part(&deciders) {
        return of_recursion(recursion);
    }
    let kind = match program.exit(leader) {
        BlockExit::Call | BlockExit::IndirectCall => CauseKind::Call,
        _ => CauseKind::Branch,
    };
    Shape { kind, at: largest(&deciders), deciders, latch: None, has_guard: false }
}

/// The branches that lead into a loop or past it, and say so on the line of the loop's own condition: a compiler that tests at
/// the end of each turn tests once before the first, and both are one decision.
fn guards(
    program: &Program<'_>,
    charges: &Charges,
    head: BlockId,
    body: &BTreeSet<BlockId>,
    at: BlockId,
) -> Vec<BlockId> {
    let ways_in = program.into(head).iter().copied().filter(|edge| !program.is_back(*edge));
    let before = ways_in.filter(|edge| charges.total(*edge) > 0).filter_map(|edge| program.edge(edge));
    let deciders = before.flat_map(|(from, _)| deciders(program, charges, from));
    let guards: BTreeSet<BlockId> =
        deciders.filter(|block| !body.contains(block) && is_one_condition(program, *block, at)).collect();
    guards.into_iter().collect()
}

/// True if both blocks end with a test on the same line of one function.
fn is_one_condition(program: &Program<'_>, one: BlockId, other: BlockId) -> bool {
    let line = |block: BlockId| line_of(&end(program, block));
    line(one).is_some() && line(one) == line(other)
}

/// The block itself if it decides anything, else the nearest ones before it that do.
fn deciders(program: &Program<'_>, charges: &Charges, leader: BlockId) -> Vec<BlockId> {
    let decides = |block: BlockId| {
        if program.exit(block) == BlockExit::Call {
            return false;
        }
        let ways = program
            .out(block)
            .iter()
            .filter(|edge| charges.total(**edge) > 0 && Some(**edge) != program.return_edge(block))
            .count();
        ways > 1
    };
    let mut seen = BTreeSet::from([leader]);
    let mut open = vec![leader];
    let mut found = Vec::new();
    while let Some(block) = open.pop() {
        if decides(block) {
            found.push(block);
            continue;
        }
        for edge in program.into(block).iter().filter(|edge| charges.total(**edge) > 0) {
            let Some((from, _)) = program.edge(*edge) else { continue };
            if seen.len() < MOST_CLIMBED && seen.insert(from) {
                open.push(from);
            }
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::{BasicBlock, Counts};

    use super::*;

    #[test]
    fn figure_4() {
        // Cluster C1 is led by A, C2 by A and by G: final scores are β · s, and A has the higher of its two.
        const A: u32 = 1;
        const G: u32 = 4;
        let edges = vec![(0, A), (A, 2), (A, 3), (3, G), (G, 5)];
        let counts = Counts {
            blocks: vec![BasicBlock::default(); 6],
            edges: edges.into_iter().map(|(from, to)| (BlockId(from), BlockId(to))).collect(),
            ..Counts::default()
        };
        // (A → 2) is C1; (A → 3) and (G → 5) are C2; 3 → G is in no cluster.
        let events = Events::with_correlations([(1, 0.3), (2, 0.2), (4, 0.82)].into_iter());
        let clusters = [Cluster { distinct: vec![0] }, Cluster { distinct: vec![1, 2] }];
        let fit = Fit { chosen: vec![0, 1], beta: vec![0.4, 0.91], ..Fit::default() };
        let program = Program::new(&counts);
        let found = find(
            &program,
            &Charges::default(),
            &events,
            &clusters,
            &fit,
            &[Vec::new(), Vec::new()],
            Method::Paper,
        );
        let score = |block| {
            let of = Blamed::Leader(BlockId(block));
            found.iter().find(|found| found.blamed == of).map(|found| found.score).expect("it leads")
        };
        assert!((score(G) - 0.7462).abs() < 1e-12, "{}", score(G));
        // To the letter both of A's scores are 0.3 before β: the larger edge of A is taken for both clusters.
        assert!((score(A) - 0.3 * 0.91).abs() < 1e-12, "{}", score(A));
        assert_eq!(found.len(), 2);
    }
}
