//! One core against a plain model: levels of sets with their lines in the order of use.

use holdup_model::cycles::Level;
use proptest::prelude::*;

use super::{Bench, Machine, dunnington};
use crate::machine::CacheFacts;

/// Levels that include each other.
struct Plain {
    /// By level and set, the lines, the one that was used last at the end.
    levels: Vec<Vec<Vec<u64>>>,
    ways: Vec<usize>,
}

impl Plain {
    fn new(machine: &Machine) -> Plain {
        let all = [Some(&machine.l1d), machine.l2.as_ref(), machine.l3.as_ref()];
        let facts: Vec<&CacheFacts> = all.into_iter().flatten().collect();
        Plain {
            levels: facts
                .iter()
                .map(|facts| vec![Vec::new(); (facts.size / 64) as usize / facts.ways as usize])
                .collect(),
            ways: facts.iter().map(|facts| facts.ways as usize).collect(),
        }
    }

    /// The level that has the line; their number if none does.
    fn access(&mut self, line: u64) -> usize {
        let mut found = self.levels.len();
        for (level, sets) in self.levels.iter_mut().enumerate() {
            let index = line as usize % sets.len();
            let set = &mut sets[index];
            if let Some(at) = set.iter().position(|known| *known == line) {
                set.remove(at);
                set.push(line);
                found = level;
                break;
            }
        }
        for level in (0..found).rev() {
            let index = line as usize % self.levels[level].len();
            let set = &mut self.levels[level][index];
            let victim = (set.len() == self.ways[level]).then(|| set.remove(0));
            set.push(line);
            if let Some(victim) = victim {
                for inner in &mut self.levels[..level] {
                    inner.iter_mut().for_each(|set| set.retain(|known| *known != victim));
                }
            }
        }
        found
    }
}

proptest! {
    #[test]
    fn one_core_finds_lines_where_a_plain_model_does(
        sets in prop::collection::vec((1_u64..6, 1_u32..5), 3),
        accesses in prop::collection::vec((0_u64..120, any::<bool>()), 1..1500),
    ) {
        let mut machine = dunnington();
        let shrink = |facts: &mut CacheFacts, (sets, ways): (u64, u32)| {
            (facts.size, facts.ways) = (sets * u64::from(ways) * 64, ways);
        };
        shrink(&mut machine.l1d, sets[0]);
        shrink(machine.l2.as_mut().expect("it has one"), sets[1]);
        shrink(machine.l3.as_mut().expect("it has one"), sets[2]);
        // One socket: no one else is asked for the right to write.
        let mut bench = Bench::new(&machine, 4);
        machine.coherence = crate::machine::Coherence::Mesi;
        bench.memory = crate::memory::Memory::new(&machine, 4, &Default::default());
        let mut plain = Plain::new(&machine);
        for (line, stores) in accesses {
            let served = if stores { bench.store(0, line * 64) } else { bench.load(0, line * 64) };
            let expected = [Level::L1, Level::L2, Level::L3, Level::Dram][plain.access(line)];
            prop_assert_eq!(served.by, expected);
        }
    }
}
