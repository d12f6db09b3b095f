//! What holds after any accesses of several cores.

use proptest::prelude::*;

use super::{Bench, Changes, Machine, dunnington};
use crate::machine::{CacheFacts, Coherence};
use crate::memory::Memory;
use crate::memory::coherence::State;

/// Tiny caches, so that lines are given up all the time.
fn tiny(coherence: Coherence, has_l3: bool, shared_by: u32) -> Machine {
    let mut machine = dunnington();
    machine.coherence = coherence;
    let shrink = |facts: &mut CacheFacts, lines: u64, ways: u32| {
        (facts.size, facts.ways) = (lines * 64, ways);
    };
    shrink(&mut machine.l1d, 4, 2);
    shrink(&mut machine.l1i, 4, 2);
    let l2 = machine.l2.as_mut().expect("it has one");
    shrink(l2, 9, 3);
    l2.shared_by = shared_by;
    if has_l3 {
        shrink(machine.l3.as_mut().expect("it has one"), 24, 4);
    } else {
        machine.l3 = None;
    }
    machine
}

impl Memory {
    /// Panics unless every state is legal.
    fn check(&self) {
        for (level, at) in self.levels.iter().enumerate() {
            for (index, cache) in at.caches.iter().enumerate() {
                for (line, state, slot) in cache.lines() {
                    self.check_parent(level, index as u32, line, state);
                    if level > 0 {
                        self.check_holders(level, index as u32, line, cache.holders(slot));
                    }
                }
            }
        }
        // One writer, or readers.
        for (core, cache) in self.levels[0].caches.iter().enumerate() {
            for (line, state, _) in cache.lines().filter(|(_, state, _)| state.may_write()) {
                let others = self.levels[0].caches.iter().enumerate().filter(|(other, _)| *other != core);
                assert!(
                    others.into_iter().all(|(_, other)| other.find(line).is_none()),
                    "line {line} is {state:?} in core {core}, and another has it"
                );
            }
        }
    }

    fn check_parent(&self, level: usize, index: u32, line: u64, state: State) {
        if let Some(above) = self.levels.get(level + 1) {
            let parent = &above.caches[(index / above.below.caches) as usize];
            let slot = parent.find(line).expect("outer levels include inner ones");
            let holders = parent.holders(slot);
            assert!(
                holders.mask & above.below.bit(index % above.below.caches) != 0,
                "the directory knows it"
            );
            assert_eq!(holders.owned, state.may_write(), "line {line} {state:?}");
            assert!(!state.may_write() || parent.state(slot).may_write(), "no more right than above");
        } else if self.levels[level].caches.len() > 1 {
            let holders = self.home.holders(line);
            assert!(holders.mask & self.home.below.bit(index) != 0);
            assert_eq!(holders.owned, state.may_write(), "line {line} {state:?}");
        }
    }

    fn check_holders(&self, level: usize, index: u32, line: u64, holders: crate::memory::coherence::Holders) {
        let fan = self.levels[level].below;
        if fan.caches == 1 {
            return;
        }
        for child in fan.members(holders.mask) {
            let inner = &self.levels[level - 1].caches[(index * fan.caches + child) as usize];
            assert!(inner.find(line).is_some(), "the directory knows no copies that are not there");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_accesses_leave_a_legal_state(
        is_mesi in any::<bool>(),
        has_l3 in any::<bool>(),
        shared_by in prop::sample::select(vec![1_u32, 2, 4]),
        cores in 1_u32..17,
        accesses in prop::collection::vec((0_u32..16, 0_u64..40, 0_u32..8), 1..600),
    ) {
        let coherence = if is_mesi { Coherence::Mesi } else { Coherence::Msi };
        let mut bench = Bench::new(&tiny(coherence, has_l3, shared_by), cores);
        for (core, line, act) in accesses {
            let core = core % cores;
            match act {
                0..3 => {
                    bench.store(core, line * 64);
                }
                3 => {
                    bench.memory.fetch(core, line * 64, 4, bench.now);
                }
                4 => bench.memory.prefetch(core, line, bench.now),
                _ => {
                    bench.load(core, line * 64);
                }
            }
            bench.memory.check();
            if act != 3 && act != 4 {
                let first = bench.memory.levels[0].caches[core as usize].find(line);
                prop_assert!(first.is_some(), "what was used is in the first level");
            }
        }
    }

    #[test]
    fn what_ifs_leave_no_state_that_stops_the_simulation(
        perfect in prop::option::of(1_u32..4),
        flags in prop::collection::vec(any::<bool>(), 4),
        accesses in prop::collection::vec((0_u32..16, 0_u64..40, any::<bool>()), 1..300),
    ) {
        let changes = Changes {
            perfect_cache: perfect,
            no_coherence: flags[0],
            private_caches: flags[1],
            private_links: flags[2],
            private_memory: flags[3],
            ..Changes::default()
        };
        let mut bench = Bench::changed(&tiny(Coherence::Msi, true, 2), 16, &changes);
        for (core, line, stores) in accesses {
            let served =
                if stores { bench.store(core, line * 64) } else { bench.load(core, line * 64) };
            prop_assert!((3..5000).contains(&served.latency));
        }
    }

    #[test]
    fn the_same_accesses_give_the_same_answers(
        accesses in prop::collection::vec((0_u32..16, 0_u64..4000, any::<bool>(), 0_u64..300), 1..500),
    ) {
        let run = || {
            let mut memory = Memory::new(&dunnington(), 16, &Changes::default());
            let mut now = 0;
            let mut served = Vec::new();
            for &(core, address, stores, gap) in &accesses {
                now += gap;
                // Cores are a quantum apart.
                let at = now + u64::from(core) * 10;
                served.push(match stores {
                    true => memory.store(core, address * 16, 8, core, at),
                    false => memory.load(core, address * 16, 8, core, at),
                });
            }
            (served, memory.shared_lines(&[1, 2, 3]), memory.resources(now + 1))
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn hundreds_of_cores_share_the_bits_of_a_directory() {
    let mut machine = tiny(Coherence::Mesi, false, 1);
    machine.cores_per_socket = 300;
    let mut bench = Bench::new(&machine, 300);
    for core in 0..300 {
        bench.load(core, 0);
    }
    assert_eq!(bench.load(299, 0).latency, 3);
    bench.store(150, 0);
    for core in [0, 149, 151, 299] {
        assert!(bench.memory.levels[0].caches[core].find(0).is_none(), "core {core} lost its copy");
    }
    assert!(bench.memory.levels[0].caches[150].find(0).is_some());
}
