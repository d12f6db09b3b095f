//! Another number of threads that do the same.
//!
//! Threads that take work from a pool take it there; of others it is taken that the program divides its work equally
//! among them, as loops over blocks do: each then does its part of the turns, and as much less of the rest.

use std::ops::Range;

use holdup_model::ThreadId;

use crate::program::{Actor, NO_SITE, Op, Program, Step};

/// A stretch with fewer turns for each new thread is divided by its work, not by its turns.
const ENOUGH_TURNS: usize = 4;

/// Lets `number` threads do what these do.
pub(super) fn set(program: &mut Program, threads: &[ThreadId], number: u32) {
    let number = number.max(1) as usize;
    if threads.is_empty() || number == threads.len() {
        return;
    }
    let deals = |program: &Program, thread: ThreadId| {
        program.steps[program.steps_of(thread)].iter().any(|step| matches!(step.op, Op::Deal(_)))
    };
    if threads.iter().all(|&thread| deals(program, thread)) {
        takers(program, threads, number);
    } else {
        parts(program, threads, number);
    }
}

/// More or fewer threads that take from a pool.
fn takers(program: &mut Program, threads: &[ThreadId], number: usize) {
    for &thread in threads.iter().skip(number) {
        for step in program.steps_of(thread) {
            if matches!(program.steps[step].op, Op::Deal(_)) {
                // On to the tail, through no piece.
                let tail = program.actors[thread.index()].tail as usize;
                let end = program.steps_of(thread).end;
                let first = rewrite(program, thread, step, tail..end);
                program.actors[thread.index()].tail = first;
                break;
            }
        }
    }
    for copy in threads.len()..number {
        let thread = threads[copy % threads.len()];
        let steps = program.steps_of(thread);
        let Some(deal) = steps.clone().find(|&step| matches!(program.steps[step].op, Op::Deal(_))) else {
            continue;
        };
        let tail = program.actors[thread.index()].tail as usize;
        let first = program.steps.len() as u32;
        for step in (steps.start..=deal).chain(tail..steps.end) {
            let is_tail = step == tail;
            if is_tail {
                let tail = program.steps.len() as u32;
                program.actors.push(Actor {
                    first,
                    tail,
                    is_added: true,
                    ..program.actors[thread.index()].clone()
                });
            }
            let copy = of_a_copy(program.steps[step]);
            if let Op::Close(tokens) = copy.op {
                program.tokens[tokens as usize].givers += 1;
            }
            push(program, copy, step);
        }
        let id = ThreadId::new(program.actors.len() as u32 - 1);
        program.copies[thread.index()].push(id);
    }
}

/// Writes the steps before `until`, then `tail`, anew at the end of all, and lets the thread begin there. Gives the first
/// step of the tail.
fn rewrite(program: &mut Program, thread: ThreadId, until: usize, tail: Range<usize>) -> u32 {
    let before = program.actors[thread.index()].first as usize;
    let first = program.steps.len() as u32;
    for step in before..until {
        push(program, program.steps[step], step);
    }
    let start = program.steps.len() as u32;
    for step in tail {
        push(program, program.steps[step], step);
    }
    program.actors[thread.index()].first = first;
    start
}

fn push(program: &mut Program, step: Step, like: usize) {
    program.steps.push(step);
    program.times.push(program.times[like]);
    program.sites.push(program.sites.get(like).copied().unwrap_or(NO_SITE));
}

/// What an added thread does of what a recorded one did: not what others wait for, or what it waited for of others.
fn of_a_copy(step: Step) -> Step {
    let op = match step.op {
        Op::Open(_) | Op::Pass(_) | Op::Start(_) => Op::Nothing,
        op => op,
    };
    Step { op, ..step }
}

/// More or fewer threads of which each does its part.
fn parts(program: &mut Program, threads: &[ThreadId], number: usize) {
    let share = threads.len() as f64 / number as f64;
    let recorded: Vec<Range<usize>> = threads.iter().map(|&thread| program.steps_of(thread)).collect();
    for index in 0..number.max(threads.len()) {
        let like = index % threads.len();
        let thread = threads[like];
        let is_added = index >= threads.len();
        let first = program.steps.len() as u32;
        if index < number {
            part(program, recorded[like].clone(), share, index, is_added);
        } else {
            // Its work is done by the others; what they wait for of it comes at once.
            for step in recorded[like].clone() {
                let op = match program.steps[step].op {
                    op @ (Op::Open(_) | Op::Start(_) | Op::Close(_) | Op::End) => op,
                    _ => continue,
                };
                push(program, Step { work: 0, op }, step);
            }
        }
        if is_added {
            let actor = program.actors[thread.index()].clone();
            program.actors.push(Actor { first, tail: first, is_added: true, ..actor });
            program.copies[thread.index()].push(ThreadId::new(program.actors.len() as u32 - 1));
        } else {
            program.actors[thread.index()].first = first;
        }
    }
    let mut meets = vec![false; program.barriers.len()];
    for steps in recorded {
        for step in steps {
            if let Op::Arrive(barrier) = program.steps[step].op {
                meets[barrier as usize] = true;
            }
        }
    }
    for (barrier, meets) in program.barriers.iter_mut().zip(meets) {
        if meets {
            barrier.parties = (barrier.parties + number as u32).saturating_sub(threads.len() as u32).max(1);
        }
    }
}

/// Writes one thread's part: `share` of the steps of a recorded thread.
fn part(program: &mut Program, steps: Range<usize>, share: f64, index: usize, is_added: bool) {
    let mut from = steps.start;
    while from < steps.end {
        let until = (from..steps.end)
            .find(|&step| matches!(program.steps[step].op, Op::Arrive(_) | Op::End))
            .unwrap_or(steps.end - 1);
        stretch(program, from..until + 1, share, index, is_added);
        from = until + 1;
    }
}

/// A stretch of steps up to a meeting with others, or the end.
fn stretch(program: &mut Program, steps: Range<usize>, share: f64, index: usize, is_added: bool) {
    let last = steps.end - 1;
    let turns = turns(program, steps.start..last);
    let is_divisible = turns.len() as f64 * share.min(1.0) >= ENOUGH_TURNS as f64;
    let written = |step: Step| match step.op {
        Op::Close(_) if is_added => Step { op: Op::Nothing, ..step },
        _ if is_added => of_a_copy(step),
        _ => step,
    };
    if !is_divisible {
        for step in steps {
            let Step { work, op } = written(program.steps[step]);
            push(program, Step { work: (work as f64 * share).round() as u64, op }, step);
        }
        return;
    }
    let before = turns[0].start;
    for step in steps.start..before {
        push(program, written(program.steps[step]), step);
    }
    for (number, turn) in turns.iter().enumerate() {
        // Which turns are whose differs from thread to thread, and all of them together do each once.
        let place = |turn: usize| ((turn + index) as f64 * share + 1e-9).floor();
        let mut times = (place(number + 1) - place(number)) as u32;
        let is_waited_for =
            turn.clone().any(|step| matches!(program.steps[step].op, Op::Open(_) | Op::Start(_)));
        if !is_added && is_waited_for {
            times = times.max(1);
        }
        for again in 0..times {
            for step in turn.clone() {
                let step_like =
                    if again == 0 { written(program.steps[step]) } else { of_a_copy(program.steps[step]) };
                push(program, step_like, step);
            }
        }
    }
    push(program, written(program.steps[last]), last);
}

/// The turns of a stretch: each begins with an acquisition by a thread that holds nothing.
fn turns(program: &Program, steps: Range<usize>) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    let mut depth = 0u32;
    for step in steps.clone() {
        match program.steps[step].op {
            Op::Acquire(_) | Op::AcquireShared(_) => {
                if depth == 0 {
                    if let Some(turn) = turns.last_mut() {
                        turn.end = step;
                    }
                    turns.push(step..steps.end);
                }
                depth += 1;
            }
            Op::Release(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    turns
}
