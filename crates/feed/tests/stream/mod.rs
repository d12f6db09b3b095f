//! Recordings made by hand: streams as the front-end writes them.

use std::collections::BTreeMap;

use holdup_model::{Process, Run};
use holdup_recording::facts::Session;
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, StreamPiece, Writer};
use holdup_trace::instructions::{
    CodeClass, Entry, LONGEST_NUMBER, MARK_FIELDS, MarkCode, Other, TABLES, put, zigzag,
};

/// A block of the program: `mov rax, [rdi]; mov [rsi], rax; nop; jmp` with a load and a store of 8 bytes.
pub(crate) const COPIES: u32 = 0;
/// A block without accesses: `nop; jmp`.
pub(crate) const WORKS: u32 = 1;
/// Where the code of a runtime is.
pub(crate) const RUNTIME: u64 = 0x9000;

/// Entries of a stream.
#[derive(Clone, Default)]
pub(crate) struct Stream {
    bytes: Vec<u8>,
    last: BTreeMap<(u32, usize), u64>,
}

impl Stream {
    /// A thread with this number begins; its handle is 0x7000 + number, its kernel id 100 + number.
    pub(crate) fn thread(number: u64) -> Stream {
        let fields = [number, u64::from(u32::MAX), 0x1000, 100 + number, 0x7000 + number];
        Stream::default().mark(MarkCode::ThreadBegin, &fields)
    }

    pub(crate) fn numbers(mut self, numbers: &[u64]) -> Stream {
        for &number in numbers {
            let mut bytes = [0; LONGEST_NUMBER];
            let length = put(&mut bytes, number);
            self.bytes.extend(&bytes[..length]);
        }
        self
    }

    pub(crate) fn mark(self, code: MarkCode, fields: &[u64]) -> Stream {
        let mut all = [0; MARK_FIELDS];
        all[..fields.len()].copy_from_slice(fields);
        self.numbers(&[head(Entry::Mark, code as u64)]).numbers(&all)
    }

    pub(crate) fn block(mut self, block: u32, addresses: &[u64]) -> Stream {
        self = self.numbers(&[head(Entry::Block, block.into())]);
        for (at, &address) in addresses.iter().enumerate() {
            let last = self.last.insert((block, at), address).unwrap_or(0);
            self = self.numbers(&[zigzag(address.wrapping_sub(last) as i64)]);
        }
        self
    }

    /// So many executions of [`WORKS`], of two instructions each.
    pub(crate) fn works(self, times: usize) -> Stream {
        (0..times).fold(self, |stream, _| stream.block(WORKS, &[]))
    }

    /// The first instructions of [`COPIES`], with a store of 4 bytes by the first one that is not in its table.
    pub(crate) fn partial(self, instructions: u64, address: u64) -> Stream {
        let head = head(Entry::Partial, COPIES.into());
        self.numbers(&[head, instructions, 1, 2 + (2 << 1 | 1), zigzag(address as i64)])
    }

    pub(crate) fn other(self, other: Other, numbers: &[u64]) -> Stream {
        self.numbers(&[head(Entry::Other, other as u64)]).numbers(numbers)
    }

    pub(crate) fn end(self) -> Stream {
        self.mark(MarkCode::ThreadEnd, &[])
    }
}

fn head(entry: Entry, rest: u64) -> u64 {
    rest << 2 | entry as u64
}

fn tables() -> Vec<u8> {
    let with = |mut stream: Stream, bytes: &[u8]| {
        stream.bytes.extend(bytes);
        stream
    };
    let module = |start: u64, class: CodeClass| {
        let fields = [start, start + 0x1000, 0, class as u64, 4];
        with(Stream::default().other(Other::Module, &fields), b"/app").bytes
    };
    let copies = [0x48, 0x8b, 0x07, 0x48, 0x89, 0x06, 0x90, 0xeb, 0xf6];
    let own = CodeClass::Own as u64;
    let first = Stream::default().other(Other::Block, &[0x1000, 1, own, 4, copies.len() as u64]);
    let first = with(first, &copies).numbers(&[2, 3 << 1, 1 << 4 | 3 << 1 | 1]);
    let second = with(first.other(Other::Block, &[0x1100, 1, own, 2, 3]), &[0x90, 0xeb, 0xfd]).numbers(&[0]);
    [module(0x1000, CodeClass::Own), module(RUNTIME, CodeClass::Runtime), second.bytes].concat()
}

/// A recording with these streams, each in pieces of one entry or more as they are.
pub(crate) fn recorded(streams: &[Stream]) -> Recording {
    let pieces = (0..).zip(streams).map(|(number, stream)| (number, 0, stream.bytes.clone()));
    recorded_pieces(&pieces.chain([(TABLES, 0, tables())]).collect::<Vec<_>>())
}

/// A recording with these pieces: stream, sequence number, entries.
pub(crate) fn recorded_pieces(pieces: &[(u32, u32, Vec<u8>)]) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.holdup");
    let mut writer = Writer::create(&path).unwrap();
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    for (stream, sequence, entries) in pieces {
        assert!(writer.instructions(&StreamPiece::new(*stream, *sequence, entries).unwrap()).unwrap());
    }
    Recording::open(&path).unwrap().0
}

/// A run of this process alone.
pub(crate) fn run_of(process: Process) -> Run {
    Run { processes: vec![process], ..Run::default() }
}
