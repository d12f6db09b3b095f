//! Latencies and sources that can be said by hand.

use holdup_model::cycles::Level;

use super::{Bench, Changes, Machine, dunnington, nehalem};
use crate::machine::Coherence;

/// 200 ns at 2.67 GHz.
const DRAM: u32 = 534;

#[test]
fn a_chase_has_the_latency_of_the_level_that_it_fits() {
    let mebi = 1 << 20;
    for (bytes, latency, level) in [
        (16 << 10, 3, Level::L1),
        (mebi, 1 + 14, Level::L2),
        (3 * mebi, 1 + 14, Level::L2),
        (8 * mebi, 1 + 3 + 96, Level::L3),
        (16 * mebi, 1 + 3 + 96, Level::L3),
        (32 * mebi, 1 + 3 + 10 + DRAM, Level::Dram),
    ] {
        let found = Bench::new(&dunnington(), 16).chase(0, bytes);
        assert_eq!(found, (f64::from(latency), vec![level]), "{bytes} bytes");
    }
}

#[test]
fn lines_of_one_set_do_not_fit_more_than_its_ways() {
    // 64 sets of 8 ways: lines that are 4 KiB apart.
    for (lines, level) in [(8, Level::L1), (9, Level::L2)] {
        let mut bench = Bench::new(&dunnington(), 1);
        (0..2 * lines).for_each(|index| {
            bench.load(0, index % lines * 4096);
        });
        assert!((0..lines).all(|index| bench.load(0, index * 4096).by == level), "{lines} lines");
    }
}

#[test]
fn caches_may_have_any_number_of_sets() {
    let mut machine = dunnington();
    let l2 = machine.l2.as_mut().expect("it has one");
    (l2.size, l2.ways) = (1000 * 3 * 64, 3);
    let mut bench = Bench::new(&machine, 1);
    let (latency, sources) = bench.chase(0, 1000 * 3 * 64);
    assert_eq!((latency, sources), (15.0, vec![Level::L2]));
}

#[test]
fn an_outer_level_that_gives_up_a_line_takes_it_from_the_inner_ones() {
    let mut machine = dunnington();
    let l3 = machine.l3.as_mut().expect("it has one");
    (l3.size, l3.ways) = (16 * 64, 16);
    let mut bench = Bench::new(&machine, 1);
    bench.load(0, 0);
    assert_eq!(bench.load(0, 0).by, Level::L1);
    (1..=16).for_each(|line| {
        bench.load(0, line * 64);
    });
    assert_eq!(bench.load(0, 0).by, Level::Dram, "the first level had room for it, the third had not");
}

#[test]
fn data_comes_from_the_nearest_cache_that_has_it() {
    let mut bench = Bench::new(&dunnington(), 16);
    bench.store(0, 0);
    let served = bench.load(1, 0);
    assert_eq!((served.by, served.latency), (Level::L1Neighbor, 1 + 3 + 3), "the other core of the L2");
    assert_eq!(bench.load(0, 0).by, Level::L1, "its copy is a shared one now");

    bench.store(0, 64);
    let served = bench.load(2, 64);
    assert_eq!(
        (served.by, served.latency),
        (Level::L1Neighbor, 1 + 3 + 10 + 3 + 3),
        "another L2 of the socket"
    );

    bench.store(0, 128);
    // Out of the first level into the second.
    (1..=8).for_each(|way| {
        bench.load(0, 128 + way * 4096);
    });
    let served = bench.load(2, 128);
    assert_eq!((served.by, served.latency), (Level::L2Neighbor, 1 + 3 + 10 + 14));
    let served = bench.load(3, 128);
    assert_eq!((served.by, served.latency), (Level::L2, 1 + 14), "core 2 brought it there");
    assert_eq!(bench.load(4, 128).by, Level::OffSocket);

    bench.store(0, 192);
    let served = bench.load(5, 192);
    let expected = 1 + 3 + 10 + 72 + (10 + 3 + 3);
    assert_eq!(
        (served.by, served.latency),
        (Level::OffSocket, expected),
        "newer data, in the first level there"
    );
    let served = bench.load(9, 192);
    assert_eq!(
        (served.by, served.latency),
        (Level::OffSocket, 1 + 3 + 10 + 72 + 96),
        "clean in a third level"
    );
    assert_eq!(bench.load(4, 192).by, Level::L2, "core 5 brought it there");
    assert_eq!(bench.load(6, 192).by, Level::L3);
}

#[test]
fn what_was_written_goes_down_level_by_level_and_is_written_to_memory_once() {
    let mut bench = Bench::new(&dunnington(), 16);
    let lines = 32 * (1 << 20) / 64;
    (0..lines).for_each(|line| {
        bench.store(0, line * 64);
    });
    let memory = |bench: &Bench| bench.memory.resources(1).last().expect("there is one").requests;
    let kept = 16 * (1 << 20) / 64;
    assert_eq!(memory(&bench), lines + (lines - kept));
    // Reading other data writes back the rest, and nothing twice.
    (lines..2 * lines).for_each(|line| {
        bench.load(0, line * 64);
    });
    assert_eq!(memory(&bench), 3 * lines);
}

#[test]
fn a_lone_reader_needs_no_leave_to_write_with_mesi_only() {
    let first_store = |coherence: Coherence, cores: u32| {
        let mut bench = Bench::new(&Machine { coherence, ..dunnington() }, cores);
        bench.load(0, 0);
        let first = bench.store(0, 0);
        assert_eq!(bench.store(0, 0).latency, 3, "then it is its own");
        (first.by, first.latency)
    };
    assert_eq!(first_store(Coherence::Mesi, 16), (Level::L1, 3));
    assert_eq!(first_store(Coherence::Msi, 16), (Level::OffSocket, 1 + 3 + 10 + 72));
    // With one socket the third level is the only one that memory knows.
    assert_eq!(first_store(Coherence::Msi, 4), (Level::L3, 1 + 3 + 10));
}

#[test]
fn a_store_takes_the_others_their_copies() {
    let mut bench = Bench::new(&dunnington(), 16);
    let readers = [0, 1, 2, 4, 15];
    readers.iter().for_each(|core| {
        bench.load(*core, 0);
    });
    // Over the link and back, and all the way into the first levels.
    let served = bench.store(1, 0);
    assert_eq!((served.by, served.latency), (Level::OffSocket, 1 + 3 + 10 + 72 + (10 + 3 + 1)));
    assert_eq!(bench.load(0, 0).by, Level::L1Neighbor);
    assert_eq!(bench.load(2, 0).by, Level::L2Neighbor, "the second level had to ask no one any more");
    assert_eq!(bench.load(4, 0).by, Level::OffSocket);
}

#[test]
fn memory_is_where_it_was_touched_first() {
    let mut machine = nehalem();
    machine.prefetch = None;
    let mut bench = Bench::new(&machine, 8);
    let local = bench.load(0, 0).latency;
    assert_eq!(local, 148, "65 ns at 2.27 GHz, and caches without time for their tags");
    // The next line of the same page, from the other socket.
    let remote = bench.load(4, 64);
    assert_eq!((remote.by, remote.latency), (Level::Dram, local + 93));
    assert_eq!(bench.load(4, 4096).latency, local, "its own page");
    assert_eq!(bench.load(3, 4096 + 64).latency, local + 93);
    // One controller for all is as far from everyone.
    let mut bench = Bench::new(&dunnington(), 16);
    assert_eq!(bench.load(0, 0).latency, bench.load(15, 64).latency);
}

#[test]
fn data_that_is_on_its_way_is_waited_for() {
    let mut bench = Bench::new(&dunnington(), 1);
    let full = bench.memory.load(0, 0, 8, 1, 1000).latency;
    let rest = bench.memory.load(0, 8, 8, 1, 1100);
    assert_eq!((rest.by, rest.latency), (Level::Dram, full - 100));
    let there = bench.memory.load(0, 8, 8, 1, 1000 + u64::from(full));
    assert_eq!((there.by, there.latency), (Level::L1, 3));
    // What a core wrote it has from its store buffer.
    bench.memory.store(0, 6400, 8, 1, 5000);
    assert_eq!(bench.memory.load(0, 6404, 4, 1, 5001).latency, 3);
    assert_eq!(bench.memory.load(0, 6408, 4, 1, 5001).by, Level::Dram);
}

#[test]
fn an_access_to_two_lines_takes_as_long_as_the_slower() {
    let mut bench = Bench::new(&dunnington(), 1);
    bench.load(0, 0);
    assert_eq!(bench.load(0, 60).by, Level::Dram);
    assert_eq!(bench.load(0, 60).latency, 3);
    assert_eq!(bench.load(0, 64).latency, 3);
    // The last address, and a size that no instruction has.
    bench.load(0, u64::MAX);
    bench.memory.load(0, 5, u32::MAX, 0, 0);
    bench.memory.store(0, u64::MAX - 2, 0, 0, 0);
}

#[test]
fn prefetched_lines_hit_in_the_second_level() {
    let mut machine = nehalem();
    let mut dram = |depth: Option<u32>, gap: u64| {
        match depth {
            Some(depth) => machine.prefetch.as_mut().expect("it has one").depth = depth,
            None => machine.prefetch = None,
        }
        let mut bench = Bench::new(&machine, 8);
        let served: Vec<_> = (0..1000)
            .map(|line| bench.memory.load(0, line * 64, 8, 7, line * gap))
            .filter(|served| served.by == Level::Dram)
            .collect();
        (served.len(), served.iter().map(|served| u64::from(served.latency)).sum::<u64>())
    };
    let timely = dram(Some(8), 1000);
    let late = dram(Some(2), 50);
    let none = dram(None, 1000);
    assert!(timely.0 <= 4, "{timely:?}");
    assert_eq!(none.0, 1000);
    // Two lines ahead are 100 cycles of the 148.
    assert!(late.0 >= 990 && late.1 / 1000 < 70, "{late:?}");
}

#[test]
fn instructions_are_fetched_through_their_own_first_level() {
    let mut bench = Bench::new(&dunnington(), 16);
    let served = bench.memory.fetch(0, 0x40_0000, 32, 0).expect("nothing is there yet");
    assert_eq!((served.by, served.latency), (Level::Dram, 1 + 3 + 10 + DRAM));
    assert_eq!(bench.memory.fetch(0, 0x40_0000, 64, 0), None);
    assert_eq!(bench.memory.fetch(1, 0x40_0020, 4, 0).map(|served| served.by), Some(Level::L2));
    assert_eq!(bench.memory.fetch(2, 0x40_0020, 4, 0).map(|served| served.by), Some(Level::L3));
    assert_eq!(bench.memory.fetch(4, 0x40_0020, 4, 0).map(|served| served.by), Some(Level::OffSocket));
    assert_eq!(bench.load(0, 0x40_0000).by, Level::L2, "data and instructions meet there");
    let served = bench.memory.fetch(0, 0x40_003C, 8, 0);
    assert_eq!(served.map(|served| served.by), Some(Level::Dram), "its second half was not there");
}

#[test]
fn translation_comes_on_top() {
    let mut machine = Machine::named("dunnington").expect("it is embedded");
    machine.page_walk = 30;
    let mut bench = Bench::new(&machine, 1);
    let first = bench.load(0, 0);
    assert_eq!((first.tlb, first.latency), (30, 1 + 3 + 10 + DRAM));
    assert_eq!(bench.load(0, 8).tlb, 0);
    assert_eq!(bench.memory.fetch(0, 4096, 4, 0).map(|served| served.tlb), Some(30));
}

#[test]
fn a_perfect_cache_has_everything_at_its_level() {
    for (level, latency, by) in
        [(1, 3, Level::L1), (2, 1 + 14, Level::L2), (3, 1 + 3 + 96, Level::L3), (9, 1 + 3 + 96, Level::L3)]
    {
        let changes = Changes { perfect_cache: Some(level), ..Changes::default() };
        let mut bench = Bench::changed(&dunnington(), 16, &changes);
        for core in [0, 2, 5] {
            let first = bench.load(core, 0);
            assert_eq!((first.latency, first.by), (latency, by), "level {level}, core {core}");
        }
        assert_eq!(bench.load(5, 0).by, Level::L1);
        assert!(
            bench
                .memory
                .resources(1)
                .iter()
                .all(|resource| !resource.name.starts_with("memory") || resource.requests == 0)
        );
        let fetched = bench.memory.fetch(0, 1 << 30, 4, 0).map(|served| served.by);
        assert_eq!(fetched, Some(Level::Dram), "instructions are not data");
    }
    let mut bench = Bench::changed(&dunnington(), 1, &Changes { perfect_fetch: true, ..Changes::default() });
    assert_eq!(bench.memory.fetch(0, 0, 4, 0), None);
}

#[test]
fn private_caches_are_as_large_as_the_shared_ones() {
    let changes = Changes { private_caches: true, ..Changes::default() };
    let mut bench = Bench::changed(&dunnington(), 4, &changes);
    let bytes = 2 << 20;
    // Two cores of one L2, 2 MB each: together more than its 3 MB.
    for line in 0..bytes / 64 {
        bench.load(0, line * 64);
        bench.load(1, bytes + line * 64);
    }
    assert_eq!(bench.load(0, 0).by, Level::L2);
    assert_eq!(bench.load(1, 0).by, Level::L2Neighbor, "it is not its own any more");
}

#[test]
fn without_coherence_no_store_costs_others_their_copies() {
    let changes = Changes { no_coherence: true, ..Changes::default() };
    let mut bench = Bench::changed(&dunnington(), 16, &changes);
    for core in [0, 1, 4] {
        bench.load(core, 0);
    }
    for core in [0, 1, 4, 0, 1, 4] {
        assert_eq!(bench.store(core, 0).by, Level::L1);
        assert_eq!(bench.load(core, 0).by, Level::L1);
    }
    assert!(bench.memory.shared_lines(&[]).is_empty());
}
