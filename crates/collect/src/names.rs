//! Names for what a recording holds as addresses, taken from the files of the programs that ran.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use holdup_recording::facts::{NamedFrame, NamedStack, Names};
use holdup_recording::{RawProcess, Recording};
use holdup_symbols::{Frame, Module, Options, StackCopy, Symbolizer, UnwindEnd};

/// What the file name of the injected library starts with: its own frames are nobody's business.
const OWN_LIBRARY: &str = "libholdup";

/// Finds the names of each process that has none yet, and gives them by the process's index.
pub fn name_all(recording: &Recording) -> BTreeMap<u32, Names> {
    let unnamed = recording.processes.iter().enumerate().filter(|(_, process)| process.names.is_none());
    unnamed
        .filter(|(_, process)| !process.is_empty())
        .map(|(index, process)| (index as u32, names(process)))
        .collect()
}

fn names(process: &RawProcess) -> Names {
    let modules = process.modules().into_iter().map(|module| Module {
        path: PathBuf::from(OsStr::from_bytes(&module.path)),
        bias: module.bias,
        start: module.start,
        end: module.end,
        build_id: (!module.build_id.is_empty()).then_some(module.build_id),
    });
    let (mut symbolizer, warnings) = Symbolizer::new(modules.collect(), Options::default());
    let mut names = Names {
        warnings: warnings
            .iter()
            .map(ToString::to_string)
            .filter(|text| !text.contains("linux-vdso"))
            .collect(),
        ..Names::default()
    };
    for stack in process.stacks() {
        let copy = StackCopy { ip: stack.ip, sp: stack.sp, bp: stack.bp, bytes: &stack.bytes };
        let unwound = symbolizer.unwind(&copy);
        let mut frames = Vec::new();
        for (depth, address) in unwound.addresses.iter().enumerate() {
            frames.extend(symbolizer.frames(*address, depth > 0).into_iter().map(named));
        }
        frames.retain(|frame| !frame.module.as_deref().is_some_and(|module| module.starts_with(OWN_LIBRARY)));
        names.stacks.insert(stack.id, NamedStack { frames, broken: unwound.end != UnwindEnd::Root });
    }
    for (address, is_return_address) in process.code() {
        let frames = symbolizer.frames(address, is_return_address).into_iter().map(named).collect();
        names.code.insert(address, NamedStack { frames, broken: false });
    }
    for address in process.objects() {
        if let Some(symbol) = symbolizer.data_symbol(address) {
            names.data.insert(address, symbol.expression());
        }
    }
    names
}

fn named(frame: Frame) -> NamedFrame {
    NamedFrame {
        function: frame.function,
        file: frame.file,
        line: frame.line,
        module: frame.module,
        address: frame.address,
        inlined: frame.inlined,
    }
}
