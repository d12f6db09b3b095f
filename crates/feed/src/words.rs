//! What threads do at words of memory that they share by the processor's own instructions, without telling anybody: a first
//! pass over the streams finds the words, a second one what each thread did there.
//!
//! A word is of interest if two threads change it in one step ([`atomics`]), or if one waits for it in a loop
//! ([`waiting_way`]) and another one writes it. Loops are looked at if they went around with nothing changed, which is what
//! waiting looks like in a stream; and all where the program's files tell the code that was not executed, since it may be that
//! nobody had to wait when it was recorded. What an access is for is decided by the code, and then holds also where it did
//! not have to wait.

use std::collections::{BTreeMap, BTreeSet};

use holdup_code::{
    AtomicUse, Code as Bytes, Helper, Loop, WINDOW_BYTES, atomics, loads_again, looks_before, waiting_way,
};
use holdup_recording::{Cursor, Instructions, Step, TranslatedBlock};
use holdup_sim::Code;
use holdup_trace::instructions::CodeClass;

use crate::files::{Piece, own_code};

/// Steps between two attempts or looks of one wait, where they are not all as the last time: a block may have been translated
/// twice, with what is before it and without.
const NEAR: u64 = 8;
/// Steps between two attempts of one wait that are not the same instruction's; and from which on a quarter of those between
/// two looks must be a PAUSE (the emulator ends a block behind it), so that they pass the time and are no work.
const GOES_ON: u64 = 64;
/// So many words may be looked at by one loop.
const MOST_LOOKS: usize = 4;
/// The bytes of a PAUSE.
const PAUSE: [u8; 2] = [0xf3, 0x90];

/// What a thread did at a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It tried to take it, or took its place in a queue.
    Takes,
    /// It tried to take it, or to leave it if nobody had come meanwhile.
    Compares,
    /// It wrote it, or swapped zero in.
    Writes,
    /// It added to it in one step.
    Counts,
    /// It waited for it in a loop.
    Waits,
}

/// A use of a word. Steps are blocks that a thread executes, whole or in part, from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordUse {
    /// The first step of it, and the last one: of a wait, and of attempts until one succeeds, there may be many.
    pub begin: u64,
    pub end: u64,
    /// The word, by number.
    pub word: u32,
    pub of: Use,
    /// It goes on with the last use, which is of the same word: nothing has changed since but this thread's place in a few
    /// blocks.
    pub goes_on: bool,
    /// Instructions executed from its first step to its last one.
    pub instructions: u64,
}

/// What threads did at words that several of them use.
#[derive(Clone, Debug)]
pub(crate) struct WordUses {
    /// The address of each word.
    pub words: Vec<u64>,
    /// By thread, in its order.
    pub uses: Vec<Vec<WordUse>>,
}

/// What an access is, as far as code tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Load,
    Store,
    Atomic(AtomicUse),
    /// A load by which a loop waits.
    Look,
}

/// The first pass: words that are changed in one step, and loops that went around with nothing changed.
pub(crate) struct Survey<'a> {
    code: &'a Code,
    /// By access.
    kinds: Vec<Kind>,
    /// By access: the number of the instruction's address.
    instruction_of: Vec<u32>,
    /// By block.
    has_atomics: Vec<bool>,
    /// By word that is changed in one step: a bit for each thread that does.
    atomic: BTreeMap<u64, u64>,
    /// By block: the row of unchanged steps that it was met in last, and in which it was met again.
    met_in: Vec<(u32, u32)>,
    row: u32,
    /// Blocks that were met again.
    went_around: BTreeSet<u32>,
    /// By block: how often it was executed.
    executed: Vec<u32>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(code: &'a Code, blocks: &[TranslatedBlock]) -> Survey<'a> {
        let mut kinds: Vec<Kind> =
            code.accesses.iter().map(|access| if access.stores { Kind::Store } else { Kind::Load }).collect();
        let mut has_atomics = vec![false; blocks.len()];
        let at: BTreeMap<u64, &[u8]> =
            blocks.iter().map(|block| (block.address, block.bytes.as_slice())).collect();
        for (number, block) in blocks.iter().enumerate() {
            if block.class == CodeClass::Runtime {
                continue;
            }
            let range =
                code.blocks[number].accesses.start as usize..code.blocks[number].accesses.end as usize;
            for (instruction, of) in
                atomics(&block.bytes, block.address, &|address| at.get(&address).copied())
            {
                let own = range.clone().filter(|at| code.accesses[*at].instruction == instruction);
                // The emulator shows one store; where it shows a load, too, the store says all.
                let own: Vec<usize> = own.collect();
                if let Some(&at) = own.iter().rev().find(|at| code.accesses[**at].stores) {
                    kinds[at] = Kind::Atomic(of);
                    has_atomics[number] = true;
                }
            }
        }
        let instruction_of = code.blocks.iter().flat_map(|block| {
            let range = block.accesses.start as usize..block.accesses.end as usize;
            code.accesses[range].iter().map(|access| {
                let instruction = block.instructions.start as usize + access.instruction as usize;
                code.instructions.get(instruction).map_or(u32::MAX, |found| found.place)
            })
        });
        Survey {
            code,
            instruction_of: instruction_of.collect(),
            kinds,
            has_atomics,
            atomic: BTreeMap::new(),
            met_in: vec![(0, 0); blocks.len()],
            row: 1,
            went_around: BTreeSet::new(),
            executed: vec![0; blocks.len()],
        }
    }

    /// Another thread's stream begins.
    pub(crate) fn begin(&mut self) {
        self.row += 1;
    }

    /// The thread, by its bit, executed a block.
    #[inline]
    pub(crate) fn block(&mut self, thread: u64, block: u32, is_as_last_time: bool, addresses: &[u64]) {
        let number = block as usize;
        self.executed[number] = self.executed[number].saturating_add(1);
        if self.has_atomics[number] {
            let first = self.code.blocks[number].accesses.start as usize;
            for (at, address) in (first..).zip(addresses) {
                if matches!(self.kinds[at], Kind::Atomic(_)) {
                    *self.atomic.entry(*address).or_default() |= thread;
                }
            }
        }
        if !is_as_last_time {
            self.row += 1;
            return;
        }
        let (met, again) = &mut self.met_in[number];
        if *met == self.row && *again != self.row {
            *again = self.row;
            self.went_around.insert(block);
        }
        *met = self.row;
    }

    /// Anything but a block was executed.
    pub(crate) fn other(&mut self) {
        self.row += 1;
    }

    /// Marks the loads by which loops wait.
    fn find_looks(&mut self, instructions: &Instructions<'_>) -> bool {
        let blocks = &instructions.blocks;
        let mut by_address: Vec<u32> = (0..blocks.len() as u32).collect();
        by_address.sort_by_key(|block| blocks[*block as usize].address);
        let files = own_code(&instructions.modules, blocks);
        let seen = Seen { blocks, by_address, executed: &self.executed, files: &files };
        let mut places = BTreeSet::new();
        let mut decided = BTreeSet::new();
        for block in 0..blocks.len() as u32 {
            let TranslatedBlock { class, address, .. } = blocks[block as usize];
            let in_files = || files.iter().any(|piece| piece.at(address).is_some());
            let went_around = self.went_around.contains(&block);
            if class == CodeClass::Runtime || !went_around && !in_files() {
                continue;
            }
            for (place, load) in self.loads(block) {
                if !decided.insert(place) {
                    continue;
                }
                let (start, bytes) = seen.window(load);
                let code = Bytes { start, bytes: &bytes };
                // The loop may look by another instruction, and this one be the first look.
                let is_look = |look: u64| {
                    let found = seen.waits(&code, look, went_around);
                    found.is_some_and(|found| look == load || looks_before(&code, load, look, found))
                };
                if loads_again(&code, load).into_iter().any(is_look) {
                    places.insert(place);
                }
            }
        }
        if places.is_empty() {
            return false;
        }
        for (kind, place) in self.kinds.iter_mut().zip(&self.instruction_of) {
            if *kind == Kind::Load && places.contains(place) {
                *kind = Kind::Look;
            }
        }
        true
    }

    /// The loads of a block: the number of the instruction's place, and its address.
    fn loads(&self, block: u32) -> impl Iterator<Item = (u32, u64)> {
        let block = &self.code.blocks[block as usize];
        let range = block.accesses.start as usize..block.accesses.end as usize;
        range.filter(|at| self.kinds[*at] == Kind::Load).filter_map(|at| {
            let instruction = block.instructions.start + self.code.accesses[at].instruction;
            let instruction = self.code.instructions.get(instruction as usize)?;
            Some((instruction.place, instruction.address))
        })
    }
}

/// The code that was executed.
struct Seen<'a> {
    blocks: &'a [TranslatedBlock],
    /// Blocks in the order of their addresses.
    by_address: Vec<u32>,
    /// By block: how often it was executed.
    executed: &'a [u32],
    /// Where code that was not executed is known, too.
    files: &'a [Piece],
}

impl Seen<'_> {
    /// Blocks that begin at these addresses.
    fn near(&self, start: u64, end: u64) -> impl Iterator<Item = u32> {
        let address = |block: &u32| self.blocks[*block as usize].address;
        let begin = self.by_address.partition_point(|block| address(block) < start);
        self.by_address[begin..].iter().copied().take_while(move |block| address(block) < end)
    }

    /// The code around an address, and where it begins.
    fn window(&self, address: u64) -> (u64, Vec<u8>) {
        // What was not executed is a place where control flow ends.
        const NOTHING: u8 = 0xf4;
        let start = address.saturating_sub(WINDOW_BYTES);
        let mut bytes = vec![NOTHING; 2 * WINDOW_BYTES as usize];
        self.files.iter().for_each(|piece| piece.copy_to(start, &mut bytes));
        for block in self.near(start, start + bytes.len() as u64) {
            let block = &self.blocks[block as usize];
            let at = (block.address - start) as usize;
            let length = block.bytes.len().min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&block.bytes[..length]);
        }
        (start, bytes)
    }

    /// The loop around an instruction that waits. `went_around`: it was seen to go around with nothing changed.
    fn waits(&self, code: &Bytes<'_>, address: u64, went_around: bool) -> Option<Loop> {
        let seen = |at: u64| {
            const LONGEST: u64 = 4096;
            let near = self.near((at + 1).saturating_sub(LONGEST), at + 1);
            near.filter(|block| {
                let block = &self.blocks[*block as usize];
                at - block.address < block.bytes.len() as u64
            })
            .map(|block| u64::from(self.executed[block as usize]))
            .sum()
        };
        // A call of the system that came back with nothing changed is part of a wait: it gives up the core, or passes time. Others may
        // be those of which the library tells: `while (!full) pthread_cond_wait(…)`.
        let helper = |called: u64| {
            let block = self.near(called, called + 1).next()?;
            let is_system =
                matches!(self.blocks[block as usize].class, CodeClass::Library | CodeClass::Runtime);
            (is_system && went_around).then_some(Helper::Waits)
        };
        waiting_way(code, address, &helper, &seen)
    }
}

/// A set of addresses that says no quickly.
struct Filter {
    bits: Vec<u64>,
}

impl Filter {
    fn new(words: impl Iterator<Item = u64>) -> Filter {
        let mut filter = Filter { bits: vec![0; 1 << 12] };
        for word in words {
            let at = Filter::place(word);
            filter.bits[at >> 6] |= 1 << (at & 63);
        }
        filter
    }

    #[inline]
    fn place(address: u64) -> usize {
        (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 46) as usize
    }

    #[inline]
    fn may_have(&self, address: u64) -> bool {
        let at = Filter::place(address);
        self.bits[at >> 6] >> (at & 63) & 1 == 1
    }
}

/// What threads with these streams did at words that they share; `is_known` are words of which the library tells.
pub(crate) fn word_uses(
    mut survey: Survey<'_>,
    instructions: &Instructions<'_>,
    streams: &[u32],
    is_known: impl Fn(u64) -> bool,
) -> WordUses {
    let has_looks = survey.find_looks(instructions);
    let shared = |threads: &u64| threads.count_ones() > 1;
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    let mut words = Vec::new();
    let mut add = |word: u64| {
        if !is_known(word) {
            numbers.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() as u32 - 1
            });
        }
    };
    let mut atomic: Vec<u64> =
        survey.atomic.iter().filter(|(_, threads)| shared(threads)).map(|(word, _)| *word).collect();
    atomic.sort_unstable();
    atomic.into_iter().for_each(&mut add);
    if has_looks {
        let mut looked_at = BTreeSet::new();
        for stream in streams {
            looks(&survey, &mut instructions.cursor(*stream), &mut looked_at);
        }
        looked_at.into_iter().for_each(&mut add);
    }
    if words.is_empty() {
        return WordUses { words, uses: vec![Vec::new(); streams.len()] };
    }
    let filter = Filter::new(words.iter().copied());
    let uses = streams.iter().map(|stream| {
        let mut reader = Reader {
            survey: &survey,
            filter: &filter,
            numbers: &numbers,
            uses: Vec::new(),
            before: Vec::new(),
            places: Vec::new(),
            paused: Vec::new(),
            pauses: 0,
        };
        reader.read(&mut instructions.cursor(*stream), &instructions.blocks);
        reader.uses
    });
    let mut uses: Vec<Vec<WordUse>> = uses.collect();
    // What nobody writes, or nobody else uses, is not waited for; but in a queue one may have waited for its own word.
    let mut is_written = vec![false; words.len()];
    let mut is_shared = vec![false; words.len()];
    let mut user = vec![None; words.len()];
    for (thread, uses) in uses.iter().enumerate() {
        for one in uses {
            let word = one.word as usize;
            is_written[word] |= one.of != Use::Waits;
            is_shared[word] |= one.of == Use::Waits || *user[word].get_or_insert(thread) != thread;
        }
    }
    let is_of_interest = |one: &WordUse| is_written[one.word as usize] && is_shared[one.word as usize];
    uses.iter_mut().for_each(|uses| uses.retain(is_of_interest));
    WordUses { uses, words }
}

/// Adds the words that are looked at in loops that wait.
fn looks(survey: &Survey<'_>, cursor: &mut Cursor<'_>, found: &mut BTreeSet<u64>) {
    let code = survey.code;
    let has_looks: Vec<bool> = code
        .blocks
        .iter()
        .map(|block| {
            let range = block.accesses.start as usize..block.accesses.end as usize;
            survey.kinds[range].contains(&Kind::Look)
        })
        .collect();
    while let Some(step) = cursor.step() {
        if let Step::Block(block) = step
            && has_looks[block as usize]
            && !cursor.is_as_last_time()
        {
            let first = code.blocks[block as usize].accesses.start as usize;
            for (at, address) in (first..).zip(cursor.addresses(block)) {
                if survey.kinds[at] == Kind::Look {
                    found.insert(*address);
                }
            }
        }
    }
}

struct Reader<'a> {
    survey: &'a Survey<'a>,
    filter: &'a Filter,
    numbers: &'a BTreeMap<u64, u32>,
    uses: Vec<WordUse>,
    /// Instructions executed before each.
    before: Vec<u64>,
    /// The instruction of each.
    places: Vec<u32>,
    /// Blocks with a PAUSE that were executed until the end of each.
    paused: Vec<u64>,
    /// Blocks with a PAUSE that were executed so far.
    pauses: u64,
}

impl Reader<'_> {
    fn read(&mut self, cursor: &mut Cursor<'_>, blocks: &[TranslatedBlock]) {
        let code = self.survey.code;
        let is_of_interest: Vec<bool> = code
            .blocks
            .iter()
            .map(|block| {
                let range = block.accesses.start as usize..block.accesses.end as usize;
                self.survey.kinds[range].iter().any(|kind| *kind != Kind::Load)
            })
            .collect();
        let pauses: Vec<bool> =
            blocks.iter().map(|block| block.bytes.windows(2).any(|two| two == PAUSE)).collect();
        let mut step = 0;
        let mut executed = 0;
        // The first step since which all are as the last time.
        let mut same_since = 1;
        while let Some(what) = cursor.step() {
            match what {
                Step::Block(block) => {
                    step += 1;
                    if !cursor.is_as_last_time() {
                        same_since = step + 1;
                    }
                    self.pauses += u64::from(pauses[block as usize]);
                    if is_of_interest[block as usize] {
                        let first = code.blocks[block as usize].accesses.start as usize;
                        for (at, address) in (first..).zip(cursor.addresses(block)) {
                            let kind = self.survey.kinds[at];
                            if kind != Kind::Load && self.filter.may_have(*address) {
                                self.used(at, *address, step, same_since, executed);
                            }
                        }
                    }
                    executed += code.blocks[block as usize].instructions.len() as u64;
                }
                Step::Partial(_, instructions) => {
                    step += 1;
                    same_since = step + 1;
                    executed += u64::from(instructions);
                }
                _ => {}
            }
        }
    }

    #[inline(never)]
    fn used(&mut self, access: usize, address: u64, step: u64, same_since: u64, executed: u64) {
        let Some(&word) = self.numbers.get(&address) else { return };
        // The same instruction in another block is another attempt, too.
        let place = self.survey.instruction_of[access];
        let of = match self.survey.kinds[access] {
            Kind::Load => return,
            Kind::Look => Use::Waits,
            Kind::Atomic(AtomicUse::Takes) => Use::Takes,
            Kind::Atomic(AtomicUse::Compares) => Use::Compares,
            Kind::Atomic(AtomicUse::Counts) => Use::Counts,
            Kind::Atomic(AtomicUse::Frees) | Kind::Store => Use::Writes,
        };
        let pauses = self.pauses;
        let is_within = |last: &WordUse, paused: u64, steps: u64| {
            let between = step - last.end;
            let passes_time = between <= GOES_ON || 4 * (pauses - paused) >= between;
            last.word == word && (between <= steps || same_since <= last.end + 1 && passes_time)
        };
        // A loop may look at several words.
        let looks = self.uses.iter().rev().take(MOST_LOOKS).take_while(|one| one.of == Use::Waits).count();
        let behind = looks.min(self.uses.len().saturating_sub(1)) + 1;
        let from = self.uses.len().saturating_sub(behind);
        let newest = (from..self.uses.len()).rev().find(|at| self.uses[*at].word == word);
        if let Some(at) = newest.filter(|at| is_within(&self.uses[*at], self.paused[*at], NEAR)) {
            let last = &mut self.uses[at];
            let merges = match (last.of, of) {
                (Use::Waits, Use::Waits) | (Use::Takes | Use::Compares, Use::Waits) => true,
                (Use::Takes | Use::Compares, Use::Takes | Use::Compares) => self.places[at] == place,
                // The attempt after a look.
                (Use::Waits, Use::Takes | Use::Compares) => {
                    (last.of, self.places[at]) = (of, place);
                    true
                }
                _ => false,
            };
            if merges {
                last.end = step;
                self.paused[at] = pauses;
                last.instructions = executed - self.before[at];
                return;
            }
        }
        let last = self.uses.last().zip(self.paused.last());
        let goes_on = last.is_some_and(|(last, paused)| is_within(last, *paused, GOES_ON));
        self.paused.push(pauses);
        self.places.push(place);
        self.before.push(executed);
        self.uses.push(WordUse { begin: step, end: step, word, of, goes_on, instructions: 0 });
    }
}
