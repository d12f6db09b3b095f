//! Equal work for threads that wait for each other.

use holdup_model::{Segment, SiteId, State, ThreadId, Time};

use super::Recorded;
use crate::program::{GateIndex, NO_SITE, Op, Pool, Program};

/// Work of one thread up to an arrival at a barrier.
struct Arrival {
    time: u64,
    thread: u32,
    first: usize,
    last: usize,
    work: u64,
}

/// A thread that does less than this share of its work of a round before it waits for somebody has that work from whoever
/// lets it go on.
const NO_WORK: u64 = 20;

/// Gives all threads that meet in a round the same work since their round before. What a thread does before it lets another
/// of them begin is not dealt out: nobody else could do it.
pub(super) fn barrier(program: &mut Program, barrier: u32) {
    let mut arrivals = Vec::new();
    let mut thread = 0;
    let (mut first, mut work) = (0, 0);
    for (index, step) in program.steps.iter().enumerate() {
        work += step.work;
        match step.op {
            Op::Arrive(at) => {
                if at == barrier {
                    let time = program.times[index];
                    arrivals.push(Arrival { time, thread, first, last: index, work });
                }
                (first, work) = (index + 1, 0);
            }
            Op::End => {
                thread += 1;
                (first, work) = (index + 1, 0);
            }
            _ => {}
        }
    }
    arrivals.sort_unstable_by_key(|arrival| (arrival.time, arrival.thread));
    let parties = program.barriers[barrier as usize].parties.max(1) as usize;
    // The last round may be incomplete: its threads were not released.
    for round in arrivals.chunks_exact_mut(parties) {
        let begins: Vec<Begin> = round.iter().flat_map(|arrival| begins(program, arrival)).collect();
        for arrival in round.iter_mut() {
            let lets_begin = |index: &usize| match program.steps[*index].op {
                Op::Open(gate) => begins.contains(&Begin::Gate(gate)),
                Op::Start(thread) => begins.contains(&Begin::Thread(thread)),
                _ => false,
            };
            if let Some(index) = (arrival.first..arrival.last).rev().find(lets_begin) {
                let before: u64 = program.steps[arrival.first..=index].iter().map(|step| step.work).sum();
                arrival.first = index + 1;
                arrival.work -= before;
            }
        }
        let mean = round.iter().map(|arrival| arrival.work).sum::<u64>() / parties as u64;
        for arrival in round {
            scale(program, arrival.first, arrival.last, arrival.work, mean);
        }
    }
}

/// What a thread's work of a round waits for.
#[derive(PartialEq, Eq)]
enum Begin {
    Gate(GateIndex),
    Thread(ThreadId),
}

/// The gates that a thread passes before it works, and its start where it has just been started.
fn begins(program: &Program, arrival: &Arrival) -> Vec<Begin> {
    let mut begins = Vec::new();
    let actor = program.actors.get(arrival.thread as usize).filter(|actor| actor.starts_at.is_none());
    begins.extend(
        actor.filter(|actor| actor.first as usize == arrival.first).map(|actor| Begin::Thread(actor.thread)),
    );
    let mut before = 0;
    for step in &program.steps[arrival.first..arrival.last] {
        before += step.work;
        if before > arrival.work / NO_WORK {
            break;
        }
        if let Op::Pass(gate) = step.op {
            begins.push(Begin::Gate(gate));
        }
    }
    begins
}

/// A thread's steps of one round.
struct Part {
    round: usize,
    first: usize,
    last: usize,
    work: u64,
}

/// Gives threads the same work in each round, and the one that gives it to them, if it does a part. A round ends when all of them
/// have nothing to do, or have ended: what comes then is given to them by another, who may need what they have done before.
pub(super) fn threads(program: &mut Program, recorded: &Recorded<'_>, threads: &[ThreadId]) {
    let ends = ends_of_rounds(recorded, threads);
    let mut parts: Vec<Part> = Vec::new();
    for &thread in threads {
        let steps = program.steps_of(thread);
        for index in steps.clone() {
            let work = program.steps[index].work;
            let round = ends.partition_point(|&end| end < program.times[index]);
            match parts.last_mut().filter(|last| last.round == round && last.last >= steps.start) {
                Some(part) => (part.last, part.work) = (index, part.work + work),
                None => parts.push(Part { round, first: index, last: index, work }),
            }
        }
    }
    if let Some(giver) = recorded.timeline.roles.who_takes_part(threads) {
        parts.extend(own_parts(program, recorded, giver, &ends));
    }
    parts.sort_by_key(|part| part.round);
    for round in parts.chunk_by(|one, other| one.round == other.round) {
        let mean = round.iter().map(|part| part.work).sum::<u64>() / round.len() as u64;
        for part in round {
            scale(program, part.first, part.last, part.work, mean);
        }
    }
    keep_pieces(program, threads);
}

/// Lets threads do their own pieces, where all that take from a pool have equal work: dealt out anew it would be equal no more.
fn keep_pieces(program: &mut Program, threads: &[ThreadId]) {
    let is_whole = |pool: &Pool| pool.members.iter().all(|member| threads.contains(member));
    let whole: Vec<bool> = program.pools.iter().map(is_whole).collect();
    for &thread in threads {
        for index in program.steps_of(thread) {
            if let Op::Deal(pool) | Op::EndOfPiece(pool) = program.steps[index].op
                && whole[pool as usize]
            {
                program.steps[index].op = Op::Nothing;
            }
        }
    }
}

/// What a thread does itself of what it gives to others: from the last that it gave away until it waits for them.
fn own_parts(program: &Program, recorded: &Recorded<'_>, giver: ThreadId, ends: &[u64]) -> Vec<Part> {
    let joins = |index: usize| {
        let site = Some(program.sites[index]).filter(|&site| site != NO_SITE).map(SiteId::new);
        matches!(program.steps[index].op, Op::Pass(_) | Op::Acquire(_))
            && recorded.timeline.places.joins(site)
    };
    let mut parts: Vec<Part> = Vec::new();
    let mut given: Option<usize> = None;
    for index in program.steps_of(giver) {
        match program.steps[index].op {
            Op::Open(_) | Op::Give(_) | Op::Start(_) => given = Some(index),
            _ if joins(index) => {
                let Some(given) = given.take().filter(|given| *given < index) else { continue };
                let round = ends.partition_point(|&end| end < program.times[given]);
                let work = program.steps[given + 1..=index].iter().map(|step| step.work).sum();
                parts.push(Part { round, first: given + 1, last: index, work });
            }
            _ => {}
        }
    }
    parts
}

/// When all of the threads have nothing to do, or have ended or not started (ns from the start of the process).
fn ends_of_rounds(recorded: &Recorded<'_>, threads: &[ThreadId]) -> Vec<u64> {
    let roles = &recorded.timeline.roles;
    let is_idle = |segment: &Segment| {
        matches!(segment.state, State::Blocked | State::Spinning)
            && segment.object.is_some_and(|object| roles.kinds[object.index()].is_signal())
    };
    // When a thread begins and ends to be busy.
    let mut turns: Vec<(Time, bool)> = Vec::new();
    for &thread in threads {
        let mut busy_until: Option<Time> = None;
        for segment in recorded.timeline.row(thread).segments.iter().filter(|segment| !is_idle(segment)) {
            if busy_until != Some(segment.start) {
                turns.extend(busy_until.map(|end| (end, false)));
                turns.push((segment.start, true));
            }
            busy_until = Some(segment.end);
        }
        turns.extend(busy_until.map(|end| (end, false)));
    }
    // Who begins when another ends goes on with the round.
    turns.sort_unstable_by_key(|&(time, begins)| (time, !begins));
    let mut busy = 0_u64;
    let mut ends = Vec::new();
    for (time, begins) in turns {
        busy = if begins { busy + 1 } else { busy.saturating_sub(1) };
        if busy == 0 {
            ends.push(time.since(recorded.process.start).get());
        }
    }
    ends
}

/// Lets the work of the steps from `first` to `last`, together `work`, be `wanted`.
pub(super) fn scale(program: &mut Program, first: usize, last: usize, work: u64, wanted: u64) {
    if work == 0 {
        program.steps[last].work = wanted;
        return;
    }
    let (mut before, mut written) = (0u128, 0u64);
    for step in &mut program.steps[first..=last] {
        before += u128::from(step.work);
        let until = (before * u128::from(wanted) / u128::from(work)) as u64;
        step.work = until - written;
        written = until;
    }
}
