//! Call stacks and addresses of code as sites of the model, with the names that were found for them.

use std::collections::BTreeMap;

use holdup_model::openmp::source_function;
use holdup_model::{Frame, Process, Site, SiteId};
use holdup_trace::wire::NO_STACK;

use crate::facts::{NamedFrame, NamedStack, Names};

/// Sites of one process, added when they are first needed.
pub(crate) struct Sites<'a> {
    names: Option<&'a Names>,
    stacks: BTreeMap<u64, SiteId>,
    code: BTreeMap<u64, SiteId>,
}

impl<'a> Sites<'a> {
    pub(crate) fn of(names: Option<&'a Names>) -> Self {
        Sites { names, stacks: BTreeMap::new(), code: BTreeMap::new() }
    }

    pub(crate) fn stack(&mut self, process: &mut Process, id: u64) -> Option<SiteId> {
        if id == NO_STACK {
            return None;
        }
        let named = self.names.and_then(|names| names.stacks.get(&id))?;
        Some(*self.stacks.entry(id).or_insert_with(|| process.add_site(site(named))))
    }

    pub(crate) fn code(&mut self, process: &mut Process, address: u64) -> Option<SiteId> {
        if address == 0 {
            return None;
        }
        let named = self.names.and_then(|names| names.code.get(&address)).cloned().unwrap_or_else(|| {
            NamedStack { frames: vec![NamedFrame { address, ..Default::default() }], broken: true }
        });
        Some(*self.code.entry(address).or_insert_with(|| process.add_site(site(&named))))
    }
}

fn site(named: &NamedStack) -> Site {
    let frames = named.frames.iter().cloned().map(Frame::from).collect();
    Site { frames, broken: named.broken, in_waiting_loop: false }
}

impl From<NamedFrame> for Frame {
    /// Where the line tells which construct it is, a part that the compiler made a function of its own for OpenMP has the
    /// name of the function in the source.
    fn from(frame: NamedFrame) -> Frame {
        let source = frame.function.as_deref().and_then(source_function).filter(|_| frame.line.is_some());
        let source = source.map(str::to_owned);
        Frame {
            function: source.or(frame.function),
            file: frame.file,
            line: frame.line,
            module: frame.module,
            address: frame.address,
            inlined: frame.inlined,
            begin: frame.begin,
        }
    }
}
