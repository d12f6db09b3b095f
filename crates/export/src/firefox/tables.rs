//! The tables of one thread: strings, functions, frames and stacks, each row made once.

use std::collections::BTreeMap;

use holdup_model::{Frame, ObjectId, SiteId, State};
use serde::Serialize;

use super::{Libraries, category};
use crate::names::BROKEN;
use crate::subject::Subject;
use crate::text;

/// The profiler's code for a library in its table of resources.
const LIBRARY: u32 = 1;

/// Where there is no address, resource or library.
const NONE: i64 = -1;

/// Strings by index.
#[derive(Default)]
pub(super) struct Strings {
    known: BTreeMap<String, usize>,
    pub(super) list: Vec<String>,
}

impl Strings {
    /// The index of a string that is safe to show.
    pub(super) fn index(&mut self, text: &str) -> usize {
        if let Some(&index) = self.known.get(text) {
            return index;
        }
        self.known.insert(text.to_owned(), self.list.len());
        self.list.push(text.to_owned());
        self.list.len() - 1
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceTable {
    length: usize,
    lib: Vec<usize>,
    name: Vec<usize>,
    host: Vec<Option<usize>>,
    r#type: Vec<u32>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    length: usize,
    name: Vec<usize>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i64>,
    file_name: Vec<Option<usize>>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    length: usize,
    address: Vec<i64>,
    inline_depth: Vec<u32>,
    category: Vec<usize>,
    subcategory: Vec<usize>,
    func: Vec<usize>,
    native_symbol: Vec<Option<usize>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<u32>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
pub(super) struct StackTable {
    length: usize,
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeSymbols {
    length: usize,
    lib_index: Vec<usize>,
    address: Vec<u64>,
    name: Vec<usize>,
    function_size: Vec<Option<u64>>,
}

/// What makes a row of [`FuncTable`].
type Function = (usize, i64, Option<usize>);

/// What makes a row of [`FrameTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FrameKey {
    function: usize,
    address: i64,
    inline_depth: u32,
    category: usize,
    line: Option<u32>,
}

/// What makes a sample's stack: where in the code, and what the thread did there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StackKey {
    pub(super) site: Option<SiteId>,
    pub(super) state: State,
    pub(super) object: Option<ObjectId>,
}

/// The tables while they are filled.
pub(super) struct Tables<'a> {
    subject: &'a Subject<'a>,
    libraries: &'a Libraries,
    pub(super) strings: Strings,
    pub(super) resources: ResourceTable,
    pub(super) functions: FuncTable,
    pub(super) frames: FrameTable,
    pub(super) stacks: StackTable,
    known_resources: BTreeMap<usize, usize>,
    known_functions: BTreeMap<Function, usize>,
    known_frames: BTreeMap<FrameKey, usize>,
    known_stacks: BTreeMap<(Option<usize>, usize), usize>,
    known_sites: BTreeMap<SiteId, Option<usize>>,
    known_samples: BTreeMap<StackKey, Option<usize>>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, libraries: &'a Libraries) -> Self {
        Self {
            subject,
            libraries,
            strings: Strings::default(),
            resources: ResourceTable::default(),
            functions: FuncTable::default(),
            frames: FrameTable::default(),
            stacks: StackTable::default(),
            known_resources: BTreeMap::new(),
            known_functions: BTreeMap::new(),
            known_frames: BTreeMap::new(),
            known_stacks: BTreeMap::new(),
            known_sites: BTreeMap::new(),
            known_samples: BTreeMap::new(),
        }
    }

    /// The stack of a sample, with a leaf that says what the thread did where it was not at work.
    pub(super) fn sample(&mut self, key: StackKey) -> Option<usize> {
        if let Some(&known) = self.known_samples.get(&key) {
            return known;
        }
        let mut stack = key.site.and_then(|site| self.site(site));
        if let Some(leaf) = self.subject.leaf(key.state, key.object, key.site.is_some()) {
            let frame = self.label(&leaf, category(key.state));
            stack = Some(self.stack(stack, frame));
        }
        self.known_samples.insert(key, stack);
        stack
    }

    /// The stack of a site; `None` if it has no frames.
    pub(super) fn site(&mut self, site: SiteId) -> Option<usize> {
        if let Some(&known) = self.known_sites.get(&site) {
            return known;
        }
        let mut stack = None;
        if self.subject.process.site(site).broken {
            let frame = self.label(BROKEN, category(State::Active));
            stack = Some(self.stack(stack, frame));
        }
        let mut inline_depth = 0;
        for frame in self.subject.frames(site) {
            inline_depth = if frame.inlined { inline_depth + 1 } else { 0 };
            let frame = self.frame(frame, inline_depth);
            stack = Some(self.stack(stack, frame));
        }
        self.known_sites.insert(site, stack);
        stack
    }

    fn stack(&mut self, prefix: Option<usize>, frame: usize) -> usize {
        let table = &mut self.stacks;
        *self.known_stacks.entry((prefix, frame)).or_insert_with(|| {
            table.prefix.push(prefix);
            table.frame.push(frame);
            table.length += 1;
            table.length - 1
        })
    }

    fn label(&mut self, text: &str, category: usize) -> usize {
        let name = self.strings.index(text);
        let function = self.function((name, NONE, None));
        self.frame_row(FrameKey { function, address: NONE, inline_depth: 0, category, line: None })
    }

    fn frame(&mut self, frame: &Frame, inline_depth: u32) -> usize {
        let name = self.strings.index(&crate::subject::function(frame));
        let resource = frame.module.as_deref().map_or(NONE, |module| self.resource(module));
        let file = frame.file.as_deref().map(|file| self.strings.index(&text::plain(file)));
        let function = self.function((name, resource, file));
        // The profiler keeps addresses in 32 bits, each relative to its library.
        let address = match (&frame.module, u32::try_from(frame.address)) {
            (Some(_), Ok(address)) => i64::from(address),
            _ => NONE,
        };
        let category = category(State::Active);
        self.frame_row(FrameKey { function, address, inline_depth, category, line: frame.line })
    }

    fn frame_row(&mut self, key: FrameKey) -> usize {
        let table = &mut self.frames;
        *self.known_frames.entry(key).or_insert_with(|| {
            table.address.push(key.address);
            table.inline_depth.push(key.inline_depth);
            table.category.push(key.category);
            table.subcategory.push(0);
            table.func.push(key.function);
            table.native_symbol.push(None);
            table.inner_window_id.push(0);
            table.line.push(key.line);
            table.column.push(None);
            table.length += 1;
            table.length - 1
        })
    }

    fn function(&mut self, key: Function) -> usize {
        let table = &mut self.functions;
        *self.known_functions.entry(key).or_insert_with(|| {
            let (name, resource, file) = key;
            table.name.push(name);
            table.is_js.push(false);
            table.relevant_for_js.push(false);
            table.resource.push(resource);
            table.file_name.push(file);
            table.line_number.push(None);
            table.column_number.push(None);
            table.length += 1;
            table.length - 1
        })
    }

    fn resource(&mut self, module: &str) -> i64 {
        let lib = self.libraries.index(module);
        let name = self.strings.index(&text::plain(module));
        let table = &mut self.resources;
        let index = *self.known_resources.entry(lib).or_insert_with(|| {
            table.lib.push(lib);
            table.name.push(name);
            table.host.push(None);
            table.r#type.push(LIBRARY);
            table.length += 1;
            table.length - 1
        });
        index as i64
    }
}
