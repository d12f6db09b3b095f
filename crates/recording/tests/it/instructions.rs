//! Streams of the instruction front-end come back as they were written, and rubbish does no harm.

use std::path::Path;

use holdup_recording::facts::Session;
use holdup_recording::format::FrameKind;
use holdup_recording::{
    BlockAccess, Instructions, Recording, Step, StreamCounts, StreamEvent, StreamPiece, Touched, Writer,
};
use holdup_trace::instructions::{
    CodeClass, Entry, LONGEST_NUMBER, Loss, Mark, MarkCode, Other, TABLES, put, zigzag,
};
use proptest::prelude::*;

#[derive(Default)]
struct Entries(Vec<u8>);

impl Entries {
    fn numbers(mut self, numbers: &[u64]) -> Entries {
        for &number in numbers {
            let mut bytes = [0; LONGEST_NUMBER];
            let length = put(&mut bytes, number);
            self.0.extend(&bytes[..length]);
        }
        self
    }

    fn text(mut self, bytes: &[u8]) -> Entries {
        self.0.extend(bytes);
        self
    }
}

fn head(entry: Entry, rest: u64) -> u64 {
    rest << 2 | entry as u64
}

fn tables() -> Vec<u8> {
    let module = head(Entry::Other, Other::Module as u64);
    let block = head(Entry::Other, Other::Block as u64);
    Entries::default()
        .numbers(&[module, 0x1000, 0x3000, 0x40, CodeClass::Own as u64, 4])
        .text(b"/app")
        // The second instruction loads 8 bytes, the third stores 4.
        .numbers(&[block, 0x1100, 1, CodeClass::Own as u64, 3, 5])
        .text(&[0x90, 0x90, 0x90, 0xeb, 0xfe])
        .numbers(&[2, 1 << 4 | 3 << 1, 2 << 4 | 2 << 1 | 1])
        .numbers(&[block, 0x1200, 0, CodeClass::Generated as u64, 1, 1])
        .text(&[0xc3])
        .numbers(&[0])
        .0
}

fn recorded(pieces: &[(u32, u32, Vec<u8>)]) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.holdup");
    let mut writer = Writer::create(&path).unwrap();
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    for (stream, sequence, entries) in pieces {
        assert!(writer.instructions(&StreamPiece::new(*stream, *sequence, entries).unwrap()).unwrap());
    }
    Recording::open(&path).unwrap().0
}

/// The events as text, which can be kept.
fn told(instructions: &Instructions<'_>, stream: u32) -> (Vec<String>, bool) {
    let mut told = Vec::new();
    let whole = instructions.each(stream, &mut |event| told.push(format!("{event:?}")));
    (told, whole)
}

#[test]
fn tables_and_streams_come_back() {
    let first = Entries::default()
        .numbers(&[
            head(Entry::Mark, MarkCode::ThreadBegin as u64),
            7,
            u64::from(u32::MAX),
            0x1100,
            99,
            0x7000,
        ])
        .numbers(&[head(Entry::Block, 0), zigzag(0x5000), zigzag(-8)])
        .numbers(&[head(Entry::Block, 0), zigzag(8), zigzag(16)])
        .0;
    let second = Entries::default()
        .numbers(&[head(Entry::Partial, 0), 2, 2, 0, zigzag(-0x10), 2 + (3 << 4 | 4 << 1), zigzag(0x9000)])
        .numbers(&[head(Entry::Block, 1)])
        .numbers(&[head(Entry::Other, Other::Counts as u64)])
        .numbers(&[2, zigzag(1), 0, 10, zigzag(-1), 1, 11])
        .numbers(&[1, zigzag(1), 12])
        .numbers(&[1, zigzag(0), 13])
        .numbers(&[100, 200, 300])
        .numbers(&[head(Entry::Other, Other::Lost as u64), 5, Loss::Bytes as u64])
        .numbers(&[head(Entry::Other, Other::Leaves as u64), 59])
        .numbers(&[head(Entry::Other, Other::Touched as u64), 2, 1])
        .numbers(&[2, zigzag(5), zigzag(-4), 2, zigzag(0x40) << 1 | 1, zigzag(-1) << 1])
        .0;
    // Pieces may come in any order.
    let recording = recorded(&[(3, 1, second), (TABLES, 0, tables()), (3, 0, first)]);
    let instructions = Instructions::of(&recording).unwrap();
    assert_eq!(instructions.damaged_pieces, 0);
    assert_eq!(instructions.modules[0].path, b"/app");
    assert_eq!((instructions.modules[0].start, instructions.modules[0].offset), (0x1000, 0x40));
    let accesses = &instructions.blocks[0].accesses;
    assert_eq!(accesses[0], BlockAccess { instruction: 1, size: 8, stores: false });
    assert_eq!(accesses[1], BlockAccess { instruction: 2, size: 4, stores: true });
    assert_eq!(instructions.blocks[1].class, CodeClass::Generated);
    assert_eq!(instructions.blocks[1].module, None);
    assert_eq!(instructions.streams().collect::<Vec<_>>(), [3]);
    let counts = StreamCounts {
        edges: vec![(1, 0, 10), (0, 1, 11)],
        executed: vec![(1, 12)],
        library: vec![(0, 13)],
        own_instructions: 100,
        library_instructions: 200,
        other_instructions: 300,
    };
    // The second one is not in the block's table.
    let partial = [
        (BlockAccess { instruction: 1, size: 8, stores: false }, 0x4ff8),
        (BlockAccess { instruction: 3, size: 16, stores: false }, 0x9000),
    ];
    let touched = Touched {
        list: 2,
        part: 1,
        pages: vec![0x5000, 0x1000],
        lines: vec![(0x1000, true), (0xfc0, false)],
    };
    let expected = [
        StreamEvent::Mark(Mark::ThreadBegin {
            number: 7,
            parent: u32::MAX,
            entry: 0x1100,
            tid: 99,
            handle: 0x7000,
        }),
        StreamEvent::Block(0, &[0x5000, 0u64.wrapping_sub(8)]),
        StreamEvent::Block(0, &[0x5008, 8]),
        StreamEvent::Partial(0, 2, &partial),
        StreamEvent::Block(1, &[]),
        StreamEvent::Counts(&counts),
        StreamEvent::Lost(5, Some(Loss::Bytes)),
        StreamEvent::Leaves(59),
        StreamEvent::Touched(&touched),
    ];
    let expected: Vec<String> = expected.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(told(&instructions, 3), (expected, true));
}

#[test]
fn cursors_of_one_recording_do_not_disturb_each_other() {
    let executions = |addresses: &[i64]| {
        addresses.iter().fold(Entries::default(), |entries, address| {
            entries.numbers(&[head(Entry::Block, 0), zigzag(*address), zigzag(i64::MIN)])
        })
    };
    let recording = recorded(&[
        (TABLES, 0, tables()),
        (0, 0, executions(&[0x100, 8]).0),
        (0, 1, executions(&[8]).0),
        (1, 0, executions(&[0x9000]).0),
    ]);
    let instructions = Instructions::of(&recording).unwrap();
    let mut first = instructions.cursor(0);
    let mut second = instructions.cursor(1);
    let mut found = Vec::new();
    while first.step() == Some(Step::Block(0)) {
        let _ = second.step();
        found.push((first.addresses(0)[0], second.addresses(0)[0]));
    }
    assert_eq!(found, [(0x100, 0x9000), (0x108, 0x9000), (0x110, 0x9000)]);
    assert!(first.is_whole() && second.is_whole());
    assert_eq!(instructions.cursor(9).step(), None);
    // What is given instead of a stream goes on from there, or anew.
    first.restart(&executions(&[8, 8]).0);
    assert_eq!((first.step(), first.addresses(0)[0]), (Some(Step::Block(0)), 0x118));
    first.forget(0);
    assert_eq!((first.step(), first.addresses(0)), (Some(Step::Block(0)), &[8, 1 << 63][..]));
    assert_eq!((first.step(), first.is_whole()), (None, true));
    let cut = executions(&[8]).0;
    first.restart(&cut[..cut.len() - 1]);
    assert_eq!((first.step(), first.is_whole()), (None, false));
}

#[test]
fn a_missing_piece_ends_its_stream() {
    let mark =
        |code: MarkCode| Entries::default().numbers(&[head(Entry::Mark, code as u64), 0, 0, 0, 0, 0]).0;
    let recording = recorded(&[
        (TABLES, 0, tables()),
        (0, 0, mark(MarkCode::Created)),
        (0, 2, mark(MarkCode::ThreadEnd)),
    ]);
    let instructions = Instructions::of(&recording).unwrap();
    assert_eq!(instructions.damaged_pieces, 1);
    let (events, whole) = told(&instructions, 0);
    assert_eq!((events.len(), whole), (1, false));
}

#[test]
fn an_ordinary_recording_has_no_streams() {
    assert!(Instructions::of(&recorded(&[])).is_none());
    let (recording, _) = Recording::parse(b"holdup recording", Path::new("x")).unwrap_or_default();
    assert!(Instructions::of(&recording).is_none());
}

proptest! {
    #[test]
    fn rubbish_ends_a_stream_and_nothing_else(
        table in prop::collection::vec(any::<u8>(), 0..200),
        stream in prop::collection::vec(any::<u8>(), 0..200),
        keep_table in any::<bool>(),
    ) {
        let table = if keep_table { tables() } else { table };
        let recording = recorded(&[(TABLES, 0, table), (1, 0, stream)]);
        let instructions = Instructions::of(&recording).unwrap();
        let (events, _) = told(&instructions, 1);
        prop_assert!(events.len() <= 200);
    }
}
