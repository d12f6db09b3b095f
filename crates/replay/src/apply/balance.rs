//! Equal work for threads that wait for each other.

use holdup_model::ThreadId;

use super::{Recorded, work_of};
use crate::program::{GateIndex, Op, Program};

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

/// Gives threads that live at the same time the same work.
pub(super) fn threads(program: &mut Program, recorded: Recorded<'_>, threads: &[ThreadId]) {
    let mut lives: Vec<_> = threads
        .iter()
        .map(|&thread| {
            let row = recorded.timeline.row(thread);
            (row.start, row.end, thread)
        })
        .collect();
    lives.sort_unstable();
    let mut at = 0;
    while at < lives.len() {
        let mut until = lives[at].1;
        let mut next = at + 1;
        while next < lives.len() && lives[next].0 < until {
            until = until.max(lives[next].1);
            next += 1;
        }
        let group = &lives[at..next];
        let mean = group.iter().map(|life| work_of(program, life.2)).sum::<u64>() / group.len() as u64;
        for &(_, _, thread) in group {
            let steps = program.steps_of(thread);
            let work = work_of(program, thread);
            scale(program, steps.start, steps.end - 1, work, mean);
        }
        at = next;
    }
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
