//! Counts from streams with blocks, by the rules by which the plugin counts in the fast mode: edges between blocks of the
//! program's own code, library code charged to the block that called it.

use std::collections::BTreeMap;

use holdup_recording::TranslatedBlock;
use holdup_trace::instructions::CodeClass;

use crate::tally::Tally;

/// Nested calls into libraries that call back; deeper ones are charged to the outermost.
const DEEPEST: usize = 64;

pub(crate) struct Replayed<'a> {
    blocks: &'a [TranslatedBlock],
    /// For blocks that end with a call: the return address.
    returns: &'a BTreeMap<u32, u64>,
    tally: Tally,
    last: Option<u32>,
    /// The last own block that ended with a call, and its return address.
    called: Option<(u32, u64)>,
    /// Calls into libraries that have not returned.
    calls: Vec<(u32, u64)>,
    in_library: bool,
}

impl<'a> Replayed<'a> {
    /// `returns` has the return address of each own block that ends with a call.
    pub(crate) fn new(blocks: &'a [TranslatedBlock], returns: &'a BTreeMap<u32, u64>) -> Replayed<'a> {
        Replayed {
            blocks,
            returns,
            tally: Tally::default(),
            last: None,
            called: None,
            calls: Vec::new(),
            in_library: false,
        }
    }

    /// What was executed since this was asked last; `None` if nothing was.
    pub(crate) fn taken(&mut self) -> Option<Tally> {
        (!self.tally.is_empty()).then(|| std::mem::take(&mut self.tally))
    }

    pub(crate) fn block(&mut self, number: u32) {
        let Some(block) = self.blocks.get(number as usize) else { return };
        self.partial(number, block.instructions);
    }

    pub(crate) fn partial(&mut self, number: u32, instructions: u32) {
        let Some(block) = self.blocks.get(number as usize) else { return };
        let instructions = u64::from(instructions);
        match block.class {
            CodeClass::Runtime => {}
            CodeClass::Library => {
                if !self.in_library {
                    self.in_library = true;
                    let returned = self.last.is_some_and(|last| Some(last) != self.called.map(|call| call.0));
                    if let Some(call) = self.called.filter(|_| !returned && self.calls.len() < DEEPEST) {
                        self.calls.push(call);
                    }
                }
                self.tally.instructions += instructions;
                if let Some((caller, _)) = self.calls.last() {
                    *self.tally.library.entry(*caller).or_default() += instructions;
                }
            }
            CodeClass::Own | CodeClass::Generated => {
                let from = if self.in_library {
                    self.in_library = false;
                    let caller = self.calls.last().map(|call| call.0);
                    if self.calls.last().is_some_and(|call| call.1 == block.address) {
                        self.calls.pop();
                    }
                    caller
                } else {
                    self.last
                };
                self.tally.instructions += instructions;
                *self.tally.executed.entry(number).or_default() += 1;
                if let Some(from) = from {
                    *self.tally.edges.entry((from, number)).or_default() += 1;
                }
                self.last = Some(number);
                self.called = self.returns.get(&number).map(|address| (number, *address)).or(self.called);
            }
        }
    }
}
