//! Nothing is found where there is nothing.

use holdup_imbalance::{Verdict, WhyOptions, why};
use holdup_model::counts::{
    BasicBlock, BlockId, CountedThread, Counts, EventId, EventTable, Instance, Section, ThreadLabel,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::planted::{self, balanced};
use crate::synthetic::{Do, Synthetic, turns, when};

const OPTIONS: WhyOptions = WhyOptions { draws: 0, ..WhyOptions::DEFAULT };

pub(crate) fn shuffle(values: &mut [u64], random: &mut ChaCha8Rng) {
    for at in (1..values.len()).rev() {
        values.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
}

/// Counts of programs with a cause, the times permuted among threads: at most one section in twenty reports anything.
#[test]
fn permuted_times() {
    let programs: Vec<Synthetic> = planted::all().into_iter().map(Synthetic::new).collect();
    let (mut cases, mut found) = (0, Vec::new());
    for (at, program) in programs.iter().enumerate() {
        for threads in [8, 16, 32, 64] {
            for instances in [1, 3] {
                let counts = program.run(threads, instances, 7);
                for seed in 0..10 {
                    let mut random = ChaCha8Rng::seed_from_u64(seed + 1000 * threads + 100_000 * at as u64);
                    let mut counts = counts.clone();
                    for instance in &mut counts.sections[0].instances {
                        shuffle(&mut instance.time, &mut random);
                    }
                    let section = why(&counts, &OPTIONS).sections.remove(0);
                    cases += 1;
                    if !section.causes.is_empty() {
                        let told: Vec<_> =
                            section.causes.iter().map(|cause| (cause.score, cause.charge)).collect();
                        found.push((at, threads, instances, seed, told));
                    }
                }
            }
        }
    }
    assert!(cases >= 800, "{cases}");
    assert!(found.len() * 20 <= cases, "{} of {cases}: {found:#?}", found.len());
}

/// Counts that have nothing to do with time.
fn unrelated(threads: usize, instances: usize, events: usize, seed: u64) -> Counts {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let blocks = events + 1;
    let mut section = Section::default();
    for _ in 0..instances {
        let mut entries = Vec::new();
        for event in 0..events {
            for row in 0..threads {
                entries.push((EventId(event as u32), row as u32, 1 + random.next_u64() % 1000));
            }
        }
        section.instances.push(Instance {
            threads: (0..threads as u32).map(CountedThread).collect(),
            time: (0..threads).map(|_| 1_000_000 + random.next_u64() % 500_000).collect(),
            executed: EventTable { entries },
            ..Instance::default()
        });
    }
    Counts {
        threads: (0..threads as u32).map(|number| ThreadLabel { number, name: None }).collect(),
        blocks: (0..blocks).map(|_| BasicBlock { instructions: 5, ..BasicBlock::default() }).collect(),
        edges: (0..events as u32).map(|at| (BlockId(at / 2), BlockId(at + 1))).collect(),
        sections: vec![section],
        ..Counts::default()
    }
}

#[test]
fn unrelated_counts() {
    let (mut cases, mut found) = (0, 0);
    for threads in [8, 16, 32, 64] {
        for instances in [1, 4] {
            for seed in 0..50 {
                let counts = unrelated(threads, instances, 60, seed);
                let section = why(&counts, &OPTIONS).sections.remove(0);
                cases += 1;
                found += usize::from(!section.causes.is_empty());
                assert!(section.verdict != Verdict::Unexplained || section.unexplained == 1.0);
            }
        }
    }
    assert!(cases >= 400 && found * 20 <= cases, "{found} of {cases}");
}

#[test]
fn threads_that_do_the_same() {
    let test = |here: &mut crate::synthetic::Here<'_>| here.turn() % 16 == here.me % 16;
    let programs = [
        vec![vec![balanced(), turns(10, |_| 900, vec![Do::Work(40)])]],
        // Each thread owns as many blocks as any other.
        vec![vec![turns(10, |_| 64, vec![when(11, test, vec![Do::Work(500)])])]],
    ];
    for program in programs {
        let counts = Synthetic::new(program).run(16, 2, 3);
        let section = why(&counts, &OPTIONS).sections.remove(0);
        assert_eq!((section.verdict, section.causes.len()), (Verdict::Balanced, 0), "{section:#?}");
    }
}
