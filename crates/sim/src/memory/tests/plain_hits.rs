//! Hits that are found before the core begins them, against asking for each access.

use proptest::prelude::*;

use crate::change::Changes;
use crate::machine::{Machine, Replacement, TlbFacts};
use crate::memory::Memory;
use crate::program::Access;

/// Few sets and pages, so that all that can happen does.
fn machine(name: &str, replacement: Replacement) -> Machine {
    let mut machine = Machine::named(name).expect("it is embedded");
    (machine.l1d.size, machine.l1d.ways, machine.l1d.replacement) = (64 * 2 * 4, 2, replacement);
    let few = TlbFacts { entries: 4, ways: 2, latency: 0 };
    (machine.dtlb, machine.itlb) = (Some(few.clone()), Some(few));
    machine
}

/// What cores do: the core, where, how many bytes, whether they are written, the place, and how long after the last one.
type Use = (u32, u64, u32, bool, u32, u64);

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let address =
        (0_u64..6, 0_u64..3, 0_u64..64).prop_map(|(page, line, byte)| page << 12 | line << 6 | byte);
    let size = prop::sample::select(vec![1, 4, 8, 16, 64, 200]);
    let one = (0_u32..4, address, size, any::<bool>(), 0_u32..12, prop::sample::select(vec![0, 3, 1000]));
    prop::collection::vec(one, 1..400)
}

proptest! {
    #[test]
    fn hits_that_are_found_at_once_are_what_asking_gives(
        name in prop::sample::select(vec!["dunnington", "nehalem", "haswell", "genoa"]),
        replacement in prop::sample::select(vec![Replacement::Lru, Replacement::Fifo, Replacement::TreePlru]),
        no_coherence in any::<bool>(),
        uses in uses(),
    ) {
        let machine = machine(name, replacement);
        let changes = Changes { no_coherence, ..Changes::default() };
        let mut fast = Memory::new(&machine, 4, &changes);
        let mut plain = Memory::new(&machine, 4, &changes);
        let mut now = 0;
        for (core, address, size, stores, place, later) in uses {
            now += later;
            let ask = |memory: &mut Memory| match stores {
                true => memory.store(core, address, size, place, now),
                false => memory.load(core, address, size, place, now),
            };
            let access = Access { instruction: 0, size, stores };
            let found = match fast.plain_hits(core, &[access], &[address], &[place]) {
                0 => ask(&mut fast),
                _ => fast.hit(),
            };
            prop_assert_eq!(found, ask(&mut plain));
            // Code comes from the same caches beyond the first level.
            let code = (address & !63) | 1 << 20;
            prop_assert_eq!(fast.fetch(core, code, size, now), plain.fetch(core, code, size, now));
        }
        let places: Vec<u64> = (0..12).collect();
        prop_assert_eq!(fast.shared_lines(&places), plain.shared_lines(&places));
        prop_assert_eq!(fast.resources(now + 1), plain.resources(now + 1));
    }
}
