//! False sharing in the whole system.

use super::{Bench, dunnington};

/// Two cores store in turns, so many bytes apart.
fn ping_pong(apart: u64, cores: [u32; 2], turns: u64) -> Bench {
    let mut bench = Bench::new(&dunnington(), 16);
    for turn in 0..turns {
        let which = turn % 2;
        bench.store(cores[which as usize], 0x1000 + which * apart);
    }
    bench
}

#[test]
fn neighbors_in_a_line_share_falsely() {
    let bench = ping_pong(8, [0, 1], 100);
    let lines = bench.memory.shared_lines(&[0, 0x10, 0x20]);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!((line.address, line.transfers), (0x1000, 99));
    // From one first level to the other below the same second level, each time.
    assert_eq!(line.cycles, 99 * 7);
    assert!(line.false_cycles >= 95 * 7, "{line:?}");
    assert_eq!((line.users[0].thread, line.users[0].writes), (0, 0xFF));
    assert_eq!((line.users[1].thread, line.users[1].writes), (1, 0xFF00));
    assert_eq!(line.users[1].instructions, [0x20]);
}

#[test]
fn the_same_variable_is_shared_truly() {
    let bench = ping_pong(0, [0, 4], 100);
    let line = &bench.memory.shared_lines(&[])[0];
    assert_eq!((line.transfers, line.false_cycles), (99, 0));
    assert_eq!(line.cycles, 99 * (1 + 3 + 10 + 72 + 16));
}

#[test]
fn lines_of_their_own_are_not_reported() {
    assert!(ping_pong(64, [0, 1], 100).memory.shared_lines(&[]).is_empty());
}

#[test]
fn a_reader_of_another_variable_shares_falsely_with_its_writer() {
    let mut bench = Bench::new(&dunnington(), 16);
    for _ in 0..50 {
        bench.store(0, 0x1000);
        bench.load(2, 0x1020);
    }
    let line = &bench.memory.shared_lines(&[])[0];
    // The reader fetches it, the writer takes it back.
    assert_eq!(line.transfers, 99);
    assert!(line.false_cycles > line.cycles * 9 / 10, "{line:?}");
    let mut bench = Bench::new(&dunnington(), 16);
    for _ in 0..50 {
        bench.store(0, 0x1000);
        bench.load(2, 0x1000);
    }
    assert_eq!(bench.memory.shared_lines(&[])[0].false_cycles, 0);
}

#[test]
fn readers_alone_share_nothing() {
    let mut bench = Bench::new(&dunnington(), 16);
    for core in (0..16).cycle().take(160) {
        bench.load(core, 0x1000);
    }
    assert!(bench.memory.shared_lines(&[]).is_empty());
}
