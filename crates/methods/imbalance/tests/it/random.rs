//! Random programs with one planted cause: loops, branches and calls, nested at random, that treat all threads alike.

use holdup_imbalance::{WhyOptions, why};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::planted::lines;
use crate::synthetic::{Do, Here, Synthetic, call_one, either, library, turns, until, when};

/// The line of what is planted.
const PLANTED: u32 = 7777;

struct Maker {
    random: ChaCha8Rng,
    line: u32,
    /// Whether functions may be called: not out of others, which could call back.
    calls: bool,
}

impl Maker {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn line(&mut self) -> u32 {
        self.line += 1;
        self.line
    }

    fn body(&mut self, depth: u32) -> Vec<Do> {
        (0..1 + self.below(3)).map(|_| self.one(depth)).collect()
    }

    /// A statement that does about the same in all threads; some noise is in it.
    fn one(&mut self, depth: u32) -> Do {
        let line = self.line();
        let choice = if depth == 0 { 0 } else { self.below(7) };
        match choice {
            1 => {
                let share = 2 + self.below(5);
                let then = self.body(depth - 1);
                either(line, move |here| here.turn().is_multiple_of(share), then, vec![Do::Work(3)])
            }
            2 => {
                let (many, noise) = (2 + self.below(6), 1 + self.below(2));
                let body = self.body(depth - 1);
                turns(line, move |here| many + here.below(noise), body)
            }
            3 => {
                let many = 2 + self.below(6);
                let body = self.body(depth - 1);
                until(line, move |_| many, body)
            }
            4 if self.calls => Do::Call(line, 1 + self.below(2) as usize),
            5 => library(line, |here| 20 + here.below(3)),
            6 => when(line, |here| here.below(2) == 0, vec![Do::Work(2)]),
            _ => Do::Work(2 + self.below(20) as u32),
        }
    }

    /// What makes threads unequal, by so many instructions for each step of a thread's own number.
    fn planted(&mut self, work: u32) -> Do {
        let (factor, modulus) = (1 + self.below(12), [13, 17, 19, 23, 29][self.below(5) as usize]);
        let own = move |here: &Here<'_>| here.me * factor % modulus;
        let heavy = || vec![Do::Work(work)];
        match self.below(5) {
            0 => turns(PLANTED, move |here| 5 + own(here), heavy()),
            1 => until(PLANTED, move |here| 5 + own(here), heavy()),
            2 => {
                turns(self.line(), |_| 30, vec![when(PLANTED, move |here| here.turn() < own(here), heavy())])
            }
            3 => library(PLANTED, move |here| u64::from(work) * own(here)),
            _ => {
                let which = move |here: &mut Here<'_>| u64::from(here.turn() < own(here));
                turns(self.line(), |_| 30, vec![call_one(PLANTED, which, vec![1, 3])])
            }
        }
    }

    fn program(&mut self) -> Vec<Vec<Do>> {
        let small = vec![self.body(1), self.body(1)];
        self.calls = true;
        let mut main = self.body(3);
        main.extend(self.body(3));
        // Heavy enough to be the cause, whatever else there is, and at any place.
        let planted = self.planted(3000);
        let at = self.below(main.len() as u64 + 1) as usize;
        main.insert(at, planted);
        let mut functions = vec![main];
        functions.extend(small);
        functions.push(vec![Do::Work(3000)]);
        functions
    }
}

#[test]
fn the_planted_line_comes_first() {
    let mut missed = Vec::new();
    for seed in 0..240 {
        let mut maker = Maker { random: ChaCha8Rng::seed_from_u64(seed), line: 10, calls: false };
        let program = Synthetic::new(maker.program());
        let threads = [8, 16, 32, 64][seed as usize % 4];
        let counts = program.run(threads, 1 + seed % 3, seed);
        let why = why(&counts, &WhyOptions { draws: 0, ..WhyOptions::default() });
        let first = why.sections[0].causes.first();
        if !first
            .is_some_and(|cause| lines(cause).contains(&PLANTED) && cause.score > 0.7 && cause.charge > 0.7)
        {
            missed.push((
                seed,
                threads,
                first.map(|cause| (cause.kind, lines(cause), cause.score, cause.charge)),
            ));
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn charges_of_all_decisions_add_up() {
    // With three threads all decisions with a charge of 5 % are told: in these programs that is nearly all of them.
    for seed in 0..40 {
        let mut maker = Maker { random: ChaCha8Rng::seed_from_u64(seed), line: 10, calls: false };
        let counts = Synthetic::new(maker.program()).run(3, 1, seed);
        let section = &why(&counts, &WhyOptions::default()).sections[0];
        if section.spread >= 0.01 {
            assert!((section.explained - 1.0).abs() < 0.1, "seed {seed}: {:#?}", section.causes);
        }
    }
}
