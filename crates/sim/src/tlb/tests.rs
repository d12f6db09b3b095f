use proptest::prelude::*;

use super::*;

fn facts(entries: u32, ways: u32, latency: u32) -> TlbFacts {
    TlbFacts { entries, ways, latency }
}

fn tlb(data: TlbFacts, second: Option<TlbFacts>, walk: u32) -> Tlb {
    let second_latency = second.as_ref().map_or(0, |facts| facts.latency);
    Tlb {
        data: Some(Buffer::new(&data)),
        instructions: Some(Buffer::new(&data)),
        second: second.as_ref().map(Buffer::new),
        second_latency,
        walk: second_latency + walk,
    }
}

#[test]
fn a_page_misses_once_and_hits_then() {
    let mut tlb = tlb(facts(64, 4, 0), Some(facts(512, 4, 7)), 30);
    assert_eq!(tlb.data(0x7fff_1000), 37);
    assert_eq!(tlb.data(0x7fff_1ff8), 0);
    assert_eq!(tlb.data(0x7fff_2000), 37);
    assert_eq!(tlb.data(0x7fff_1000), 0);
}

#[test]
fn the_second_level_has_what_the_first_has_no_room_for() {
    let mut tlb = tlb(facts(4, 4, 0), Some(facts(64, 4, 7)), 30);
    let mut round = || (0..5).map(|page| tlb.data(page * 4096)).collect::<Vec<_>>();
    assert_eq!(round(), [37; 5]);
    // Five pages in turn in four entries: the one that is needed next was just given up.
    assert_eq!(round(), [7; 5]);
}

#[test]
fn both_first_levels_share_the_second() {
    let mut tlb = tlb(facts(4, 4, 0), Some(facts(64, 4, 7)), 30);
    assert_eq!(tlb.data(0x1000), 37);
    assert_eq!(tlb.instructions(0x1000), 7);
    assert_eq!(tlb.instructions(0x1000), 0);
}

#[test]
fn without_a_second_level_every_miss_is_a_walk() {
    let mut tlb = tlb(facts(2, 2, 0), None, 30);
    let pages = [0u64, 1, 2, 0, 2];
    assert_eq!(pages.map(|page| tlb.data(page << 12)), [30, 30, 30, 30, 0]);
}

#[test]
fn pages_of_one_set_push_each_other_out() {
    let mut tlb = tlb(facts(64, 4, 0), None, 30);
    // 16 sets: every 16th page is in the same one, and only four fit.
    let far = (0..5).chain(0..5).map(|page| tlb.data((page * 16) << 12)).filter(|cycles| *cycles > 0).count();
    assert_eq!(far, 10);
    let near =
        (100..105).chain(100..105).map(|page| tlb.data(page << 12)).filter(|cycles| *cycles > 0).count();
    assert_eq!(near, 5);
}

/// A buffer that is written down plainly: for each set the pages, the one that was used last at the end.
struct Naive {
    sets: Vec<Vec<u64>>,
    ways: usize,
}

impl Naive {
    fn hits(&mut self, page: u64) -> bool {
        let count = self.sets.len() as u64;
        let set = &mut self.sets[(page % count) as usize];
        let held = set.iter().position(|held| *held == page);
        held.map(|at| set.remove(at));
        set.push(page);
        if set.len() > self.ways {
            set.remove(0);
        }
        held.is_some()
    }
}

proptest! {
    #[test]
    fn it_is_least_recently_used_in_two_levels(
        (sets, ways) in (1u32..9, 1u32..6), (more_sets, more_ways) in (1u32..20, 1u32..8),
        accesses in prop::collection::vec((0u64..60, any::<bool>()), 1..600),
    ) {
        let mut tlb = tlb(facts(sets * ways, ways, 0), Some(facts(more_sets * more_ways, more_ways, 7)), 30);
        let naive = |sets: u32, ways: u32| Naive { sets: vec![Vec::new(); sets as usize], ways: ways as usize };
        let (mut data, mut code) = (naive(sets, ways), naive(sets, ways));
        let mut second = naive(more_sets, more_ways);
        for (page, is_data) in accesses {
            let address = page * 4096 + 8;
            let first = if is_data { data.hits(page) } else { code.hits(page) };
            let expected = if first { 0 } else if second.hits(page) { 7 } else { 37 };
            prop_assert_eq!(if is_data { tlb.data(address) } else { tlb.instructions(address) }, expected);
        }
    }
}

/// Prints how long a look-up takes: `cargo test --release -p holdup-sim --lib -- --ignored --nocapture translations_a_second`.
#[test]
#[ignore = "measures, and has nothing to say of right or wrong"]
fn translations_a_second() {
    for (name, pages) in [("one page", 1u64), ("two in turn", 2), ("40 in turn", 40), ("400 in turn", 400)] {
        let mut tlb = tlb(facts(64, 4, 0), Some(facts(512, 4, 7)), 30);
        let begin = std::time::Instant::now();
        let cycles: u64 = (0..20_000_000u64).map(|n| u64::from(tlb.data((n % pages) << 12))).sum();
        println!("{name}: {:.2} ns, {cycles} cycles", begin.elapsed().as_nanos() as f64 / 2e7);
    }
}
