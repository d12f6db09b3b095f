//! Functions that passed a call on by a jump, and so are on no stack.
//!
//! `GOMP_loop_dynamic_next` of a stripped library jumps to a function without a name: of what the program asked for only the call says
//! something, which leads to that library by way of the linkage table.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::climb::{called_by_pointer, called_directly};
use crate::modules::Modules;
use crate::unwind::MAX_FRAMES;

/// Answers that are kept; beyond, all are forgotten.
const MAX_CACHED: usize = 1 << 16;

/// What was found out.
#[derive(Default)]
pub(crate) struct PassedOn {
    /// By the address in the function that has no name, and the return address of a call to another module: where the one begins that
    /// was called.
    known: BTreeMap<(u64, u64), Option<u64>>,
}

impl PassedOn {
    /// Puts such functions into a stack, each as the address behind its first byte: return addresses are looked up one byte before.
    pub(crate) fn complete(&mut self, modules: &Modules, addresses: &mut Vec<u64>) {
        for at in (1..addresses.len()).rev() {
            let executed = |index: usize| addresses[index] - u64::from(index > 0);
            let is_same = |one: u64, other: u64| match (modules.at(one), modules.at(other)) {
                (Some(one), Some(other)) => Rc::ptr_eq(one, other),
                _ => true,
            };
            // The most calls stay in a module.
            let (inner, outer) = (executed(at - 1), executed(at));
            if is_same(inner, outer) || addresses.len() >= MAX_FRAMES {
                continue;
            }
            // A library that stands before another one is called in its place, and calls it by a pointer.
            let behind = (at + 1..addresses.len()).find(|&index| !is_same(executed(index), outer));
            let callers = [Some(at), behind].into_iter().flatten().map(|index| addresses[index]);
            if let Some(called) = callers.into_iter().find_map(|caller| self.called(modules, inner, caller)) {
                addresses.insert(at, called + 1);
            }
        }
    }

    fn called(&mut self, modules: &Modules, inner: u64, caller: u64) -> Option<u64> {
        if self.known.len() >= MAX_CACHED {
            self.known.clear();
        }
        *self.known.entry((inner, caller)).or_insert_with(|| passed_on(modules, inner, caller))
    }

    /// Other modules are at some addresses.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

/// Where the function begins that was called before `caller`, if it is in the module of `inner`, and that is in a function without a
/// name: control came there from it.
fn passed_on(modules: &Modules, inner: u64, caller: u64) -> Option<u64> {
    let (callee, calling) = (modules.at(inner)?, modules.at(caller.checked_sub(1)?)?);
    let image = callee.image(modules.options())?;
    if image.symbols.function_at(callee.module.stated(inner)).is_some() {
        return None;
    }
    let file = calling.file.as_ref()?;
    let target = called_directly(modules, caller).or_else(|| called_by_pointer(modules, caller))?;
    let symbol = file.linkage().symbol_at(calling.module.stated(target))?;
    let stated = image.symbols.address_of(symbol)?;
    Some(stated.wrapping_add(callee.module.bias))
}
