use holdup_model::counts::{BasicBlock, CountedThread, Section, ThreadLabel, Unit};
use holdup_model::cycles::SimulatedThread;

use super::*;

const LOAD: u64 = 0x1004;
const BLOCK: u64 = 0x1000;

fn counts() -> Counts {
    let listing = vec![(BLOCK, "nop".to_owned()), (LOAD, "mov eax, [rdi]".to_owned())];
    let block = |address, listing| BasicBlock { address, listing, instructions: 2, ..BasicBlock::default() };
    Counts {
        threads: [0, 7].map(|number| ThreadLabel { number, name: None }).to_vec(),
        blocks: vec![block(BLOCK, listing), block(0x2000, Vec::new())],
        edges: vec![(BlockId(0), BlockId(0))],
        sections: vec![Section::default()],
        ..Counts::default()
    }
}

fn misses(served: [u64; Level::ALL.len()]) -> PieceMisses {
    PieceMisses { address: LOAD, accesses: served.iter().sum(), served, ..PieceMisses::default() }
}

fn piece(own: u64, waits: u64, misses: Vec<PieceMisses>) -> CyclePiece {
    let mut stack = CycleStack::default();
    stack.book(CycleComponent::MemDram, own);
    stack.book(CycleComponent::SyncBarrier, waits);
    CyclePiece { begin: 0, instructions: 10, stack, misses }
}

fn simulated(pieces: [Vec<CyclePiece>; 2]) -> Simulated {
    let threads = [7, 0].into_iter().zip(pieces);
    let threads =
        threads.map(|(number, pieces)| SimulatedThread { number, pieces, ..SimulatedThread::default() });
    Simulated { threads: threads.collect(), ..Simulated::default() }
}

#[test]
fn each_miss_is_below_the_one_before_it() {
    // L1, neighbour's L1, L2, neighbour's L2, L3, other socket, memory.
    let found = misses([100, 1, 20, 2, 30, 3, 40]);
    let counted: Vec<(HardwareKind, u64)> =
        KINDS.into_iter().map(|kind| (kind, amount(kind, &found))).collect();
    assert_eq!(
        counted[..4],
        [
            (HardwareKind::Access, 196),
            (HardwareKind::MissL1, 96),
            (HardwareKind::MissL2, 76),
            (HardwareKind::MissLast, 43),
        ]
    );
    let simulated = simulated([vec![piece(5, 0, vec![found])], Vec::new()]);
    let counts = counts();
    let names = BTreeMap::from([(LOAD, vec![Frame { line: Some(3), ..Frame::default() }])]);
    let hardware = Hardware::of(&counts, &Pieces::of(&counts, &simulated), &names);
    let chain: Vec<(HardwareKind, Option<u32>)> =
        hardware.all.iter().map(|event| (event.kind, event.superior.map(|id| id.0))).collect();
    assert_eq!(
        chain,
        [
            (HardwareKind::Access, None),
            (HardwareKind::MissL1, Some(1)),
            (HardwareKind::MissL2, Some(2)),
            (HardwareKind::MissLast, Some(3)),
        ]
    );
    assert!(hardware.all.iter().all(|event| event.block == Some(BlockId(0)) && event.at[0].line == Some(3)));
}

#[test]
fn misses_that_nearly_all_go_to_memory_are_told_once() {
    let sums = |served| KINDS.map(|kind| amount(kind, &misses(served)));
    let told = |served| {
        let sums = sums(served);
        let told = KINDS.into_iter().zip(worth_telling(&sums, &sums, 0));
        told.filter(|(_, told)| *told).map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    assert_eq!(told([1000, 0, 1, 0, 1, 0, 98]), [HardwareKind::Access, HardwareKind::MissLast]);
    assert_eq!(
        told([1000, 0, 50, 0, 0, 0, 50]),
        [HardwareKind::Access, HardwareKind::MissL1, HardwareKind::MissLast]
    );
    assert_eq!(told([1000, 0, 0, 0, 0, 0, 0]), []);
    let queueing = PieceMisses { memory_queueing: 20, ..misses([0, 0, 0, 0, 0, 0, 5]) };
    let queueing = KINDS.map(|kind| amount(kind, &queueing));
    let is_told = |cycles| worth_telling(&queueing, &queueing, cycles)[5];
    assert_eq!((is_told(1000), is_told(1001)), (true, false));
    // What hardly ever happens, beside what others do, is no cause.
    let few = sums([9, 0, 0, 0, 0, 0, 1]);
    assert_eq!(worth_telling(&few, &[10_000; KINDS.len()], 0), [false; KINDS.len()]);
}

#[test]
fn an_instruction_that_only_hits_is_no_event() {
    let simulated = simulated([vec![piece(5, 0, vec![misses([9, 0, 0, 0, 0, 0, 0])])], Vec::new()]);
    let counts = counts();
    let hardware = Hardware::of(&counts, &Pieces::of(&counts, &simulated), &BTreeMap::new());
    assert_eq!(hardware.all, []);
}

#[test]
fn pieces_that_were_joined_have_the_sum_of_their_own_cycles() {
    let first = vec![piece(100, 7, Vec::new()), piece(20, 500, Vec::new()), piece(3, 0, Vec::new())];
    let simulated = simulated([first, Vec::new()]);
    let counts = counts();
    let pieces = Pieces::of(&counts, &simulated);
    let own = |row: RowPieces| -> u64 { pieces.of_row(&row).map(|piece| own_cycles(&piece.stack)).sum() };
    // Thread 7 is the second one that was counted, and the first one that was simulated.
    assert_eq!(own((1, 0..2)), 120);
    assert_eq!(own((1, 1..9)), 23);
    assert_eq!((own((0, 0..1)), own((5, 0..1))), (0, 0));
}

#[test]
fn units_have_the_share_of_the_cycles_that_they_have_of_the_instructions() {
    let unit = |row, time| Unit { row, time, ..Unit::default() };
    let mut instance = Instance {
        threads: vec![CountedThread(0), CountedThread(1)],
        time: vec![10, 40],
        units: vec![unit(0, 30), unit(1, 60), unit(0, 60)],
        ..Instance::default()
    };
    set_time(&mut instance, 0, 1001);
    let units: Vec<u64> = instance.units.iter().map(|unit| unit.time).collect();
    assert_eq!((instance.time[0], units), (101, vec![300, 60, 600]));
    assert_eq!(instance.time[1], 40);
}

#[test]
fn what_missed_goes_to_the_row_that_missed() {
    let simulated = simulated([vec![piece(5, 0, vec![misses([0, 0, 0, 0, 0, 0, 8])])], Vec::new()]);
    let counts = counts();
    let pieces = Pieces::of(&counts, &simulated);
    let hardware = Hardware::of(&counts, &pieces, &BTreeMap::new());
    let mut instance = Instance { time: vec![0, 0], ..Instance::default() };
    hardware.add(&mut instance, 1, pieces.of_row(&(1, 0..1)).flat_map(|piece| &piece.misses));
    let expected: Vec<(EventId, u32, u64)> = (1..=2).map(|id| (EventId(id), 1, 8)).collect();
    assert_eq!(instance.executed.entries, expected);
}
