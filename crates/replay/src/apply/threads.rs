//! Another number of threads that do the same.
//!
//! Threads that take work from a pool take it there; of others it is taken that the program divides its work equally
//! among them, as loops over blocks do: each then does its part of the turns, and as much less of the rest.

use std::ops::Range;
use std::sync::Arc;

use holdup_model::ThreadId;

use super::balance::scale;
use crate::program::{Actor, NO_SITE, Op, Program, Step};

/// A stretch with fewer turns for each new thread is divided by its work, not by its turns.
const ENOUGH_TURNS: usize = 4;

/// Lets `number` threads do what these do, and with them the one that starts them and takes part: it counts as one of them.
pub(super) fn set(program: &mut Program, threads: &[ThreadId], number: u32) {
    let number = number.max(1) as usize;
    // Those of them that take nothing from it would go on taking nothing.
    let takers: Vec<ThreadId> = threads.iter().copied().filter(|&thread| deals(program, thread)).collect();
    if !takers.is_empty() {
        if number != takers.len() {
            self::takers(program, &takers, number);
        }
    } else if !threads.is_empty() {
        let team: Vec<ThreadId> =
            who_takes_part(program, threads).into_iter().chain(threads.iter().copied()).collect();
        if number != team.len() {
            parts(program, &team, number);
        }
    }
}

/// The thread that starts all of these and meets them at each of their barriers.
fn who_takes_part(program: &Program, threads: &[ThreadId]) -> Option<ThreadId> {
    let met = |thread: ThreadId| -> Vec<u32> {
        let arrivals = program.steps[program.steps_of(thread)].iter().filter_map(|step| match step.op {
            Op::Arrive(barrier) => Some(barrier),
            _ => None,
        });
        arrivals.collect()
    };
    let barriers = met(*threads.first()?);
    let starts_all =
        |steps: &[Step]| threads.iter().all(|&thread| steps.iter().any(|step| step.op == Op::Start(thread)));
    let others = (0..program.copies.len() as u32).map(ThreadId::new).filter(|id| !threads.contains(id));
    let mut takes_part =
        others.filter(|&other| starts_all(&program.steps[program.steps_of(other)]) && met(other) == barriers);
    takes_part.next().filter(|_| !barriers.is_empty())
}

/// True if any of these threads takes from a pool.
pub(super) fn take_from_pools(program: &Program, threads: &[ThreadId]) -> bool {
    threads.iter().any(|&thread| deals(program, thread))
}

fn deals(program: &Program, thread: ThreadId) -> bool {
    program.steps[program.steps_of(thread)].iter().any(|step| matches!(step.op, Op::Deal(_)))
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
        // Where nobody says that nothing more comes, the last visit of all took one thing, an item or what told the thread to
        // end, of which there is none for another thread.
        let took = program.steps[tail..steps.end].iter().any(|step| match step.op {
            Op::Give(_) => true,
            Op::Take(tokens) => program.tokens[tokens as usize].givers == 0,
            _ => false,
        });
        for step in (steps.start..=deal).chain(tail..steps.end) {
            if step == tail {
                let tail = program.steps.len() as u32;
                let actor = program.actors[thread.index()].clone();
                program.actors.push(Actor { first, tail, is_added: true, ..actor });
            }
            let copy = of_a_copy(program.steps[step]);
            let copy = match copy.op {
                Op::End | Op::Arrive(_) if took && step >= tail => Step { work: 0, ..copy },
                _ if took && step >= tail => continue,
                _ => copy,
            };
            if let Op::Close(tokens) = copy.op {
                program.tokens[tokens as usize].givers += 1;
            }
            push(program, copy, step);
        }
        for (barrier, meets) in meetings(program, std::iter::once(tail..steps.end)).into_iter().enumerate() {
            program.barriers[barrier].parties += u32::from(meets);
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
    copy(program, before..until);
    let start = program.steps.len() as u32;
    copy(program, tail);
    program.actors[thread.index()].first = first;
    start
}

fn push(program: &mut Program, step: Step, like: usize) {
    program.steps.push(step);
    let time = program.times[like];
    Arc::make_mut(&mut program.times).push(time);
    let site = program.sites.get(like).copied().unwrap_or(NO_SITE);
    Arc::make_mut(&mut program.sites).push(site);
}

/// What an added thread does of what a recorded one did: not what others wait for, or what it waited for of others.
fn of_a_copy(step: Step) -> Step {
    let op = match step.op {
        Op::Open(_) | Op::Pass(_) | Op::Start(_) => Op::Nothing,
        op => op,
    };
    Step { op, ..step }
}

/// More or fewer threads of which each does its part: what the recorded ones did between two meetings is laid end to end, and
/// cut into as many equal parts as there are threads. Each turn is done once.
fn parts(program: &mut Program, threads: &[ThreadId], number: usize) {
    let own: Vec<Own> = threads.iter().map(|&thread| Own::of(program, thread, threads)).collect();
    let recorded: Vec<Vec<Range<usize>>> =
        own.iter().map(|own| stretches(program, own.shared.clone())).collect();
    let most = recorded.iter().map(Vec::len).max().unwrap_or(0);
    let phases: Vec<Phase> = (0..most).map(|phase| Phase::of(program, &recorded, phase, number)).collect();
    for index in 0..number.max(threads.len()) {
        let thread = threads[index % threads.len()];
        let part = Part {
            like: index % threads.len(),
            is_added: index >= threads.len(),
            from: (index * threads.len()) as f64 / number as f64,
            until: ((index + 1) * threads.len()) as f64 / number as f64,
        };
        let first = program.steps.len() as u32;
        let own = &own[part.like];
        if !part.is_added {
            copy(program, own.before.clone());
        }
        // None of these threads takes from a pool, behind which it would go on elsewhere.
        for phase in &phases[..recorded[part.like].len()] {
            if index < number {
                phase.write(program, &part);
            } else {
                phase.write_left_over(program, &part);
            }
        }
        if !part.is_added {
            copy(program, own.after.clone());
        } else if !own.after.is_empty() {
            push(program, Step { work: 0, op: Op::End }, own.after.end - 1);
        }
        if part.is_added {
            let actor = program.actors[thread.index()].clone();
            let tail = program.steps.len() as u32 - 1;
            program.actors.push(Actor { first, tail, is_added: true, ..actor });
            program.copies[thread.index()].push(ThreadId::new(program.actors.len() as u32 - 1));
        } else {
            program.actors[thread.index()].first = first;
        }
    }
    for (barrier, meets) in meetings(program, recorded.iter().flatten().cloned()).into_iter().enumerate() {
        if meets {
            let parties = &mut program.barriers[barrier].parties;
            *parties = (*parties + number as u32).saturating_sub(threads.len() as u32).max(1);
        }
    }
}

fn copy(program: &mut Program, steps: Range<usize>) {
    for step in steps {
        push(program, program.steps[step], step);
    }
}

/// What a thread does by itself, and what is divided.
struct Own {
    /// Until it has started the others.
    before: Range<usize>,
    shared: Range<usize>,
    /// When it has waited for their ends.
    after: Range<usize>,
}

impl Own {
    fn of(program: &Program, thread: ThreadId, team: &[ThreadId]) -> Self {
        let all = program.steps_of(thread);
        let last = |is_wanted: &dyn Fn(ThreadId, Op) -> bool| {
            let mut steps = all.clone().rev();
            let is_of_one = |op| team.iter().any(|&member| member != thread && is_wanted(member, op));
            steps.find(|&step| is_of_one(program.steps[step].op)).map(|step| step + 1)
        };
        let begin = last(&|member, op| op == Op::Start(member)).unwrap_or(all.start);
        let joined = last(&|member, op| op == Op::Pass(program.ends[member.index()]));
        // Nobody waits for those that have ended: then until it met them for the last time.
        let met = || last(&|_, op| matches!(op, Op::Arrive(_))).filter(|_| begin > all.start);
        let end = joined.or_else(met).filter(|&end| end > begin).unwrap_or(all.end);
        Self { before: all.start..begin, shared: begin..end, after: end..all.end }
    }
}

/// One of the new threads.
struct Part {
    /// Which of the recorded threads it is, or is a copy of.
    like: usize,
    is_added: bool,
    /// Where its part of what the recorded threads did begins: 1.5 is in the middle of the second one.
    from: f64,
    until: f64,
}

impl Part {
    /// Which part of this recorded thread's it does, from 0 to 1.
    fn of(&self, thread: usize) -> (f64, f64) {
        let start = thread as f64;
        ((self.from - start).clamp(0.0, 1.0), (self.until - start).clamp(0.0, 1.0))
    }

    fn written(&self, step: Step) -> Step {
        match step.op {
            Op::Close(_) if self.is_added => Step { op: Op::Nothing, ..step },
            _ if self.is_added => of_a_copy(step),
            _ => step,
        }
    }
}

/// Up to each meeting with others, and to the end.
fn stretches(program: &Program, steps: Range<usize>) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut from = steps.start;
    let end = steps.end;
    for step in steps {
        if matches!(program.steps[step].op, Op::Arrive(_) | Op::End) || step + 1 == end {
            stretches.push(from..step + 1);
            from = step + 1;
        }
    }
    stretches
}

/// Which barriers are met in these steps.
fn meetings(program: &Program, steps: impl Iterator<Item = Range<usize>>) -> Vec<bool> {
    let mut meets = vec![false; program.barriers.len()];
    for step in steps.flatten() {
        if let Op::Arrive(barrier) = program.steps[step].op {
            meets[barrier as usize] = true;
        }
    }
    meets
}

/// What all recorded threads do from one meeting to the next.
struct Phase {
    /// By thread; empty where one does not come to it.
    steps: Vec<Range<usize>>,
    /// By thread, if there are enough of them.
    turns: Option<Vec<Vec<Range<usize>>>>,
}

impl Phase {
    fn of(program: &Program, recorded: &[Vec<Range<usize>>], phase: usize, parts: usize) -> Self {
        let steps: Vec<Range<usize>> =
            recorded.iter().map(|stretches| stretches.get(phase).cloned().unwrap_or(0..0)).collect();
        let turns: Vec<Vec<Range<usize>>> = steps.iter().map(|steps| turns(program, steps.clone())).collect();
        let together: usize = turns.iter().map(Vec::len).sum();
        // What starts threads is not moved: it might come to be done by one that it starts.
        let mut moved = turns.iter().flatten().cloned().flatten();
        let starts = moved.any(|step| matches!(program.steps[step].op, Op::Start(_)));
        let is_divisible = together >= ENOUGH_TURNS * parts && !starts;
        Self { steps, turns: is_divisible.then_some(turns) }
    }

    /// Writes one thread's part.
    fn write(&self, program: &mut Program, part: &Part) {
        let Some(all) = &self.turns else {
            divided(program, &self.steps, part, 0);
            return;
        };
        let last = |steps: &Range<usize>| steps.end.saturating_sub(1).max(steps.start);
        let ends = self.steps.iter().zip(all);
        let before =
            ends.map(|(steps, turns)| steps.start..turns.first().map_or(last(steps), |turn| turn.start));
        let left = divided(program, &before.collect::<Vec<_>>(), part, 0);
        for (thread, turns) in all.iter().enumerate() {
            let (from, until) = part.of(thread);
            // A cut between two turns is at the same place for the part before it and for the part behind it.
            let turn_at = |place: f64| (place * turns.len() as f64 - 1e-6).ceil().max(0.0) as usize;
            for step in turns[turn_at(from)..turn_at(until)].iter().cloned().flatten() {
                push(program, program.steps[step], step);
            }
        }
        let lasts: Vec<Range<usize>> = self.steps.iter().map(|steps| last(steps)..steps.end).collect();
        divided(program, &lasts, part, left);
    }

    /// Writes what is left of a thread of which others do the work: what is waited for of it comes at once.
    fn write_left_over(&self, program: &mut Program, part: &Part) {
        let moved = self.turns.as_ref().and_then(|turns| {
            let own = &turns[part.like];
            Some(own.first()?.start..own.last()?.end)
        });
        for step in self.steps[part.like].clone() {
            let op = program.steps[step].op;
            let is_moved = moved.as_ref().is_some_and(|moved| moved.contains(&step));
            if !is_moved && matches!(op, Op::Open(_) | Op::Start(_) | Op::Close(_) | Op::End) {
                push(program, Step { work: 0, op }, step);
            }
        }
    }
}

/// Writes the steps of the thread that this one is like, with `more` (ns) and its part of the work that all threads do in theirs.
/// Gives the work for which there was no step (ns).
fn divided(program: &mut Program, all: &[Range<usize>], part: &Part, more: u64) -> u64 {
    let work = |steps: &Range<usize>| program.steps[steps.clone()].iter().map(|step| step.work).sum::<u64>();
    let parts = all.iter().enumerate().map(|(thread, steps)| (steps, part.of(thread)));
    let parts = parts.filter(|(_, (from, until))| until > from);
    let wanted: f64 = parts.map(|(steps, (from, until))| work(steps) as f64 * (until - from)).sum();
    let wanted = wanted.round() as u64 + more;
    let own = all[part.like].clone();
    if own.is_empty() {
        return wanted;
    }
    let own_work = work(&own);
    let first = program.steps.len();
    for step in own {
        let written = part.written(program.steps[step]);
        push(program, written, step);
    }
    scale(program, first, program.steps.len() - 1, own_work, wanted);
    0
}

/// The turns of a stretch, without the step that ends it: each begins with an acquisition by a thread that holds nothing.
fn turns(program: &Program, stretch: Range<usize>) -> Vec<Range<usize>> {
    let steps = stretch.start..stretch.end.saturating_sub(1);
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
