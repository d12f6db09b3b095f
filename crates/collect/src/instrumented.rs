//! Counts of programs that their compiler made count (`include/holdup_counts.c`), as streams of a recording.
//!
//! The program's file is a row of words of 64 bits: a magic one, then chunks. A chunk has a head of two words, the thread's
//! number × 2³² + the number of words that follow the head, and the number of the table of edges that it adds to or counts
//! by; then records, the low 8 bits of whose first word say what they are:
//!
//! | | other bits | follows |
//! |---|---|---|
//! | 1 module | bytes of the path | first address, end, offset in the file, path |
//! | 2 mark | [`MarkCode`](holdup_trace::instructions::MarkCode) | five fields |
//! | 3 edge | its number in the table × 2 + 1 if it is a call | source (0: none), target: addresses behind the compiler's calls |
//! | 4 counts | how many | for each: edge × 2⁴⁰ + how often since the last counts |
//! | 5 loose | steps whose frame could not be found | |
//!
//! Blocks get their bytes here, from the program's files, as an emulator would give them. A block of the compiler's goes on
//! behind calls; here it becomes several, each of which ends with one, as basic blocks do. What it calls is the call's.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use holdup_code::{BlockTable, Code, RawBlock, counted_block};
use holdup_model::counts::BlockExit;
use holdup_trace::instructions::{CodeClass, Entry, LONGEST_NUMBER, MARK_FIELDS, Other, TABLES, put, zigzag};
use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// The first word of the file: "hldpcnt1".
const MAGIC: u64 = u64::from_le_bytes(*b"hldpcnt1");
/// The section by which such a program is known.
const SECTION: &[u8] = b".holdup_counts\0";
/// Bytes of a stream that are handed over together.
const PIECE: usize = 256 * 1024;
/// Bytes of a function before its first block counts.
const PROLOGUE: u64 = 96;
/// The most bytes of a module that are looked at.
const MOST_CODE: u64 = 1 << 30;

/// Takes a piece: number of the stream, number of the piece, entries.
type HandOver<'a> = dyn FnMut(u32, u32, &[u8]) -> io::Result<()> + 'a;

/// Whether a program counts by itself how often each thread takes which way: whether `include/holdup_counts.c` is in it.
/// False where that cannot be read.
pub fn counts_itself(program: &Path) -> bool {
    let Ok(bytes) = std::fs::read(program) else { return false };
    // Names of sections are in one table. No other text has this name with a zero at its end, but in holdup itself.
    bytes.starts_with(b"\x7fELF") && bytes.windows(SECTION.len()).any(|window| window == SECTION)
}

/// Hands over, piece by piece, the streams that a program's file gives. Gives what the reader must know, a sentence each.
pub(crate) fn take(file: io::Result<File>, hand_over: &mut HandOver<'_>) -> io::Result<Vec<String>> {
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes).map(|_| bytes)
    };
    let bytes = match file.and_then(read) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let why = "the program did not count: it ended before its first line, or was built without include/holdup_counts.c";
            return Ok(vec![why.to_owned()]);
        }
        Err(error) => return Err(error),
    };
    let (chunks, is_whole) = chunks(&bytes);
    let modules = modules(&chunks);
    let mut told =
        Told { blocks: Blocks::new(&modules), streams: BTreeMap::new(), tables: BTreeMap::new(), loose: 0 };
    for chunk in &chunks {
        let mut words = chunk.words.as_slice();
        while told.record(chunk, &mut words).is_some() {}
        told.hand_over(chunk.thread, PIECE, hand_over)?;
    }
    let threads: Vec<u32> = told.streams.keys().copied().collect();
    for thread in threads {
        told.hand_over(thread, 1, hand_over)?;
    }
    hand_over(TABLES, 0, &told.blocks.table(&modules))?;
    let mut warnings = Vec::new();
    if !is_whole {
        warnings.push(
            "the program's file of counts is cut off: the disk was full, or the program was killed"
                .to_owned(),
        );
    }
    if told.loose > 0 {
        warnings.push(format!(
            "{} steps were taken in code without frame pointers, where ways behind calls cannot be told apart: \
             compile it with -fno-omit-frame-pointer",
            told.loose
        ));
    }
    let lost = told.blocks.blocks.iter().filter(|block| block.bytes.is_empty()).count();
    if lost > 0 {
        warnings
            .push(format!("the code of {lost} blocks could not be read: they count as one instruction each"));
    }
    Ok(warnings)
}

struct Chunk {
    thread: u32,
    table: u64,
    words: Vec<u64>,
}

/// A file with code in the program.
struct Module {
    start: u64,
    end: u64,
    offset: u64,
    path: Vec<u8>,
}

/// The chunks of a file, and whether it ends with a whole one.
fn chunks(bytes: &[u8]) -> (Vec<Chunk>, bool) {
    let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    let mut chunks = Vec::new();
    if words.next() != Some(MAGIC) {
        return (chunks, false);
    }
    while let Some(head) = words.next() {
        let count = (head & u64::from(u32::MAX)) as usize;
        let (Some(table), true) = (words.next(), count <= words.len()) else { return (chunks, false) };
        chunks.push(Chunk {
            thread: (head >> 32) as u32,
            table,
            words: words.by_ref().take(count).collect(),
        });
    }
    (chunks, bytes.len().is_multiple_of(8))
}

fn modules(chunks: &[Chunk]) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for chunk in chunks.iter().filter(|chunk| chunk.thread == u32::MAX) {
        let [head, start, end, offset, path @ ..] = chunk.words.as_slice() else { continue };
        let mut path: Vec<u8> = path.iter().flat_map(|word| word.to_le_bytes()).collect();
        path.truncate((head >> 8) as usize);
        if head & 0xff == 1 && !modules.iter().any(|other| other.start == *start && other.path == path) {
            modules.push(Module { start: *start, end: *end, offset: *offset, path });
        }
    }
    modules
}

/// What has been told so far.
struct Told<'a> {
    blocks: Blocks<'a>,
    streams: BTreeMap<u32, Stream>,
    /// Each table's edges.
    tables: BTreeMap<u64, Vec<Edge>>,
    loose: u64,
}

#[derive(Clone, Copy)]
struct Edge {
    from: u64,
    to: u64,
    calls: bool,
}

#[derive(Default)]
struct Stream {
    entries: Vec<u8>,
    pieces: u32,
}

impl Told<'_> {
    /// Takes the next record of a chunk; `None` at its end, or if it cannot be understood.
    fn record(&mut self, chunk: &Chunk, words: &mut &[u64]) -> Option<()> {
        let head = take_word(words)?;
        let rest = head >> 8;
        match head & 0xff {
            2 => {
                let entries = &mut self.streams.entry(chunk.thread).or_default().entries;
                number(entries, rest << 2 | Entry::Mark as u64);
                for _ in 0..MARK_FIELDS {
                    number(entries, take_word(words)?);
                }
            }
            3 => {
                let edges = self.tables.entry(chunk.table).or_default();
                (edges.len() as u64 == rest >> 1).then_some(())?;
                edges.push(Edge { from: take_word(words)?, to: take_word(words)?, calls: rest & 1 == 1 });
            }
            4 => {
                let (now, later) = words.split_at_checked(usize::try_from(rest).ok()?)?;
                *words = later;
                self.counts(chunk, now);
            }
            5 => self.loose += rest,
            _ => return None,
        }
        Some(())
    }

    fn counts(&mut self, chunk: &Chunk, counts: &[u64]) {
        let mut edges: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut executed: BTreeMap<u32, u64> = BTreeMap::new();
        for word in counts {
            let (edge, count) = ((word >> 40) as usize, word & ((1 << 40) - 1));
            let known = self.tables.get(&chunk.table).and_then(|table| table.get(edge));
            let Some(edge) = known.copied() else { continue };
            let to = self.blocks.parts(edge.to);
            for part in to.clone() {
                *executed.entry(part).or_default() += count;
            }
            // A call comes back: its function has gone on, or the thread has ended there.
            for part in to.clone().skip(1) {
                *edges.entry((part - 1, part)).or_default() += count;
            }
            if edge.from != 0 {
                let from = self.blocks.parts(edge.from);
                let from = if edge.calls { self.blocks.caller(from, edge.to) } else { from.end - 1 };
                *edges.entry((from, to.start)).or_default() += count;
            }
        }
        let entries = &mut self.streams.entry(chunk.thread).or_default().entries;
        number(entries, (Other::Counts as u64) << 2 | Entry::Other as u64);
        number(entries, edges.len() as u64);
        let mut last = 0;
        for ((from, to), count) in edges {
            difference(entries, &mut last, from);
            number(entries, to.into());
            number(entries, count);
        }
        number(entries, executed.len() as u64);
        last = 0;
        let mut instructions = 0;
        for (block, count) in executed {
            difference(entries, &mut last, block);
            number(entries, count);
            instructions += count * u64::from(self.blocks.blocks[block as usize].instructions);
        }
        // No calls into libraries; then instructions of the program, of libraries, of other code.
        for value in [0, instructions, 0, 0] {
            number(entries, value);
        }
    }

    /// Hands over a thread's entries if there are at least so many bytes of them.
    fn hand_over(&mut self, thread: u32, least: usize, hand_over: &mut HandOver<'_>) -> io::Result<()> {
        let Some(stream) = self.streams.get_mut(&thread) else { return Ok(()) };
        if stream.entries.len() >= least {
            hand_over(thread, stream.pieces, &stream.entries)?;
            stream.pieces += 1;
            stream.entries.clear();
        }
        Ok(())
    }
}

/// The blocks, in the order in which they were met.
struct Blocks<'a> {
    modules: &'a [Module],
    /// The code of each module, once it was needed.
    code: Vec<Option<Vec<u8>>>,
    /// What the compiler's block at an address consists of.
    parts: BTreeMap<u64, Range<u32>>,
    blocks: Vec<CountedBlock>,
}

struct CountedBlock {
    address: u64,
    module: Option<usize>,
    bytes: Vec<u8>,
    instructions: u32,
    /// Where the call at its end goes, as far as it says so.
    calls: Option<u64>,
}

impl<'a> Blocks<'a> {
    fn new(modules: &'a [Module]) -> Self {
        let code = modules.iter().map(|_| None).collect();
        Self { modules, code, parts: BTreeMap::new(), blocks: Vec::new() }
    }

    /// The basic blocks that the compiler's block at an address consists of, at least one.
    fn parts(&mut self, address: u64) -> Range<u32> {
        if let Some(parts) = self.parts.get(&address) {
            return parts.clone();
        }
        let first = self.blocks.len() as u32;
        let module = self.modules.iter().position(|module| (module.start..module.end).contains(&address));
        let bytes = module.and_then(|module| self.bytes(module, address)).unwrap_or_default();
        let mut at = 0;
        for end in ends_of_calls(&bytes, address).into_iter().chain([bytes.len()]) {
            // Behind the last call there may be nothing.
            if end > at || at == 0 {
                self.push(address + at as u64, module, &bytes[at..end]);
            }
            at = end;
        }
        let parts = first..self.blocks.len() as u32;
        self.parts.insert(address, parts.clone());
        parts
    }

    fn push(&mut self, address: u64, module: Option<usize>, bytes: &[u8]) {
        let table = BlockTable::new(&[RawBlock { address, bytes, generated: false }], &|_| None);
        let block = table.blocks().first();
        self.blocks.push(CountedBlock {
            address,
            module,
            bytes: bytes.to_vec(),
            instructions: block.map_or(1, |block| block.instructions),
            calls: block.filter(|block| block.exit == BlockExit::Call).and_then(|block| block.target),
        });
    }

    /// Which of these basic blocks called the function whose first counted block begins at an address: one that calls what
    /// lies shortly before, else the first whose call does not say where it goes, else the first.
    fn caller(&self, parts: Range<u32>, callee: u64) -> u32 {
        let calls = |part: &u32| self.blocks[*part as usize].calls;
        let leads_there = |target: u64| target <= callee && callee - target <= PROLOGUE;
        let direct = parts.clone().find(|part| calls(part).is_some_and(leads_there));
        let mut before_last = parts.start..parts.end.saturating_sub(1).max(parts.start);
        direct.or_else(|| before_last.find(|part| calls(part).is_none())).unwrap_or(parts.start)
    }

    fn bytes(&mut self, index: usize, address: u64) -> Option<Vec<u8>> {
        let module = &self.modules[index];
        let bytes = self.code[index].get_or_insert_with(|| module.code().unwrap_or_default());
        let end = counted_block(&Code { start: module.start, bytes }, address)?;
        let within = |address: u64| usize::try_from(address - module.start).ok();
        bytes.get(within(address)?..within(end)?).map(<[u8]>::to_vec)
    }

    /// The stream of what belongs to all threads.
    fn table(&self, modules: &[Module]) -> Vec<u8> {
        let mut entries = Vec::new();
        for module in modules {
            number(&mut entries, (Other::Module as u64) << 2 | Entry::Other as u64);
            let values =
                [module.start, module.end, module.offset, CodeClass::Own as u64, module.path.len() as u64];
            values.into_iter().for_each(|value| number(&mut entries, value));
            entries.extend_from_slice(&module.path);
        }
        for block in &self.blocks {
            number(&mut entries, (Other::Block as u64) << 2 | Entry::Other as u64);
            let module = block.module.map_or(0, |module| module as u64 + 1);
            let values = [
                block.address,
                module,
                CodeClass::Own as u64,
                block.instructions.into(),
                block.bytes.len() as u64,
            ];
            values.into_iter().for_each(|value| number(&mut entries, value));
            entries.extend_from_slice(&block.bytes);
            number(&mut entries, 0);
        }
        entries
    }
}

/// Offsets behind the calls in a block.
fn ends_of_calls(bytes: &[u8], address: u64) -> Vec<usize> {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE)
        .iter()
        .filter(|instruction| {
            matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
                && (instruction.is_call_near() || instruction.is_call_near_indirect())
        })
        .map(|instruction| (instruction.next_ip() - address) as usize)
        .collect()
}

impl Module {
    fn code(&self) -> io::Result<Vec<u8>> {
        let file = File::open(OsStr::from_bytes(&self.path))?;
        let mut bytes = vec![0; self.end.saturating_sub(self.start).min(MOST_CODE) as usize];
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], self.offset + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }
}

fn take_word(words: &mut &[u64]) -> Option<u64> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    Some(*first)
}

fn number(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST_NUMBER];
    let length = put(&mut bytes, value);
    to.extend_from_slice(&bytes[..length]);
}

fn difference(to: &mut Vec<u8>, last: &mut i64, block: u32) {
    number(to, zigzag(i64::from(block) - *last));
    *last = i64::from(block);
}
