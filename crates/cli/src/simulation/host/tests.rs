use std::collections::BTreeMap;

use holdup_collect::{Family, Topology};

use super::*;

fn sure(value: f64) -> Figure {
    Figure { best: value, median: value * 1.1 }
}

fn cache(level: u32, kind: CacheKind, size: u64, shared_by: u32) -> HostCache {
    HostCache { level, kind, size, ways: 16, line: 64, shared_by }
}

/// A processor of 4 GHz with 5, 16 and 80 cycles for its levels, 100 ns for memory, and a line from core to core in 120 cycles.
fn facts() -> HostFacts {
    HostFacts {
        name: "A Processor".to_owned(),
        family: Family {
            name: "kind",
            width: 6,
            window: 512,
            misses: 16,
            stores: 112,
            itlb: (256, 8),
            dtlb: (64, 4),
            stlb: (2048, 16),
            history: 194,
            latencies: &[("pause", 140), ("multiply", 9)],
            source: "manual",
        },
        topology: Topology {
            sockets: 1,
            cores_per_socket: 4,
            caches: vec![
                cache(1, CacheKind::Data, 32 << 10, 1),
                cache(1, CacheKind::Instructions, 64 << 10, 1),
                cache(2, CacheKind::Data, 1 << 20, 1),
                cache(3, CacheKind::Data, 64 << 20, 4),
            ],
            siblings: Vec::new(),
        },
        frequency: sure(4.0),
        additions: sure(4.4),
        latencies: BTreeMap::from([("multiply", sure(3.0)), ("atomic", sure(20.0))]),
        busy: BTreeMap::from([("divide", sure(6.0))]),
        misprediction: sure(20.2),
        known_outcomes: 8192,
        addition_in_memory: sure(7.1),
        beside_atomics: 0.98,
        loads: vec![
            (16 << 10, sure(1.25)),
            (64 << 10, sure(4.0)),
            (2 << 20, sure(20.0 + 2.0 * 7.0 / 8.0)),
            (4 << 20, sure(20.0 + 2.0)),
            (8 << 20, sure(25.0)),
            (16 << 20, sure(90.0)),
            (32 << 20, sure(120.0)),
        ],
        pages: vec![(32, sure(1.25)), (256, sure(3.25)), (8192, sure(16.0))],
        memory: sure(100.0),
        bandwidth_alone: sure(12.0),
        bandwidth: sure(20.04),
        transfer: Some(sure(30.0)),
        wake_up: Some(sure(10_000.0)),
        waking: Some(sure(2_000.0)),
        create: sure(5_000.0),
        start: sure(3_000.0),
        switch: sure(1_000.0),
        warnings: Vec::new(),
    }
}

fn usual() -> Machine {
    Machine::named("genoa").unwrap()
}

#[test]
fn what_was_measured_becomes_a_machine_with_the_same_times() {
    let (machine, notes) = machine_of(&facts(), usual());
    machine.check().unwrap();
    assert_eq!((machine.cores(), machine.frequency), (4, 4.0));
    assert_eq!((machine.core.width, machine.core.window, machine.core.front_end), (6, 512, 17));
    let (l2, l3) = (machine.l2.as_ref().unwrap(), machine.l3.as_ref().unwrap());
    assert_eq!((machine.l1d.latency, l2.latency), (5, 16));
    // A hit in the third level: over the interconnect, then its data.
    assert_eq!(machine.on_chip.latency + l3.latency, 80);
    // From core to core: that, the other core's first level, and the crossing for the right to write.
    assert_eq!(machine.on_chip.latency + l3.tags + machine.l1d.latency + machine.on_chip.latency, 120);
    // Memory: 400 cycles from the core.
    assert_eq!(machine.on_chip.latency + l3.tags + machine.cycles(machine.memory.latency_ns) as u32, 400);
    assert_eq!(machine.memory.bandwidth, 20.0);
    assert_eq!(machine.stlb.as_ref().unwrap().latency, 8);
    assert_eq!(machine.page_walk, 64 - 16 - 8);
    // An addition to a number in memory takes 7 cycles, of which an addition and a store are two; the first level has 5.
    assert_eq!((machine.core.forward, machine.core.atomics_wait), (Some(5), true));
    let entries = |known_outcomes| {
        let (machine, _) = machine_of(&HostFacts { known_outcomes, beside_atomics: 0.4, ..facts() }, usual());
        assert!(!machine.core.atomics_wait);
        machine.predictor.tage.unwrap().entries
    };
    assert_eq!([0, 8192, 32_768].map(entries), [2048, 2048, 8192]);
    let latency = |class: &str| machine.core.latency.get(class).copied();
    assert_eq!((latency("multiply"), latency("pause"), latency("atomic")), (Some(3), Some(140), Some(15)));
    assert_eq!((machine.system.wake_up_ns, machine.system.switch_ns), (11_000.0, 1_100.0));
    // 8 MiB are as fast as 2, 16 as slow as memory.
    assert_eq!(l3.size, 12 << 20);
    assert!(
        notes.iter().any(|note| note.contains("said to have 64 MiB") && note.contains("12 MiB")),
        "{notes:?}"
    );
}

#[test]
fn machines_with_less_are_possible_too() {
    let mut less = facts();
    less.topology.caches.retain(|cache| cache.level < 3);
    less.loads.truncate(2);
    (less.transfer, less.wake_up, less.waking) = (None, None, None);
    let (machine, _) = machine_of(&less, usual());
    machine.check().unwrap();
    assert_eq!(machine.l3, None);
    let l2 = machine.l2.as_ref().unwrap();
    assert_eq!((l2.latency, l2.tags, machine.on_chip.latency), (16, 16, 0));
    less.topology.caches.retain(|cache| cache.level < 2);
    less.loads.truncate(1);
    let (machine, _) = machine_of(&less, usual());
    machine.check().unwrap();
    // Nonsense, as when measured without optimization on a machine that is far too busy.
    let mut odd = facts();
    odd.frequency = sure(0.0);
    odd.memory = sure(-1.0);
    odd.misprediction = sure(1e9);
    odd.loads.iter_mut().for_each(|(_, figure)| *figure = sure(1e6));
    odd.pages.clear();
    machine_of(&odd, usual()).0.check().unwrap();
}

#[test]
fn what_is_kept_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/host.toml");
    let (machine, notes) = machine_of(&facts(), usual());
    keep(&path, &machine, &notes).unwrap();
    assert_eq!(read(&path), Some((machine, notes)));
    fs::write(&path, "name = \"cut").unwrap();
    assert_eq!(read(&path), None);
}
