//! Reads streams back, by the format's description alone.

use std::collections::BTreeMap;

use holdup_trace::instructions::{CodeClass, Entry, MARK_FIELDS, MarkCode, Other, TABLES, take, unzigzag};

use super::recorder::Pieces;

/// A block's definition.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) module: Option<usize>,
    pub(crate) class: CodeClass,
    pub(crate) instructions: u64,
    pub(crate) bytes: Vec<u8>,
    /// (instruction, bytes, stores).
    pub(crate) accesses: Vec<(u64, u64, bool)>,
}

/// Counts, added up over entries that follow each other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) edges: BTreeMap<(usize, usize), u64>,
    pub(crate) executed: BTreeMap<usize, u64>,
    pub(crate) library: BTreeMap<usize, u64>,
    pub(crate) own: u64,
    pub(crate) of_libraries: u64,
    pub(crate) other: u64,
}

/// An entry of a thread's stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A block: whole or not, instructions, accesses as (instruction, bytes, stores, address).
    Block {
        block: usize,
        whole: bool,
        instructions: u64,
        accesses: Vec<(u64, u64, bool, u64)>,
    },
    Mark(MarkCode, [u64; MARK_FIELDS]),
    Counts(Counts),
    Lost(u64),
    Leaves(u64),
    /// Pages that nobody had touched before, and lines with whether they were written to, by number.
    Touched {
        pages: Vec<u64>,
        lines: Vec<(u64, bool)>,
    },
}

/// All that was written.
pub(crate) struct Streams {
    /// (first address, end, path).
    pub(crate) modules: Vec<(u64, u64, String)>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) threads: BTreeMap<u32, Vec<Event>>,
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number(&mut self) -> u64 {
        let (value, length) = take(self.0).expect("a whole entry");
        self.0 = &self.0[length..];
        value
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(length as usize);
        self.0 = rest;
        taken.to_vec()
    }
}

fn class(code: u64) -> CodeClass {
    [CodeClass::Own, CodeClass::Library, CodeClass::Runtime, CodeClass::Generated][code as usize]
}

fn access(packed: u64) -> (u64, u64, bool) {
    (packed >> 4, 1 << (packed >> 1 & 7), packed & 1 == 1)
}

impl Streams {
    /// Understands all pieces; panics where they are not as the format says.
    pub(crate) fn read(pieces: &Pieces) -> Self {
        let mut streams = Self { modules: Vec::new(), blocks: Vec::new(), threads: BTreeMap::new() };
        for piece in in_order(pieces, TABLES) {
            streams.tables(&mut Bytes(piece));
        }
        for stream in pieces.keys().copied().filter(|stream| *stream != TABLES) {
            let mut last = BTreeMap::new();
            let mut events = Vec::new();
            for piece in in_order(pieces, stream) {
                let mut bytes = Bytes(piece);
                while !bytes.0.is_empty() {
                    streams.event(&mut bytes, &mut last, &mut events);
                }
            }
            streams.threads.insert(stream, events);
        }
        streams
    }

    fn tables(&mut self, bytes: &mut Bytes<'_>) {
        while !bytes.0.is_empty() {
            let head = bytes.number();
            assert_eq!(head & 3, Entry::Other as u64);
            if head >> 2 == Other::Module as u64 {
                let (start, end) = (bytes.number(), bytes.number());
                let (_offset, _class, length) = (bytes.number(), bytes.number(), bytes.number());
                self.modules.push((start, end, String::from_utf8(bytes.bytes(length)).unwrap()));
                continue;
            }
            assert_eq!(head >> 2, Other::Block as u64);
            let address = bytes.number();
            let module = (bytes.number() as usize).checked_sub(1);
            let class = class(bytes.number());
            let (instructions, length) = (bytes.number(), bytes.number());
            let code = bytes.bytes(length);
            let accesses = (0..bytes.number()).map(|_| access(bytes.number())).collect();
            self.blocks.push(Block { address, module, class, instructions, bytes: code, accesses });
        }
    }

    fn event(&self, bytes: &mut Bytes<'_>, last: &mut BTreeMap<(usize, u64), u64>, events: &mut Vec<Event>) {
        let head = bytes.number();
        let rest = head >> 2;
        let mut moved = |block: usize, access: u64, difference: u64| {
            let last = last.entry((block, access)).or_insert(0);
            *last = last.wrapping_add_signed(unzigzag(difference));
            *last
        };
        let event = match head & 3 {
            entry if entry == Entry::Block as u64 => {
                let block = &self.blocks[rest as usize];
                let mut accesses = Vec::new();
                for (at, (instruction, size, stores)) in (0..).zip(&block.accesses) {
                    accesses.push((*instruction, *size, *stores, moved(rest as usize, at, bytes.number())));
                }
                Event::Block { block: rest as usize, whole: true, instructions: block.instructions, accesses }
            }
            entry if entry == Entry::Partial as u64 => {
                let block = &self.blocks[rest as usize];
                let instructions = bytes.number();
                let mut accesses = Vec::new();
                for _ in 0..bytes.number() {
                    let (index, difference) = (bytes.number(), bytes.number());
                    let known = block.accesses.len() as u64;
                    let (instruction, size, stores, address) = if index < known {
                        let (instruction, size, stores) = block.accesses[index as usize];
                        (instruction, size, stores, moved(rest as usize, index, difference))
                    } else {
                        let (instruction, size, stores) = access(index - known);
                        (instruction, size, stores, unzigzag(difference) as u64)
                    };
                    accesses.push((instruction, size, stores, address));
                }
                Event::Block { block: rest as usize, whole: false, instructions, accesses }
            }
            entry if entry == Entry::Mark as u64 => {
                let fields = std::array::from_fn(|_| bytes.number());
                Event::Mark(MarkCode::from_code(rest).unwrap(), fields)
            }
            _ if rest == Other::Counts as u64 => {
                let mut counts = match events.pop() {
                    Some(Event::Counts(counts)) => counts,
                    before => {
                        events.extend(before);
                        Counts::default()
                    }
                };
                let mut at = 0;
                for _ in 0..bytes.number() {
                    at += unzigzag(bytes.number());
                    let (to, times) = (bytes.number() as usize, bytes.number());
                    *counts.edges.entry((at as usize, to)).or_insert(0) += times;
                }
                for list in [&mut counts.executed, &mut counts.library] {
                    at = 0;
                    for _ in 0..bytes.number() {
                        at += unzigzag(bytes.number());
                        *list.entry(at as usize).or_insert(0) += bytes.number();
                    }
                }
                for total in [&mut counts.own, &mut counts.of_libraries, &mut counts.other] {
                    *total += bytes.number();
                }
                Event::Counts(counts)
            }
            _ if rest == Other::Lost as u64 => {
                assert_eq!(bytes.number(), 1);
                Event::Lost(bytes.number())
            }
            _ if rest == Other::Touched as u64 => {
                let (mut pages, mut lines, list) = (Vec::new(), Vec::new(), bytes.number());
                if bytes.number() > 0 {
                    let Some(Event::Touched { pages: before, lines: ahead }) = events.pop() else {
                        panic!("list {list} has no first part")
                    };
                    (pages, lines) = (before, ahead);
                }
                let mut at = 0u64;
                for _ in 0..bytes.number() {
                    at = at.wrapping_add_signed(unzigzag(bytes.number()));
                    pages.push(at);
                }
                at = 0;
                for _ in 0..bytes.number() {
                    let number = bytes.number();
                    at = at.wrapping_add_signed(unzigzag(number >> 1));
                    lines.push((at, number & 1 == 1));
                }
                Event::Touched { pages, lines }
            }
            _ => {
                assert_eq!(rest, Other::Leaves as u64);
                Event::Leaves(bytes.number())
            }
        };
        events.push(event);
    }

    /// All counts of a thread, added up.
    pub(crate) fn total(&self, thread: u32) -> Counts {
        let mut total = Counts::default();
        for event in &self.threads[&thread] {
            let Event::Counts(counts) = event else { continue };
            for (edge, times) in &counts.edges {
                *total.edges.entry(*edge).or_insert(0) += times;
            }
            for (block, times) in &counts.executed {
                *total.executed.entry(*block).or_insert(0) += times;
            }
            for (block, sum) in &counts.library {
                *total.library.entry(*block).or_insert(0) += sum;
            }
            total.own += counts.own;
            total.of_libraries += counts.of_libraries;
            total.other += counts.other;
        }
        total
    }
}

fn in_order(pieces: &Pieces, stream: u32) -> impl Iterator<Item = &Vec<u8>> {
    let pieces = pieces.get(&stream);
    for (at, sequence) in (0..).zip(pieces.into_iter().flat_map(|pieces| pieces.keys())) {
        assert_eq!(at, *sequence, "a piece of stream {stream} is missing");
    }
    pieces.into_iter().flat_map(|pieces| pieces.values())
}
