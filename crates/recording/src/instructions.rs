//! What the instruction front-end recorded: modules, blocks, and for each thread its stream.

use holdup_trace::instructions::{self as wire, CodeClass, Entry, Loss, Mark, Other, TABLES, unzigzag};

use crate::reader::{Inflater, Recording};

mod cursor;

pub use cursor::{Cursor, Step};

/// A file with code in the emulated program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeModule {
    /// Its first address.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// Whose code it is.
    pub class: CodeClass,
    /// The file; hostile.
    pub path: Vec<u8>,
}

/// A block as the emulator translated it: it may overlap others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedBlock {
    /// Its address in the process.
    pub address: u64,
    /// Its module, by index.
    pub module: Option<u32>,
    /// Whose code it is.
    pub class: CodeClass,
    /// How many instructions it has.
    pub instructions: u32,
    /// Its code.
    pub bytes: Vec<u8>,
    /// Its accesses to memory, in order.
    pub accesses: Vec<BlockAccess>,
}

/// An access to memory that a block makes whenever it is executed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAccess {
    /// The instruction, by its index in the block.
    pub instruction: u32,
    /// Its size in bytes.
    pub size: u32,
    /// True if it stores.
    pub stores: bool,
}

/// Counts of a thread between two marks (the fast mode).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// (from, to, how often) of translated blocks of the program's own code.
    pub edges: Vec<(u32, u32, u64)>,
    /// (block, how often executed).
    pub executed: Vec<(u32, u64)>,
    /// (calling block, instructions executed in libraries for it).
    pub library: Vec<(u32, u64)>,
    /// Instructions of the program's own code.
    pub own_instructions: u64,
    /// Instructions of libraries.
    pub library_instructions: u64,
    /// Instructions of code that is not counted.
    pub other_instructions: u64,
}

/// A part of what a thread touched before what follows in its stream, and which was of no interest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Which such list of the thread it is a part of: 0, 1, …
    pub list: u64,
    /// Which part of that: 0, 1, …
    pub part: u64,
    /// Addresses of pages that no thread had touched before.
    pub pages: Vec<u64>,
    /// Addresses of the lines of 64 bytes that the thread touched last, in the order of their last use, and whether it wrote
    /// to them.
    pub lines: Vec<(u64, bool)>,
}

/// An entry of a thread's stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// A block was executed whole; the addresses of its accesses, in their order.
    Block(u32, &'a [u64]),
    /// A block was executed in part or with other accesses: instructions executed, each access with its address.
    Partial(u32, u32, &'a [(BlockAccess, u64)]),
    /// A mark.
    Mark(Mark),
    /// Counts since the last ones.
    Counts(&'a StreamCounts),
    /// Something was dropped from here on: entries, why.
    Lost(u64, Option<Loss>),
    /// The process executed another program or forked: the system call's number.
    Leaves(u64),
    /// What the thread touched before.
    Touched(&'a Touched),
}

/// True for addresses in a runtime: it takes locks of its own.
pub fn is_of_runtime(modules: &[CodeModule], address: u64) -> bool {
    let within = |module: &&CodeModule| (module.start..module.end).contains(&address);
    modules.iter().find(within).is_some_and(|module| module.class == CodeClass::Runtime)
}

/// What the instruction front-end recorded of a process.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    recording: &'a Recording,
    /// Files with code.
    pub modules: Vec<CodeModule>,
    /// Blocks, by their number.
    pub blocks: Vec<TranslatedBlock>,
    /// The number of the first access of each block, and of all at the end.
    first_access: Vec<usize>,
    /// Pieces of streams that are missing or cannot be understood.
    pub damaged_pieces: u64,
}

impl<'a> Instructions<'a> {
    /// What there is in a recording; `None` if it was made without the front-end.
    pub fn of(recording: &'a Recording) -> Option<Instructions<'a>> {
        if recording.streams.is_empty() {
            return None;
        }
        let mut found = Instructions {
            recording,
            modules: Vec::new(),
            blocks: Vec::new(),
            first_access: Vec::new(),
            damaged_pieces: 0,
        };
        for pieces in recording.streams.values() {
            let expected = (0..).zip(pieces).filter(|(at, piece)| piece.sequence != *at).take(1).count();
            found.damaged_pieces += expected as u64;
        }
        let (mut inflater, mut content) = (Inflater::default(), Vec::new());
        for piece in recording.streams.get(&TABLES).into_iter().flatten() {
            let begin = piece.read(&mut inflater, &mut content);
            let mut bytes = Bytes { left: &content[begin..] };
            while !bytes.left.is_empty() {
                if found.take_table_entry(&mut bytes).is_none() {
                    found.damaged_pieces += 1;
                    break;
                }
            }
        }
        let mut count = 0;
        found.first_access = found
            .blocks
            .iter()
            .map(|block| {
                count += block.accesses.len();
                count - block.accesses.len()
            })
            .collect();
        found.first_access.push(count);
        Some(found)
    }

    fn take_table_entry(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        let head = bytes.number()?;
        if head & 3 != Entry::Other as u64 {
            return None;
        }
        match head >> 2 {
            code if code == Other::Module as u64 => {
                let [start, end, offset, class, length] = bytes.numbers()?;
                let path = bytes.take(length)?.to_vec();
                self.modules.push(CodeModule { start, end, offset, class: class_of(class)?, path });
            }
            code if code == Other::Block as u64 => {
                let [address, module, class, instructions, length] = bytes.numbers()?;
                let code = bytes.take(length)?.to_vec();
                let accesses =
                    (0..bytes.number()?).map(|_| bytes.number().map(access)).collect::<Option<_>>()?;
                self.blocks.push(TranslatedBlock {
                    address,
                    module: (module as u32).checked_sub(1),
                    class: class_of(class)?,
                    instructions: instructions as u32,
                    bytes: code,
                    accesses,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// The streams of threads, in the order in which the threads began.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        self.recording.streams.keys().copied().filter(|stream| *stream != TABLES)
    }

    /// The beginning of a stream; that of an empty one where there is no such stream.
    pub fn cursor(&self, stream: u32) -> Cursor<'_> {
        Cursor::new(self, self.recording.streams.get(&stream).map_or(&[], Vec::as_slice))
    }

    /// A cursor with nothing to read: [`Cursor::restart`] gives it something.
    pub fn empty_cursor(&self) -> Cursor<'_> {
        Cursor::new(self, &[])
    }

    /// Goes through a stream. Ends where it cannot be understood; gives true if that was its end.
    pub fn each(&self, stream: u32, take: &mut dyn FnMut(StreamEvent<'_>)) -> bool {
        let mut cursor = self.cursor(stream);
        while let Some(event) = cursor.next() {
            take(event);
        }
        cursor.is_whole()
    }

    fn counts(&self, bytes: &mut Bytes<'_>, to: &mut StreamCounts) -> Option<()> {
        let blocks = self.blocks.len() as u64;
        let within = move |block: u64| (block < blocks).then_some(block as u32);
        to.edges.clear();
        let mut last = 0i64;
        for _ in 0..bytes.number()? {
            let [difference, target, count] = bytes.numbers()?;
            last = last.wrapping_add(unzigzag(difference));
            to.edges.push((within(last as u64)?, within(target)?, count));
        }
        for list in [&mut to.executed, &mut to.library] {
            list.clear();
            last = 0;
            for _ in 0..bytes.number()? {
                let [difference, count] = bytes.numbers()?;
                last = last.wrapping_add(unzigzag(difference));
                list.push((within(last as u64)?, count));
            }
        }
        [to.own_instructions, to.library_instructions, to.other_instructions] = bytes.numbers()?;
        Some(())
    }
}

fn class_of(code: u64) -> Option<CodeClass> {
    let all = [CodeClass::Own, CodeClass::Library, CodeClass::Runtime, CodeClass::Generated];
    all.into_iter().find(|class| *class as u64 == code)
}

fn access(packed: u64) -> BlockAccess {
    BlockAccess { instruction: (packed >> 4) as u32, size: 1 << (packed >> 1 & 7), stores: packed & 1 != 0 }
}

struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn number(&mut self) -> Option<u64> {
        let (value, length) = wire::take(self.left)?;
        self.left = &self.left[length..];
        Some(value)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut found = [0; N];
        for number in &mut found {
            *number = self.number()?;
        }
        Some(found)
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(usize::try_from(length).ok()?)?;
        self.left = left;
        Some(taken)
    }
}
