//! Branch predictors: of the kind of the Pentium M, and with tagged tables for histories of geometric lengths (`tage`).
//!
//! What the tables of the former are and which one is believed is from Uzelac and Milenkovic, "Experiment flows and microbenchmarks for
//! reverse engineering of branch predictor structures" (ISPASS 2009): a bimodal table says something of every branch; a
//! global predictor, which finds its entries by the path on which the branch was reached, is believed before it where it
//! has an entry; and a loop predictor, which counts iterations, is believed before both. Entries of the latter two are
//! made for branches that were mispredicted only. The sizes are the machine's.
//!
//! A branch is predicted and learned in one step: there is no wrong path here, and nothing is in flight. Targets of
//! direct branches are taken to be known, as a branch target buffer of a few thousand entries nearly always knows them.

mod global;
mod indirect;
mod loops;
mod tage;
#[cfg(test)]
mod tests;

use crate::machine::PredictorFacts;
use global::Global;
use indirect::Indirect;
use loops::Loops;
use tage::Tage;

/// The predictor of one core.
pub(crate) struct Predictor {
    perfect: bool,
    direction: Direction,
    loops: Loops,
    indirect: Indirect,
    /// Where returns go to, a ring.
    returns: Vec<u64>,
    top: usize,
}

/// What says whether a conditional branch is taken.
enum Direction {
    PentiumM(PentiumM),
    Tage(Box<Tage>),
}

struct PentiumM {
    /// Two-bit counters: 2 and 3 say taken.
    bimodal: Vec<u8>,
    global: Global,
    path: Path,
}

impl PentiumM {
    #[inline]
    fn predict_and_train(&mut self, address: u64, taken: bool) -> bool {
        let index = address as usize & (self.bimodal.len() - 1);
        let counter = self.bimodal[index];
        self.bimodal[index] = trained(counter, taken);
        let simple = counter >= 2;

        let found = self.global.find(self.path.hash(address), address);
        let by_path = found.says_taken(simple);
        self.global.train(found, taken, by_path != taken);
        by_path
    }
}

impl Predictor {
    /// One that has seen nothing. Sizes that are no powers of two are rounded up to one.
    pub(crate) fn new(facts: &PredictorFacts) -> Self {
        let direction = match &facts.tage {
            Some(tage) => Direction::Tage(Box::new(Tage::new(facts.bimodal, tage))),
            None => {
                let global = Global::new(facts.global, facts.global_ways);
                Direction::PentiumM(PentiumM {
                    bimodal: vec![1; facts.bimodal.max(1).next_power_of_two() as usize],
                    path: Path::new(global.hash_bits()),
                    global,
                })
            }
        };
        Self {
            perfect: facts.perfect,
            loops: Loops::new(facts.loops, facts.loop_ways),
            indirect: Indirect::new(facts.indirect, if facts.tage.is_some() { 2 } else { 1 }),
            direction,
            returns: vec![0; facts.returns.max(1) as usize],
            top: 0,
        }
    }

    /// A conditional branch: true if it was predicted.
    #[inline]
    pub(crate) fn conditional(&mut self, address: u64, taken: bool) -> bool {
        if self.perfect {
            return true;
        }
        let by_path = match &mut self.direction {
            Direction::PentiumM(predictor) => predictor.predict_and_train(address, taken),
            Direction::Tage(predictor) => predictor.predict_and_train(address, taken),
        };
        let predicted = self.loops.predict_and_train(address, taken, by_path);
        match &mut self.direction {
            Direction::PentiumM(predictor) => predictor.path.conditional(address, taken),
            Direction::Tage(predictor) if taken => predictor.history.push(address),
            Direction::Tage(_) => {}
        }
        predicted == taken
    }

    /// A jump or call through a register or memory: true if its target was predicted.
    pub(crate) fn indirect(&mut self, address: u64, target: u64) -> bool {
        if self.perfect {
            return true;
        }
        match &mut self.direction {
            Direction::PentiumM(predictor) => {
                let predicted =
                    self.indirect.predict_and_train(&[predictor.path.hash(address)], address, target);
                predictor.path.indirect(address, target);
                predicted
            }
            Direction::Tage(predictor) => {
                let hashes = predictor.paths().map(|hash| hash ^ (address >> 4) as u32);
                predictor.history.push(address.rotate_left(32) ^ target);
                self.indirect.predict_and_train(&hashes, address, target)
            }
        }
    }

    /// A call, direct or not: where it returns to.
    pub(crate) fn call(&mut self, returns_to: u64) {
        self.top = if self.top + 1 == self.returns.len() { 0 } else { self.top + 1 };
        self.returns[self.top] = returns_to;
        if let Direction::Tage(predictor) = &mut self.direction {
            predictor.history.push(returns_to);
        }
    }

    /// A direct jump to a place that is always the same, from just before `behind`.
    #[inline]
    pub(crate) fn jump(&mut self, behind: u64) {
        if let Direction::Tage(predictor) = &mut self.direction {
            predictor.history.push(behind);
        }
    }

    /// Where the next return is predicted to go to.
    pub(crate) fn top(&self) -> u64 {
        self.returns[self.top]
    }

    /// A return: true if its target was predicted. Calls that are nested deeper than the stack overwrite the oldest, and
    /// their returns then take what is left in the ring, which is right where a function calls itself from one place.
    pub(crate) fn returns(&mut self, target: u64) -> bool {
        if let Direction::Tage(predictor) = &mut self.direction {
            predictor.history.push(target);
        }
        let predicted = self.returns[self.top];
        self.top = if self.top == 0 { self.returns.len() - 1 } else { self.top - 1 };
        self.perfect || predicted == target
    }
}

/// A two-bit saturating counter after a branch.
#[inline]
fn trained(counter: u8, taken: bool) -> u8 {
    counter + u8::from(taken & (counter < 3)) - u8::from(!taken & (counter > 0))
}

/// The path information register: on which path the program came here. Taken conditional branches and indirect branches
/// shift it by two bits and are mixed in (Uzelac and Milenkovic; 15 bits in the Pentium M, so that eight branches count).
#[derive(Clone, Copy)]
struct Path {
    bits: u32,
    mask: u32,
}

impl Path {
    fn new(bits: u32) -> Self {
        Self { bits: 0, mask: (1 << bits) - 1 }
    }

    /// The path and the branch, in as many bits as the register has. Branches count by their 16 bytes.
    #[inline]
    fn hash(self, address: u64) -> u32 {
        (self.bits ^ (address >> 4) as u32) & self.mask
    }

    #[inline]
    fn conditional(&mut self, address: u64, taken: bool) {
        let after = ((self.bits << 2) ^ (address >> 4) as u32) & self.mask;
        self.bits = if taken { after } else { self.bits };
    }

    /// The upper bits of the branch's address and the lower six of its target.
    #[inline]
    fn indirect(&mut self, address: u64, target: u64) {
        let mixed = ((address >> 4) as u32 & !0x3f) | (target as u32 & 0x3f);
        self.bits = ((self.bits << 2) ^ mixed) & self.mask;
    }
}
