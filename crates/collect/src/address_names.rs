//! Names for single instructions and variables of a recording, looked up when they are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use holdup_model::Frame;
use holdup_recording::facts::BlockNames;
use holdup_recording::{CodeModule, Instructions, Recording, TranslatedBlock};
use holdup_symbols::{DataSymbol, Files, Mapping, Options, Symbolizer};

use crate::process_names;

/// What addresses of a recorded process are called.
#[derive(Debug, Default)]
pub struct AddressNames {
    /// Frames of instructions, innermost first.
    pub code: BTreeMap<u64, Vec<Frame>>,
    /// Variables that bytes belong to.
    pub data: BTreeMap<u64, DataSymbol>,
}

/// Looks these addresses up: in the recording, then in the files of the program while they are what they were. An
/// instruction whose file has changed gets the name of the block that it is in.
pub fn address_names(
    recording: &Recording,
    code: impl IntoIterator<Item = u64>,
    data: impl IntoIterator<Item = u64>,
) -> AddressNames {
    let Some(read) = Instructions::of(recording) else { return AddressNames::default() };
    let files = Files::default();
    let named = recording.processes.first().and_then(|process| process.names.as_ref());
    let mut lookup = Lookup::new(&read, recording.block_names.as_ref(), files.clone());
    let code: BTreeSet<u64> = code.into_iter().collect();
    let code = code
        .into_iter()
        .map(|address| {
            let stored =
                named.and_then(|names| names.code.get(&address)).filter(|stack| !stack.frames.is_empty());
            let frames = match stored {
                Some(stack) => stack.frames.iter().cloned().map(Frame::from).collect(),
                None => lookup.frames(address),
            };
            (address, frames)
        })
        .collect();
    let mut found = AddressNames { code, data: BTreeMap::new() };
    if let Some(process) = recording.processes.first() {
        let (mut symbolizer, _) = Symbolizer::sharing(
            process_names::modules(&process.addresses().modules),
            Options::default(),
            files,
        );
        let data: BTreeSet<u64> = data.into_iter().collect();
        found.data = data.into_iter().filter_map(|at| Some((at, symbolizer.data_symbol(at)?))).collect();
    }
    found
}

struct Lookup<'a> {
    symbolizer: Symbolizer,
    modules: &'a [CodeModule],
    /// Blocks by their address; of those with the same the longest.
    blocks: BTreeMap<u64, &'a TranslatedBlock>,
    stored: Option<&'a BlockNames>,
}

impl<'a> Lookup<'a> {
    fn new(read: &'a Instructions<'a>, stored: Option<&'a BlockNames>, files: Files) -> Lookup<'a> {
        let mut symbolizer = Symbolizer::live(None, Options::default(), files);
        for module in &read.modules {
            symbolizer.add(&Mapping {
                path: PathBuf::from(OsStr::from_bytes(&module.path)),
                start: module.start,
                end: module.end,
                offset: module.offset,
                build_id: None,
            });
        }
        let mut blocks: BTreeMap<u64, &TranslatedBlock> = BTreeMap::new();
        for block in &read.blocks {
            let longest = blocks.entry(block.address).or_insert(block);
            if block.bytes.len() > longest.bytes.len() {
                *longest = block;
            }
        }
        Lookup { symbolizer, modules: &read.modules, blocks, stored }
    }

    fn frames(&mut self, address: u64) -> Vec<Frame> {
        let block = self.block(address);
        let found = match block {
            Some(block) if !self.is_unchanged(block) => Vec::new(),
            _ => self.symbolizer.frames(address, false),
        };
        if found.iter().any(|frame| frame.function.is_some() || frame.line.is_some()) {
            return found.into_iter().map(process_names::named).map(Frame::from).collect();
        }
        let module = self.modules.iter().rfind(|module| (module.start..module.end).contains(&address));
        let relative = module.map_or(address, |module| address - module.start + module.offset);
        let stored = self.stored_frames(block.map_or(address, |block| block.address), address, relative);
        if !stored.is_empty() {
            return stored;
        }
        let name = module.map(|module| String::from_utf8_lossy(&module.path).into_owned());
        let name = name.and_then(|path| path.rsplit('/').next().map(str::to_owned));
        vec![Frame { module: name, address: relative, ..Frame::default() }]
    }

    /// A block that has the instruction at this address. None is longer than a page or so.
    fn block(&self, address: u64) -> Option<&'a TranslatedBlock> {
        const LONGEST: u64 = 1 << 13;
        let near = self.blocks.range(address.saturating_sub(LONGEST)..=address).rev();
        near.map(|(_, block)| *block).find(|block| address - block.address < block.bytes.len() as u64)
    }

    /// True if the file has the bytes that were executed, or cannot be looked at.
    fn is_unchanged(&self, block: &TranslatedBlock) -> bool {
        let length = block.bytes.len() as u64;
        match self.symbolizer.code_bytes(block.address, 0, length) {
            Some(code) => code
                .bytes
                .get((block.address.saturating_sub(code.start)) as usize..)
                .is_some_and(|bytes| bytes.starts_with(&block.bytes)),
            None => true,
        }
    }

    /// What is stored of the last named place of the block up to the address.
    fn stored_frames(&self, block: u64, address: u64, relative: u64) -> Vec<Frame> {
        let Some(names) = self.stored else { return Vec::new() };
        let Some((_, places)) = names.places.range(block..=address.max(block)).next_back() else {
            return Vec::new();
        };
        let text = |index: Option<u32>| index.and_then(|index| names.texts.get(index as usize).cloned());
        let frames = places.iter().filter_map(|place| names.frames.get(*place as usize));
        let frames = frames.map(|frame| Frame {
            function: text(frame.function),
            file: text(frame.file),
            line: frame.line,
            module: text(frame.module),
            address: relative,
            inlined: frame.inlined,
            ..Frame::default()
        });
        frames.collect()
    }
}
