//! Loops in which threads look for work and find none, in the code that a process executed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use holdup_code::{Code, Helper, Look, POLL_WINDOW_BYTES, look, polls};
use holdup_symbols::Symbolizer;

/// Functions that are called there may call others, so deep.
const DEEPEST_CALL: usize = 3;
/// Longer functions are not looked at.
const MOST_BYTES: u64 = 1024;

/// What is known of such loops.
#[derive(Default)]
pub(crate) struct Polling {
    /// What functions are that were looked at, by their beginnings.
    looks: RefCell<BTreeMap<u64, Option<Look>>>,
    /// Addresses that are in no other such loop than those that are known.
    settled: BTreeSet<u64>,
    /// Addresses of instructions by which threads go round in such loops and do nothing.
    pub(crate) turns: BTreeSet<u64>,
    /// And those of functions that are called there.
    pub(crate) called: BTreeSet<u64>,
}

impl Polling {
    /// Looks for such loops around an address.
    pub(crate) fn look_at(&mut self, address: u64, symbolizer: &mut Symbolizer) {
        if self.settled.contains(&address) {
            return;
        }
        let Some((start, bytes)) = around(symbolizer, address) else { return };
        let names = RefCell::new(symbolizer);
        let helper = |target: u64| self.helper(target, &names, DEEPEST_CALL);
        let found = polls(&Code { start, bytes: &bytes }, address, &helper);
        self.settled.extend(found.settled);
        let looks = self.looks.get_mut();
        let mut open: Vec<u64> = found.ways.iter().flat_map(|way| way.calls.iter().copied()).collect();
        while let Some(function) = open.pop() {
            if let Some(Some(look)) = looks.get(&function)
                && self.called.insert(function)
            {
                self.called.extend(&look.instructions);
                open.extend(&look.calls);
            }
        }
        self.turns.extend(found.ways.into_iter().flat_map(|way| way.instructions));
    }

    fn helper(&self, target: u64, names: &RefCell<&mut Symbolizer>, depth: usize) -> Option<Helper> {
        if let Some(known) = self.looks.borrow().get(&target) {
            return known.as_ref().map(Look::as_helper);
        }
        let helper = named_helper(target, names);
        if helper.is_some() || depth == 0 {
            return helper;
        }
        // A function that calls itself does not get far.
        self.looks.borrow_mut().insert(target, None);
        let found = function(target, names).and_then(|bytes| {
            look(&Code { start: target, bytes: &bytes }, &|called| self.helper(called, names, depth - 1))
        });
        let helper = found.as_ref().map(Look::as_helper);
        self.looks.borrow_mut().insert(target, found);
        helper
    }
}

/// What a function is, by its name, to a loop that calls it.
pub(crate) fn named_helper(target: u64, names: &RefCell<&mut Symbolizer>) -> Option<Helper> {
    let frames = names.borrow_mut().frames(target, false);
    // The function that is called, not one that it begins with.
    frames.last().and_then(|frame| frame.function.as_deref()).and_then(Helper::of)
}

fn around(symbolizer: &Symbolizer, address: u64) -> Option<(u64, Vec<u8>)> {
    let code = symbolizer.code_bytes(address, POLL_WINDOW_BYTES, POLL_WINDOW_BYTES)?;
    Some((code.start, code.bytes.to_vec()))
}

/// The code of the function that begins there, with what follows it: control does not get there.
fn function(start: u64, names: &RefCell<&mut Symbolizer>) -> Option<Vec<u8>> {
    let names = names.borrow();
    names.code_bytes(start, 0, MOST_BYTES).filter(|code| code.start == start).map(|code| code.bytes.to_vec())
}
