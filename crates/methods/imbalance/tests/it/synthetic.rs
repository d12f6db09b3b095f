//! Programs made of loops, branches and calls, executed by threads that count their edges.

use std::collections::BTreeMap;
use std::rc::Rc;

use holdup_model::Frame;
use holdup_model::counts::{
    BasicBlock, BlockExit, BlockId, CountedThread, Counts, EventId, EventTable, Instance, Section,
    SectionPlace, ThreadLabel,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a decision may depend on.
pub(crate) struct Here<'a> {
    pub(crate) me: u64,
    pub(crate) threads: u64,
    pub(crate) instance: u64,
    /// Turns of the loops around, the innermost last.
    pub(crate) turns: Vec<u64>,
    pub(crate) random: &'a mut ChaCha8Rng,
}

impl Here<'_> {
    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// The turn of the innermost loop.
    pub(crate) fn turn(&self) -> u64 {
        self.turns.last().copied().unwrap_or(0)
    }
}

pub(crate) type Test = Rc<dyn Fn(&mut Here<'_>) -> bool>;
pub(crate) type Amount = Rc<dyn Fn(&mut Here<'_>) -> u64>;

/// A statement.
#[derive(Clone)]
pub(crate) enum Do {
    /// So many instructions.
    Work(u32),
    /// Then, else.
    If(u32, Test, Vec<Do>, Vec<Do>),
    /// Tests before each turn.
    While(u32, Amount, Vec<Do>),
    /// Tests behind each turn, as optimised code does; at least one turn.
    Until(u32, Amount, Vec<Do>),
    /// A function of the program.
    Call(u32, usize),
    /// One of several functions, through a pointer.
    CallOne(u32, Amount, Vec<usize>),
    /// A function of a library, which executes so many instructions.
    Library(u32, Amount),
}

/// `if` at a line.
pub(crate) fn when(line: u32, test: impl Fn(&mut Here<'_>) -> bool + 'static, then: Vec<Do>) -> Do {
    Do::If(line, Rc::new(test), then, Vec::new())
}

/// `if` at a line, with `else`.
pub(crate) fn either(
    line: u32,
    test: impl Fn(&mut Here<'_>) -> bool + 'static,
    then: Vec<Do>,
    other: Vec<Do>,
) -> Do {
    Do::If(line, Rc::new(test), then, other)
}

/// A loop at a line.
pub(crate) fn turns(line: u32, amount: impl Fn(&mut Here<'_>) -> u64 + 'static, body: Vec<Do>) -> Do {
    Do::While(line, Rc::new(amount), body)
}

/// A loop at a line that tests behind each turn.
pub(crate) fn until(line: u32, amount: impl Fn(&mut Here<'_>) -> u64 + 'static, body: Vec<Do>) -> Do {
    Do::Until(line, Rc::new(amount), body)
}

/// A call of a library.
pub(crate) fn library(line: u32, amount: impl Fn(&mut Here<'_>) -> u64 + 'static) -> Do {
    Do::Library(line, Rc::new(amount))
}

/// A call through a pointer.
pub(crate) fn call_one(
    line: u32,
    which: impl Fn(&mut Here<'_>) -> u64 + 'static,
    functions: Vec<usize>,
) -> Do {
    Do::CallOne(line, Rc::new(which), functions)
}

/// Statements with their blocks.
enum Placed {
    Work(BlockId),
    If { head: BlockId, join: BlockId, test: Test, then: Vec<Placed>, other: Vec<Placed> },
    While { head: BlockId, exit: BlockId, amount: Amount, body: Vec<Placed> },
    Until { first: BlockId, latch: BlockId, exit: BlockId, amount: Amount, body: Vec<Placed> },
    Call { at: BlockId, behind: BlockId, which: Option<Amount>, functions: Vec<usize> },
    Library { at: BlockId, behind: BlockId, amount: Amount },
}

struct Function {
    entry: BlockId,
    exit: BlockId,
    body: Vec<Placed>,
}

/// A program: functions, the first of which each thread executes in each instance of the section.
pub(crate) struct Synthetic {
    blocks: Vec<BasicBlock>,
    functions: Vec<Function>,
    address: u64,
}

/// Calls nest no deeper.
const DEEPEST: u32 = 30;

impl Synthetic {
    pub(crate) fn new(functions: Vec<Vec<Do>>) -> Synthetic {
        let mut program = Synthetic { blocks: Vec::new(), functions: Vec::new(), address: 0x1000 };
        for (at, body) in functions.into_iter().enumerate() {
            let line = 100_000 * (at as u32 + 1);
            let entry = program.block(line, 4, BlockExit::Falls);
            let body = program.place(body);
            let exit = program.block(line + 1, 3, BlockExit::Return);
            program.functions.push(Function { entry, exit, body });
        }
        program
    }

    fn block(&mut self, line: u32, instructions: u32, exit: BlockExit) -> BlockId {
        let frame = Frame {
            function: Some("f".to_owned()),
            file: Some("synthetic.c".to_owned()),
            line: Some(line),
            address: self.address,
            ..Frame::default()
        };
        self.blocks.push(BasicBlock {
            address: self.address,
            begin: vec![frame.clone()],
            end: vec![frame],
            instructions,
            exit,
            ..BasicBlock::default()
        });
        self.address += 4 * u64::from(instructions);
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Blocks of no line of their own get this one.
    const BETWEEN: u32 = 0;

    fn place(&mut self, body: Vec<Do>) -> Vec<Placed> {
        let between = Self::BETWEEN;
        body.into_iter()
            .map(|one| match one {
                Do::Work(instructions) => Placed::Work(self.block(between, instructions, BlockExit::Falls)),
                Do::If(line, test, then, other) => {
                    let head = self.block(line, 5, BlockExit::Branch);
                    let (then, other) = (self.place(then), self.place(other));
                    let join = self.block(between, 2, BlockExit::Falls);
                    Placed::If { head, join, test, then, other }
                }
                Do::While(line, amount, body) => {
                    let head = self.block(line, 3, BlockExit::Branch);
                    let body = self.place(body);
                    let exit = self.block(between, 2, BlockExit::Falls);
                    Placed::While { head, exit, amount, body }
                }
                Do::Until(line, amount, body) => {
                    let first = self.block(between, 2, BlockExit::Falls);
                    let body = self.place(body);
                    let latch = self.block(line, 3, BlockExit::Branch);
                    let exit = self.block(between, 2, BlockExit::Falls);
                    Placed::Until { first, latch, exit, amount, body }
                }
                Do::Call(line, function) => {
                    let at = self.block(line, 3, BlockExit::Call);
                    let behind = self.block(between, 2, BlockExit::Falls);
                    Placed::Call { at, behind, which: None, functions: vec![function] }
                }
                Do::CallOne(line, which, functions) => {
                    let at = self.block(line, 3, BlockExit::IndirectCall);
                    let behind = self.block(between, 2, BlockExit::Falls);
                    Placed::Call { at, behind, which: Some(which), functions }
                }
                Do::Library(line, amount) => {
                    let at = self.block(line, 3, BlockExit::Call);
                    let behind = self.block(between, 2, BlockExit::Falls);
                    Placed::Library { at, behind, amount }
                }
            })
            .collect()
    }

    /// Executes so many instances of the section with so many threads.
    pub(crate) fn run(&self, threads: u64, instances: u64, seed: u64) -> Counts {
        let mut section = Section {
            end: SectionPlace { name: Some("barrier".to_owned()), frames: Vec::new() },
            ..Section::default()
        };
        let mut rows = Vec::new();
        for instance in 0..instances {
            for me in 0..threads {
                let mut random = ChaCha8Rng::seed_from_u64(seed ^ (instance << 32) ^ (me << 48));
                let here = Here { me, threads, instance, turns: Vec::new(), random: &mut random };
                let mut thread = Thread {
                    program: self,
                    here,
                    at: None,
                    edges: BTreeMap::new(),
                    library: BTreeMap::new(),
                    time: 0,
                };
                thread.function(0, 0);
                rows.push((instance, me, thread.edges, thread.library, thread.time));
            }
        }
        let mut edges: Vec<(BlockId, BlockId)> = rows.iter().flat_map(|row| row.2.keys().copied()).collect();
        edges.sort_unstable();
        edges.dedup();
        for number in 0..instances {
            let of: Vec<_> = rows.iter().filter(|row| row.0 == number).collect();
            let mut entries = Vec::new();
            let mut library = Vec::new();
            for (_, me, counts, own, _) in &of {
                for (edge, count) in counts {
                    let event = edges.binary_search(edge).expect("each edge is in the table");
                    entries.push((EventId(event as u32), *me as u32, *count));
                }
                library.extend(own.iter().map(|(block, count)| (*block, *me as u32, *count)));
            }
            entries.sort_unstable();
            library.sort_unstable();
            section.instances.push(Instance {
                threads: (0..threads).map(|me| CountedThread(me as u32)).collect(),
                time: of.iter().map(|row| row.4).collect(),
                executed: EventTable { entries },
                library,
                ..Instance::default()
            });
        }
        Counts {
            threads: (0..threads).map(|me| ThreadLabel { number: me as u32, name: None }).collect(),
            blocks: self.blocks.clone(),
            edges,
            sections: vec![section],
            ..Counts::default()
        }
    }
}

struct Thread<'a> {
    program: &'a Synthetic,
    here: Here<'a>,
    at: Option<BlockId>,
    edges: BTreeMap<(BlockId, BlockId), u64>,
    library: BTreeMap<BlockId, u64>,
    time: u64,
}

impl Thread<'_> {
    fn go(&mut self, to: BlockId) {
        if let Some(from) = self.at {
            *self.edges.entry((from, to)).or_insert(0) += 1;
        }
        self.time += u64::from(self.program.blocks[to.index()].instructions);
        self.at = Some(to);
    }

    fn function(&mut self, number: usize, depth: u32) {
        let program = self.program;
        let function = &program.functions[number];
        self.go(function.entry);
        self.body(&function.body, depth);
        self.go(function.exit);
    }

    fn body(&mut self, body: &[Placed], depth: u32) {
        for one in body {
            match one {
                Placed::Work(block) => self.go(*block),
                Placed::If { head, join, test, then, other } => {
                    self.go(*head);
                    let way = if test(&mut self.here) { then } else { other };
                    self.body(way, depth);
                    self.go(*join);
                }
                Placed::While { head, exit, amount, body } => {
                    self.go(*head);
                    let amount = amount(&mut self.here);
                    for turn in 0..amount {
                        self.turn(turn, body, depth);
                        self.go(*head);
                    }
                    self.go(*exit);
                }
                Placed::Until { first, latch, exit, amount, body } => {
                    let amount = amount(&mut self.here).max(1);
                    for turn in 0..amount {
                        self.go(*first);
                        self.turn(turn, body, depth);
                        self.go(*latch);
                    }
                    self.go(*exit);
                }
                Placed::Call { at, behind, which, functions } => {
                    self.go(*at);
                    let which = which.as_ref().map_or(0, |which| which(&mut self.here) as usize);
                    if depth < DEEPEST {
                        self.here.turns.push(u64::from(depth));
                        self.function(functions[which % functions.len()], depth + 1);
                        self.here.turns.pop();
                    }
                    self.at = Some(*at);
                    self.go(*behind);
                }
                Placed::Library { at, behind, amount } => {
                    self.go(*at);
                    let amount = amount(&mut self.here);
                    *self.library.entry(*at).or_insert(0) += amount;
                    self.time += amount;
                    self.go(*behind);
                }
            }
        }
    }

    fn turn(&mut self, turn: u64, body: &[Placed], depth: u32) {
        self.here.turns.push(turn);
        self.body(body, depth);
        self.here.turns.pop();
    }
}
