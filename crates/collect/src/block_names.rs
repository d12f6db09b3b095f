//! Names for the program's blocks that were executed under emulation: where each begins, and its last instruction, which
//! decides where to go.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use holdup_code::{Block, BlockTable, Loop, RawBlock};
use holdup_recording::facts::{BlockFrame, BlockNames};
use holdup_recording::{CodeModule, Instructions};
use holdup_symbols::{Files, Frame, Mapping, Options, Symbolizer};
use holdup_trace::instructions::CodeClass;

use crate::image_names::waits;
use crate::polling::Polling;

/// Names the blocks of the program's own code, after they have been split where control flow comes together.
pub(crate) fn names(read: &Instructions<'_>, files: Files) -> BlockNames {
    let mut symbolizer = Symbolizer::live(None, Options::default(), files);
    for module in &read.modules {
        if module.class == CodeClass::Own {
            symbolizer.add(&mapping(module));
        }
    }
    let own = read.blocks.iter().filter(|block| block.class == CodeClass::Own);
    let raw: Vec<RawBlock<'_>> =
        own.map(|block| RawBlock { address: block.address, bytes: &block.bytes, generated: false }).collect();
    let table = BlockTable::new(&raw, &|_| None);
    let mut names = Table::default();
    for block in table.blocks() {
        for address in [block.address, block.last] {
            names.place(address, &mut symbolizer);
        }
    }
    names.names.waiting = waiting(table.blocks(), &mut symbolizer);
    names.names
}

/// Addresses of the blocks in loops that only wait. A loop is known by a block that ends with a jump back.
fn waiting(blocks: &[Block], symbolizer: &mut Symbolizer) -> Vec<u64> {
    let goes_back =
        |block: &&Block| block.target.is_some_and(|target| target <= block.last) && !block.generated;
    let loops: Vec<Loop> =
        blocks.iter().filter(goes_back).filter_map(|block| waits(symbolizer, block.last, &|_| 0)).collect();
    let is_in_loop =
        |address: u64| loops.iter().any(|waiting| (waiting.start..waiting.end).contains(&address));
    let mut polling = Polling::default();
    for block in blocks.iter().filter(goes_back).filter(|block| !is_in_loop(block.last)) {
        polling.look_at(block.last, symbolizer);
    }
    let looks = |address: &u64| polling.turns.contains(address) || polling.called.contains(address);
    let waits = |address: &u64| is_in_loop(*address) || looks(address);
    blocks.iter().filter(|block| !block.generated).map(|block| block.address).filter(waits).collect()
}

fn mapping(module: &CodeModule) -> Mapping {
    Mapping {
        path: PathBuf::from(OsStr::from_bytes(&module.path)),
        start: module.start,
        end: module.end,
        offset: module.offset,
        build_id: None,
    }
}

/// Names, each once.
#[derive(Default)]
struct Table {
    names: BlockNames,
    texts: BTreeMap<String, u32>,
    frames: BTreeMap<BlockFrame, u32>,
}

impl Table {
    fn place(&mut self, address: u64, symbolizer: &mut Symbolizer) {
        if self.names.places.contains_key(&address) {
            return;
        }
        let frames = symbolizer.frames(address, false).into_iter().map(|frame| self.frame(frame)).collect();
        self.names.places.insert(address, frames);
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        let frame = BlockFrame {
            function: frame.function.map(|text| self.text(text)),
            file: frame.file.map(|text| self.text(text)),
            line: frame.line,
            module: frame.module.map(|text| self.text(text)),
            inlined: frame.inlined,
        };
        let names = &mut self.names.frames;
        *self.frames.entry(frame).or_insert_with_key(|frame| {
            names.push(frame.clone());
            names.len() as u32 - 1
        })
    }

    fn text(&mut self, text: String) -> u32 {
        let names = &mut self.names.texts;
        *self.texts.entry(text).or_insert_with_key(|text| {
            names.push(text.clone());
            names.len() as u32 - 1
        })
    }
}
