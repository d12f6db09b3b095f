use proptest::prelude::*;

use super::{Cache, Sets, State, TRACKED};
use crate::machine::{CacheFacts, Replacement};
use crate::memory::coherence::Holders;

fn facts(sets: u64, ways: u32, replacement: Replacement) -> CacheFacts {
    CacheFacts {
        size: sets * u64::from(ways) * 64,
        ways,
        line: 64,
        latency: 1,
        tags: 1,
        shared_by: 1,
        replacement,
        source: String::new(),
    }
}

/// What a cache does, the plain way: of each set the lines in their order of use, or of arrival.
struct Plain {
    sets: Vec<Vec<u64>>,
    ways: usize,
    moves: bool,
}

impl Plain {
    fn access(&mut self, line: u64) -> (bool, Option<u64>) {
        let index = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[index];
        if let Some(at) = set.iter().position(|known| *known == line) {
            if self.moves {
                let line = set.remove(at);
                set.push(line);
            }
            return (true, None);
        }
        let victim = (set.len() == self.ways).then(|| set.remove(0));
        set.push(line);
        (false, victim)
    }

    fn remove(&mut self, line: u64) {
        self.sets.iter_mut().for_each(|set| set.retain(|known| *known != line));
    }
}

proptest! {
    #[test]
    fn a_cache_is_sets_of_lines_in_order(
        sets in 1_u64..20,
        ways in 1_u32..17,
        is_lru in any::<bool>(),
        below in prop::sample::select(vec![0_u32, 1, 2, 8, 9, 64]),
        accesses in prop::collection::vec((0_u64..400, 0_u32..10), 1..2000),
    ) {
        let replacement = if is_lru { Replacement::Lru } else { Replacement::Fifo };
        let mut cache = Cache::new(&facts(sets, ways, replacement), below);
        let mut plain = Plain { sets: vec![Vec::new(); sets as usize], ways: ways as usize, moves: is_lru };
        for (line, act) in accesses {
            if act == 0 {
                if let Some(slot) = cache.find(line) {
                    cache.remove(slot);
                }
                plain.remove(line);
                continue;
            }
            // Who has a line moves with it.
            let holders = Holders { mask: if below > 8 { line } else { line & 0xFF }, owned: false };
            let (hits, victim) = plain.access(line);
            match cache.used(line) {
                Some(slot) => {
                    prop_assert!(hits);
                    prop_assert!(below == 0 || cache.holders(slot) == holders);
                }
                None => {
                    prop_assert!(!hits);
                    let (slot, gone) = cache.insert(line, State::Shared, 0);
                    if below > 0 {
                        cache.set_holders(slot, holders);
                    }
                    prop_assert_eq!(gone.map(|gone| gone.line), victim);
                }
            }
            prop_assert!(cache.find(line).is_some());
            prop_assert!(!is_lru || below > 0 || cache.is_first(line, false));
        }
    }

    #[test]
    fn every_policy_keeps_what_it_has_and_gives_up_one_at_a_time(
        replacement in prop::sample::select(vec![
            Replacement::TreePlru, Replacement::Nru, Replacement::Srrip, Replacement::Random,
        ]),
        bits in 0_u32..5,
        accesses in prop::collection::vec(0_u64..200, 1..1000),
    ) {
        let mut cache = Cache::new(&facts(3, 1 << bits, replacement), 2);
        let mut known = std::collections::BTreeSet::new();
        for line in accesses {
            prop_assert_eq!(cache.used(line).is_some(), known.contains(&line));
            if known.insert(line) && let (_, Some(victim)) = cache.insert(line, State::Shared, 0) {
                prop_assert_eq!(victim.line % 3, line % 3);
                prop_assert!(known.remove(&victim.line) && victim.line != line);
            }
            prop_assert_eq!(cache.lines().count(), known.len());
        }
    }

    #[test]
    fn any_number_of_sets_is_a_remainder(sets in 1_u64..1 << 30, line in 0_u64..1 << 60) {
        prop_assert_eq!(Sets::new(sets).of(line) as u64, line % sets);
        prop_assert_eq!(Sets::new(sets).of(sets - 1) as u64, sets - 1);
        prop_assert_eq!(Sets::new(sets).of(sets * (line % (1 << 28))), 0);
    }
}

#[test]
fn states_and_flags_do_not_mix() {
    let mut cache = Cache::new(&facts(4, 2, Replacement::Lru), 0);
    assert!(!cache.is_first(0, false), "line 0 is not there though memory is 0");
    let (slot, _) = cache.insert(0, State::Exclusive, 0);
    assert!(cache.is_first(0, false) && !cache.is_first(0, true), "a first store changes the state");
    cache.set_state(slot, State::Modified);
    assert!(cache.is_first(0, true));
    cache.set_flags(slot, TRACKED);
    assert!(!cache.is_first(0, false) && !cache.is_first(0, true));
    assert_eq!(cache.state(slot), State::Modified);
    cache.clear_flags(slot, TRACKED);
    assert!(cache.is_first(0, true));
    assert_eq!(cache.find(1), None);
}

#[test]
fn a_line_that_was_invalidated_leaves_room() {
    let mut cache = Cache::new(&facts(1, 4, Replacement::Lru), 0);
    for line in 0..4 {
        cache.insert(line, State::Shared, 0);
    }
    let slot = cache.find(2).expect("it was put in");
    cache.remove(slot);
    assert_eq!(cache.insert(9, State::Shared, 0).1, None);
    assert_eq!(cache.insert(10, State::Shared, 0).1.map(|victim| victim.line), Some(0));
}
