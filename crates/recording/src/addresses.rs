//! What names are found for: addresses, the modules that they are in, and copies of stacks.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::CACHE_LINE;
use holdup_trace::kernel::{self, SampleCode};
use holdup_trace::openmp::{self, Event};
use holdup_trace::wire::{self, Record};

/// A copied stack.
#[derive(Clone, Debug)]
pub struct RawStack {
    /// What records call it.
    pub id: u64,
    /// The instruction pointer.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub bp: u64,
    /// The bytes from `sp` upwards.
    pub bytes: Vec<u8>,
}

/// What the kernel collector saw of the code of one process image.
#[derive(Clone, Debug, Default)]
pub struct RawImage {
    /// Its number.
    pub number: u32,
    /// Its process.
    pub pid: u32,
    /// Files with code in the order in which they were mapped.
    pub mappings: Vec<RawMapping>,
    /// Addresses that were executed, with how often a thread was found there on a core.
    pub executed: BTreeMap<u64, u64>,
    /// Return addresses.
    pub callers: BTreeSet<u64>,
    /// More than one thread of its process was found on a core.
    pub has_threads: bool,
    /// Addresses of data in cache lines that more than one of its process's threads was found to access.
    pub shared: BTreeSet<u64>,
}

/// A file with code that was mapped.
#[derive(Clone, Debug)]
pub struct RawMapping {
    /// When (ns of CLOCK_MONOTONIC).
    pub time: u64,
    /// Its first address.
    pub start: u64,
    /// The end of its last page.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The path, as the kernel knew it.
    pub path: Vec<u8>,
}

/// A module that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawModule {
    /// Its path, as the program's loader knew it.
    pub path: Vec<u8>,
    /// Its build id; may be empty.
    pub build_id: Vec<u8>,
    /// What to add to addresses in its file.
    pub bias: u64,
    /// Its first mapped address.
    pub start: u64,
    /// The end of its last mapped page.
    pub end: u64,
}

impl RawStack {
    pub(crate) fn of(record: &Record<'_>) -> Option<RawStack> {
        let Record::Stack { id, ip, sp, bp, words } = *record else { return None };
        Some(RawStack { id, ip, sp, bp, bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect() })
    }
}

/// What a process's names are found for, less its stacks.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// The modules that were mapped at some time.
    pub modules: Vec<RawModule>,
    /// Addresses of code that records name by themselves: start functions (false) and return addresses (true).
    pub code: BTreeSet<(u64, bool)>,
    /// Addresses of the sync objects that were used.
    pub objects: BTreeSet<u64>,
}

impl Addresses {
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        match *record {
            Record::Module { bias, start, end, text, build_id_len } => {
                let mut build_id: Vec<u8> = text.bytes().collect();
                let path = build_id.split_off(usize::from(build_id_len).min(build_id.len()));
                let module = RawModule { path, build_id, bias, start, end };
                if !self.modules.contains(&module) {
                    self.modules.push(module);
                }
            }
            Record::ThreadStart { entry, .. } => self.add_code((entry, false)),
            Record::Hold { object, acquired_at, .. } => {
                self.add_code((acquired_at, true));
                self.add_object(object);
            }
            Record::ObjectInit { caller, .. } => self.add_code((caller, true)),
            Record::OpenMp(event) => code_of(&event).into_iter().for_each(|code| self.add_code(code)),
            Record::Wait(wait) if wait.kind != wire::ObjectCode::ThreadEnd => {
                self.add_object(wait.object);
                self.add_object(wait.mutex);
            }
            Record::Wake { object, .. } | Record::Use { object, .. } => self.add_object(object),
            _ => {}
        }
    }

    fn add_code(&mut self, code: (u64, bool)) {
        if code.0 != 0 {
            self.code.insert(code);
        }
    }

    fn add_object(&mut self, object: u64) {
        if object != 0 {
            self.objects.insert(object);
        }
    }
}

/// What the kernel collector saw of code, by image.
#[derive(Debug, Default)]
pub(crate) struct Images {
    images: BTreeMap<u32, RawImage>,
    /// By process and stack: how often a thread was found with it on a core.
    found: BTreeMap<(u32, u32), u64>,
    /// By process: its threads that were.
    threads: BTreeMap<u32, BTreeSet<u32>>,
    /// By image and stack: what was executed.
    innermost: BTreeMap<(u32, u32), u64>,
    /// By process and cache line.
    lines: BTreeMap<(u32, u64), Line>,
}

/// So many cache lines are followed, the first ones: names of others are not looked for.
const MOST_LINES: usize = 1 << 18;

/// What was accessed of a cache line.
#[derive(Debug, Default)]
struct Line {
    /// The first thread that was found to.
    tid: u32,
    /// Others were, too.
    is_shared: bool,
    addresses: BTreeSet<u64>,
}

impl Images {
    fn of(&mut self, number: u32) -> &mut RawImage {
        self.images.entry(number).or_insert_with(|| RawImage { number, ..RawImage::default() })
    }

    pub(crate) fn add(&mut self, words: &[u64]) {
        for record in kernel::records(words) {
            match record {
                kernel::Record::Start { pid, image, .. } | kernel::Record::Exec { pid, image, .. } => {
                    self.of(image).pid = pid;
                }
                kernel::Record::Mapping { time, image, start, end, offset, text } => {
                    let path = text.bytes().collect();
                    self.of(image).mappings.push(RawMapping { time, start, end, offset, path });
                }
                kernel::Record::Stack { id, image, addresses, .. } => {
                    if let Some((executed, callers)) = addresses.split_first() {
                        self.innermost.insert((image, id), *executed);
                        let image = self.of(image);
                        image.executed.entry(*executed).or_default();
                        image.callers.extend(callers);
                    }
                }
                kernel::Record::Sample { pid, tid, kind: SampleCode::Running, stack, running, .. } => {
                    self.threads.entry(pid).or_default().insert(tid);
                    *self.found.entry((pid, stack)).or_default() += 1;
                    if let Some(access) = running.access {
                        self.touch((pid, access.address / CACHE_LINE), tid, access.address);
                    }
                }
                _ => {}
            }
        }
    }

    fn touch(&mut self, line: (u32, u64), tid: u32, address: u64) {
        if self.lines.len() >= MOST_LINES && !self.lines.contains_key(&line) {
            return;
        }
        let line = self.lines.entry(line).or_insert_with(|| Line { tid, ..Line::default() });
        line.is_shared |= line.tid != tid;
        line.addresses.insert(address);
    }

    /// The images, what they mapped in the order of time.
    pub(crate) fn in_order(self) -> Vec<RawImage> {
        let Self { mut images, found, threads, innermost, lines } = self;
        for ((image, stack), executed) in innermost {
            let Some(image) = images.get_mut(&image) else { continue };
            let times = found.get(&(image.pid, stack)).copied().unwrap_or(0);
            *image.executed.entry(executed).or_default() += times;
        }
        let mut shared: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for ((pid, _), line) in lines.into_iter().filter(|(_, line)| line.is_shared) {
            shared.entry(pid).or_default().extend(line.addresses);
        }
        let mut images: Vec<RawImage> = images.into_values().collect();
        for image in &mut images {
            // Of a process that executed several programs it is not known which one's they are: they have names in one of them.
            image.shared = shared.get(&image.pid).cloned().unwrap_or_default();
            image.mappings.sort_by_key(|mapping| mapping.time);
            image.has_threads = threads.get(&image.pid).is_some_and(|threads| threads.len() > 1);
        }
        images
    }
}

/// The addresses of code that an event of OpenMP names: start addresses (false) and return addresses (true).
fn code_of(event: &Event) -> [(u64, bool); 2] {
    match *event {
        Event::Region(openmp::Region { function, caller, .. })
        | Event::TaskCreate(openmp::TaskCreate { function, caller, .. })
        | Event::Acquire(openmp::Acquire { function, caller, .. }) => [(function, false), (caller, true)],
        Event::Work(openmp::Work { caller, .. }) | Event::Sync(openmp::Sync { caller, .. }) => {
            [(caller, true), (0, false)]
        }
        Event::Runtime(openmp::Runtime { address, .. }) => [(address, false), (0, false)],
        Event::Share(_) | Event::Chunk(_) | Event::TaskRun(_) | Event::Depend(_) => [(0, false), (0, false)],
    }
}

#[cfg(test)]
mod tests {
    use holdup_trace::kernel::{Access, AccessCode};

    use super::*;

    #[test]
    fn lines_that_several_threads_access_are_shared() {
        let mut words = Vec::new();
        kernel::exec(&mut words, 1, 7, 1, b"app");
        for (tid, address) in [(7, 0x1000), (8, 0x1008), (7, 0x2000), (7, 0x2008), (8, 0x3000)] {
            let access = Access { address, bytes: 8, code: AccessCode::Write };
            kernel::running(
                &mut words,
                2,
                (7, tid),
                5,
                0,
                kernel::Running { access: Some(access), in_kernel: None },
            );
        }
        // Of another process, whose addresses are other memory.
        let access = Access { address: 0x3000, bytes: 8, code: AccessCode::Write };
        kernel::running(
            &mut words,
            2,
            (9, 9),
            5,
            0,
            kernel::Running { access: Some(access), in_kernel: None },
        );
        let mut images = Images::default();
        images.add(&words);
        let images = images.in_order();
        assert_eq!(images.len(), 1);
        assert_eq!(images[0].shared, BTreeSet::from([0x1000, 0x1008]));
    }
}
