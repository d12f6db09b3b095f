//! Bandwidth and queueing.

use super::{Arbitration, Bench, Changes, LinkFacts, Machine, dunnington, nehalem};
use crate::memory::Memory;

/// Each of some cores loads so many lines of its own, 16 under way at once; the cycle in which each has all.
fn stream(memory: &mut Memory, cores: &[u32], lines: usize) -> Vec<u64> {
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); cores.len()];
    let mut now = vec![0_u64; cores.len()];
    while ends.iter().any(|ends| ends.len() < lines) {
        // The one that is behind goes next, as quanta have it.
        let next = (0..cores.len()).filter(|at| ends[*at].len() < lines).min_by_key(|at| now[*at]);
        let at = next.expect("one has not ended");
        let line = ends[at].len() as u64;
        if line >= 16 {
            now[at] = now[at].max(ends[at][line as usize - 16]);
        }
        let address = (u64::from(cores[at]) << 32) + line * 64;
        let served = memory.load(cores[at], address, 8, 1, now[at]);
        ends[at].push(now[at] + u64::from(served.latency));
        now[at] += 1;
    }
    ends.iter().map(|ends| ends.iter().copied().max().unwrap_or(0)).collect()
}

fn last(ends: &[u64]) -> f64 {
    ends.iter().copied().max().unwrap_or(0) as f64
}

#[test]
fn a_stream_takes_its_bytes_divided_by_the_bandwidth() {
    let machine = dunnington();
    let bytes_per_cycle = 4.0 / 2.67;
    for cores in [&[0][..], &[0, 1, 2, 3], &[0, 5, 10, 15]] {
        let mut memory = Memory::new(&machine, 16, &Changes::default());
        let cycles = last(&stream(&mut memory, cores, 8000));
        let ideal = (8000 * cores.len() * 64) as f64 / bytes_per_cycle;
        assert!((cycles / ideal - 1.0).abs() < 0.01, "{} cores: {cycles} cycles, {ideal} ideal", cores.len());
        let resources = memory.resources(cycles as u64);
        let controller = resources.last().expect("there is one");
        assert_eq!(
            (controller.name.as_str(), controller.bytes),
            ("memory", (8000 * cores.len() * 64) as u64)
        );
        assert!(controller.busy as f64 / cycles > 0.98 && controller.queueing > 0);
    }
}

#[test]
fn bandwidth_is_a_what_if() {
    let cycles = |changes: Changes| {
        let mut memory = Memory::new(&dunnington(), 16, &changes);
        last(&stream(&mut memory, &[0, 1, 4, 5], 4000))
    };
    let plain = cycles(Changes::default());
    let double = cycles(Changes { bandwidth: Some(2.0), ..Changes::default() });
    assert!((plain / double - 2.0).abs() < 0.05, "{plain} {double}");
    let private = cycles(Changes { private_memory: true, ..Changes::default() });
    assert!((plain / private - 4.0).abs() < 0.1, "{plain} {private}");
    let unlimited = cycles(Changes { unlimited_bandwidth: true, ..Changes::default() });
    // 16 at a time, each 548 cycles.
    assert!((unlimited / (4000.0 / 16.0 * 548.0) - 1.0).abs() < 0.05, "{unlimited}");
}

#[test]
fn each_socket_has_the_bandwidth_of_its_own_memory() {
    let mut machine = nehalem();
    machine.prefetch = None;
    let mut memory = Memory::new(&machine, 8, &Changes::default());
    let local = last(&stream(&mut memory, &[0, 1, 2, 3], 4000));
    let mut memory = Memory::new(&machine, 8, &Changes::default());
    let spread = last(&stream(&mut memory, &[0, 1, 4, 5], 4000));
    assert!(local / spread > 1.6, "{local} {spread}");
}

/// A machine whose interconnect is what limits it.
fn narrow(arbitration: Arbitration) -> Machine {
    let mut machine = dunnington();
    machine.on_chip = LinkFacts { latency: 0, bandwidth: 0.5, arbitration };
    machine
}

#[test]
fn queueing_is_reported_where_it_is() {
    let mut memory = Memory::new(&narrow(Arbitration::Fair), 4, &Changes::default());
    stream(&mut memory, &[0, 2], 1000);
    let served = memory.load(0, 1 << 40, 8, 1, 1000);
    assert!(served.interconnect_queueing > 100 && served.latency > served.interconnect_queueing);
    let resources = memory.resources(1_000_000);
    assert_eq!(resources[0].name, "interconnect of socket 0");
    assert!(resources[0].queueing > 0);
    let mut memory = Memory::new(&dunnington(), 4, &Changes::default());
    stream(&mut memory, &[0, 2], 1000);
    assert!(memory.load(0, 1 << 40, 8, 1, 1000).memory_queueing > 100);
}

#[test]
fn an_unfair_interconnect_starves_the_cores_with_higher_numbers() {
    let ends = |arbitration| {
        let mut memory = Memory::new(&narrow(arbitration), 4, &Changes::default());
        stream(&mut memory, &[0, 1, 2, 3], 1000)
    };
    let fair = ends(Arbitration::Fair);
    assert!(fair.iter().all(|end| *end as f64 > 0.95 * last(&fair)), "{fair:?}");
    let unfair = ends(Arbitration::LowestFirst);
    // One after the other, in their order.
    for (rank, end) in unfair.iter().enumerate() {
        let share = *end as f64 / last(&fair);
        assert!((share - (rank + 1) as f64 / 4.0).abs() < 0.05, "{unfair:?}");
    }
}

#[test]
fn the_link_of_a_socket_limits_what_the_others_get_from_it() {
    let mut machine = nehalem();
    machine.prefetch = None;
    let mut bench = Bench::new(&machine, 8);
    // Pages of socket 0.
    for line in 0..8000 {
        bench.load(0, (4 << 32) + line * 64);
    }
    let began = bench.now;
    let mut end = 0;
    for line in 0..8000_u64 {
        let served = bench.memory.load(4, (4 << 32) + line * 64, 8, 1, began + line);
        end = end.max(began + line + u64::from(served.latency));
    }
    let ideal = 8000.0 * 64.0 / 5.2;
    let cycles = (end - began) as f64;
    assert!((cycles / ideal - 1.0).abs() < 0.02, "{cycles} {ideal}");
}
