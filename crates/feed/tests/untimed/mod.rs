//! Threads that take turns without any notion of time: shows whether what a feed gives can be executed to its end.

use holdup_model::Mode;
use holdup_sim::{Act, Feed, Item, Program};

/// What was executed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Instructions of each thread.
    pub(crate) instructions: Vec<u64>,
    /// Addresses that were accessed: how many, and their sum.
    pub(crate) accesses: (u64, u64),
    /// Units of each thread.
    pub(crate) units: Vec<u64>,
    /// Pieces that ended, by thread.
    pub(crate) cuts: Vec<u64>,
    /// Threads that can never go on.
    pub(crate) stuck: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unborn,
    Runs,
    /// It tries this again.
    Wants(Act),
    /// It arrived at a barrier in this round.
    Arrived(u32, u64),
    Ended,
}

struct World<'a> {
    program: &'a Program,
    states: Vec<State>,
    /// Who holds each lock, how many readers.
    held: Vec<(Option<usize>, Vec<usize>)>,
    barriers: Vec<(u32, u64)>,
    gates: Vec<u32>,
    tokens: Vec<u64>,
    dealt: Vec<usize>,
    walked: Walked,
}

/// Executes all; each thread in turn makes at most `turn` steps.
pub(crate) fn walk(program: &Program, feed: &mut impl Feed, turn: usize) -> Walked {
    let count = program.threads.len();
    let begins = |created: bool| if created { State::Unborn } else { State::Runs };
    let mut world = World {
        program,
        states: program.threads.iter().map(|thread| begins(thread.is_created)).collect(),
        held: vec![(None, Vec::new()); program.locks.len()],
        barriers: vec![(0, 0); program.barriers.len()],
        gates: program.gates.clone(),
        tokens: program.tokens.clone(),
        dealt: vec![0; program.constructs.len()],
        walked: Walked {
            instructions: vec![0; count],
            units: vec![0; count],
            cuts: vec![0; count],
            ..Walked::default()
        },
    };
    loop {
        let mut moved = false;
        for thread in 0..count {
            for _ in 0..turn {
                if !world.step(thread, feed) {
                    break;
                }
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    world.walked.stuck = (0..count).filter(|thread| world.states[*thread] != State::Ended).collect();
    world.walked
}

impl World<'_> {
    /// False if the thread cannot go on.
    fn step(&mut self, thread: usize, feed: &mut impl Feed) -> bool {
        match self.states[thread] {
            State::Unborn | State::Ended => return false,
            State::Wants(act) => {
                self.states[thread] = State::Runs;
                if !self.does(thread, act, feed) {
                    self.states[thread] = State::Wants(act);
                    return false;
                }
                return true;
            }
            State::Arrived(barrier, round) if self.barriers[barrier as usize].1 == round => return false,
            State::Arrived(..) => self.states[thread] = State::Runs,
            State::Runs => {}
        }
        let act = match feed.next(thread) {
            Item::Block(block, addresses) => {
                let block = &self.program.code.blocks[block as usize];
                assert_eq!(addresses.len(), block.accesses.len());
                self.walked.instructions[thread] += block.instructions.len() as u64;
                self.walked.accesses.0 += addresses.len() as u64;
                self.walked.accesses.1 =
                    addresses.iter().fold(self.walked.accesses.1, |a, b| a.wrapping_add(*b));
                return true;
            }
            Item::Partial(_, count, accesses) => {
                self.walked.instructions[thread] += u64::from(count);
                self.walked.accesses.0 += accesses.len() as u64;
                let sum = accesses.iter().fold(self.walked.accesses.1, |sum, (_, at)| sum.wrapping_add(*at));
                self.walked.accesses.1 = sum;
                return true;
            }
            Item::UnitEnd => {
                // What dealt it is still wanted.
                return true;
            }
            Item::Skipped(_) => panic!("a recording leaves nothing out"),
            Item::End => {
                self.states[thread] = State::Ended;
                return true;
            }
            Item::Act(act) => act,
        };
        if !self.does(thread, act, feed) {
            self.states[thread] = State::Wants(act);
        }
        true
    }

    /// False if it cannot be done now.
    fn does(&mut self, thread: usize, act: Act, feed: &mut impl Feed) -> bool {
        match act {
            Act::Create(child) => {
                assert!(self.states[child as usize] == State::Unborn, "a thread begins once");
                self.states[child as usize] = State::Runs;
            }
            Act::Join(child) => return self.states[child as usize] == State::Ended,
            Act::Acquire(lock, mode) => {
                let (owner, readers) = &mut self.held[lock as usize];
                assert!(*owner != Some(thread) && !readers.contains(&thread), "nobody waits for itself");
                if owner.is_some() || mode == Mode::Exclusive && !readers.is_empty() {
                    return false;
                }
                match mode {
                    Mode::Exclusive => *owner = Some(thread),
                    Mode::Shared => readers.push(thread),
                }
            }
            Act::Release(lock) => {
                let (owner, readers) = &mut self.held[lock as usize];
                assert!(*owner == Some(thread) || readers.contains(&thread), "who releases it holds it");
                *owner = None;
                readers.retain(|reader| *reader != thread);
            }
            Act::Arrive(barrier) => {
                let (count, round) = &mut self.barriers[barrier as usize];
                self.states[thread] = State::Arrived(barrier, *round);
                *count += 1;
                if *count == self.program.barriers[barrier as usize] {
                    (*count, *round) = (0, *round + 1);
                }
            }
            Act::Pass(gate, _) => return self.gates[gate as usize] == 0,
            Act::Open(gate) => {
                self.gates[gate as usize] = self.gates[gate as usize].saturating_sub(1);
            }
            Act::Take(tokens, _) => {
                let left = &mut self.tokens[tokens as usize];
                if *left == 0 {
                    return false;
                }
                *left -= 1;
            }
            Act::Give(tokens) => self.tokens[tokens as usize] += 1,
            Act::Call { .. } | Act::CallWithin(_) | Act::PassWithin(..) => {}
            Act::Deal(construct) => {
                let units = &self.program.constructs[construct as usize];
                let next = &mut self.dealt[construct as usize];
                if let Some(unit) = units.get(*next) {
                    *next += 1;
                    self.walked.units[thread] += 1;
                    feed.take_unit(thread, *unit);
                    self.unit(thread, act, feed);
                }
            }
            Act::Cut => self.walked.cuts[thread] += 1,
        }
        true
    }

    /// Executes a unit, and takes the next one later. What it waits for must not need other threads.
    fn unit(&mut self, thread: usize, deal: Act, feed: &mut impl Feed) {
        let state = self.states[thread];
        loop {
            let (instructions, accesses) = match feed.next(thread) {
                Item::UnitEnd => break,
                Item::Block(block, addresses) => {
                    let block = &self.program.code.blocks[block as usize];
                    (block.instructions.len() as u64, addresses.to_vec())
                }
                Item::Partial(_, count, accesses) => {
                    (u64::from(count), accesses.iter().map(|(_, address)| *address).collect())
                }
                Item::Act(act) => {
                    assert!(self.does(thread, act, feed), "a unit that waits: {act:?}");
                    continue;
                }
                Item::Skipped(_) | Item::End => panic!("a thread that ends in a unit"),
            };
            self.walked.instructions[thread] += instructions;
            self.walked.accesses.0 += accesses.len() as u64;
            self.walked.accesses.1 = accesses.iter().fold(self.walked.accesses.1, |a, b| a.wrapping_add(*b));
        }
        self.states[thread] = if state == State::Runs { State::Wants(deal) } else { state };
    }
}
