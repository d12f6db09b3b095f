//! Names of code that a program made at run time, as its runtime wrote them down for profilers.
//!
//! Two formats are in use. A *perf map* is text, a line for each function: start and size, hexadecimal, and the name
//! (linux `tools/perf/Documentation/jit-interface.txt`). A *jitdump* is binary, has lines too, and says when code
//! moves (`tools/perf/Documentation/jitdump-specification.txt`). Both are written while the program runs, so their ends
//! may be cut off, and memory is used again: of two functions at an address the later one is right, for the time since.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::demangle::{MAX_NAME_BYTES, shortened};
use crate::error::Warning;

/// Bytes of a file that are read.
const MAX_FILE: u64 = 512 << 20;

/// Functions that are kept.
const MAX_FUNCTIONS: usize = 1 << 20;

/// Lines that are kept, of all functions.
const MAX_LINES: usize = 1 << 23;

/// Opening a pipe that somebody put in the place of the file must not wait (`O_NONBLOCK` on x86-64 Linux).
const WITHOUT_WAITING: i32 = 0o4000;

/// `JiTD` in the byte order of the machine that wrote it; the only ones that are read are those of x86-64.
const MAGIC: u32 = 0x4a69_5444;

/// Bytes of a jitdump's header up to the version's last field, and of a record's header.
const HEADER: usize = 40;
const RECORD_HEADER: usize = 16;

/// What a debug entry has for a name that is the same as the one before.
const SAME_NAME: &[u8] = &[0xff];

/// The functions that a process made at run time, by address.
#[derive(Debug, Clone, Default)]
pub struct JitCode {
    functions: BTreeMap<u64, Function>,
    /// How many there are, in functions and still waiting for theirs.
    lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    /// Address after its last instruction.
    end: u64,
    name: String,
    /// By address, from which on they hold.
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    address: u64,
    file: Arc<str>,
    line: u32,
}

/// What is known of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JitPlace<'a> {
    pub(crate) function: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
}

impl JitCode {
    /// Adds the functions of a perf map: `/tmp/perf-PID.map` in the file system that the process sees.
    ///
    /// A file that is not there is not there: most processes make no code.
    pub fn read_perf_map(&mut self, path: &Path) -> Result<(), Warning> {
        if let Some(bytes) = contents(path)? {
            self.add_perf_map(&bytes);
        }
        Ok(())
    }

    /// Adds the functions of a jitdump: `jit-PID.dump`, which the process has mapped, by that name.
    pub fn read_jitdump(&mut self, path: &Path) -> Result<(), Warning> {
        match contents(path)? {
            Some(bytes) => self
                .add_jitdump(&bytes)
                .map_err(|reason| Warning::Jit { path: path.to_owned(), reason: reason.to_owned() }),
            None => Ok(()),
        }
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub(crate) fn at(&self, address: u64) -> Option<JitPlace<'_>> {
        let (_, function) = self.functions.range(..=address).next_back()?;
        if address >= function.end {
            return None;
        }
        let after = function.lines.partition_point(|line| line.address <= address);
        let line = after.checked_sub(1).map(|index| &function.lines[index]);
        Some(JitPlace {
            function: &function.name,
            file: line.map(|line| &*line.file),
            line: line.map(|line| line.line).filter(|line| *line > 0),
        })
    }

    fn add_perf_map(&mut self, bytes: &[u8]) {
        // What is behind the last line break is being written.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            let mut fields = line.splitn(3, |byte| *byte == b' ');
            let (Some(start), Some(size)) =
                (fields.next().and_then(hexadecimal), fields.next().and_then(hexadecimal))
            else {
                continue;
            };
            self.insert(start, size, name(fields.next().unwrap_or_default()), Vec::new());
        }
    }

    fn add_jitdump(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut header = Fields(bytes);
        if header.half() != Some(MAGIC) {
            return Err("it does not begin as a jitdump of this kind of machine does");
        }
        let _version = header.half();
        let size = header.half().map_or(0, |size| size as usize).max(HEADER);
        let mut rest = bytes.get(size..).unwrap_or_default();
        let mut debug = BTreeMap::new();
        // A record that is not whole is being written.
        while let Some(mut record) = rest.get(..RECORD_HEADER).map(Fields) {
            let (Some(kind), Some(size)) = (record.half(), record.half()) else { break };
            let Some(body) = rest.get(RECORD_HEADER..size as usize) else { break };
            match kind {
                0 => self.load(Fields(body), &mut debug),
                1 => self.relocate(Fields(body)),
                2 => self.debug(Fields(body), &mut debug),
                3 => break,
                _ => Some(()),
            };
            rest = &rest[size as usize..];
        }
        self.lines -= debug.values().map(Vec::len).sum::<usize>();
        Ok(())
    }

    /// JIT_CODE_LOAD: process, thread, vma, address, size, index, name. Its debug record came before.
    fn load(&mut self, mut fields: Fields<'_>, debug: &mut BTreeMap<u64, Vec<Line>>) -> Option<()> {
        fields.skip(16)?;
        let (start, size, _index) = (fields.word()?, fields.word()?, fields.word()?);
        let name = name(fields.text()?);
        let lines = debug.remove(&start).unwrap_or_default();
        self.lines -= lines.len();
        self.insert(start, size, name, lines);
        Some(())
    }

    /// JIT_CODE_MOVE: process, thread, vma, old address, new address, size, index.
    fn relocate(&mut self, mut fields: Fields<'_>) -> Option<()> {
        fields.skip(16)?;
        let (from, to, size) = (fields.word()?, fields.word()?, fields.word()?);
        let mut function = self.functions.remove(&from)?;
        self.lines -= function.lines.len();
        for line in &mut function.lines {
            line.address = line.address.wrapping_sub(from).wrapping_add(to);
        }
        self.insert(to, size, function.name, function.lines);
        Some(())
    }

    /// JIT_CODE_DEBUG_INFO: address of the code, number of entries, and in each address, line, discriminator, file.
    fn debug(&mut self, mut fields: Fields<'_>, debug: &mut BTreeMap<u64, Vec<Line>>) -> Option<()> {
        let (start, count) = (fields.word()?, fields.word()?);
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..count {
            let (Some(address), Some(line), Some(_)) = (fields.word(), fields.half(), fields.half()) else {
                break;
            };
            let Some(text) = fields.text() else { break };
            if self.lines + lines.len() >= MAX_LINES {
                break;
            }
            let same = lines.last().filter(|last| text == SAME_NAME || text == last.file.as_bytes());
            let file = same.map_or_else(|| Arc::from(name(text)), |last| last.file.clone());
            lines.push(Line { address, file, line });
        }
        lines.sort_by_key(|line| line.address);
        if debug.len() < MAX_FUNCTIONS {
            self.lines += lines.len();
            self.lines -= debug.insert(start, lines).map_or(0, |replaced| replaced.len());
        }
        Some(())
    }

    /// Enters a function in the place of those that were in its memory before.
    fn insert(&mut self, start: u64, size: u64, name: String, lines: Vec<Line>) {
        let Some(end) = start.checked_add(size).filter(|_| size > 0) else { return };
        let below = self.functions.range(..start).next_back().filter(|(_, below)| below.end > start);
        let first = below.map_or(start, |(first, _)| *first);
        let replaced: Vec<u64> = self.functions.range(first..end).map(|(start, _)| *start).collect();
        for start in replaced {
            self.lines -= self.functions.remove(&start).map_or(0, |function| function.lines.len());
        }
        if self.functions.len() < MAX_FUNCTIONS {
            self.lines += lines.len();
            self.functions.insert(start, Function { end, name, lines });
        }
    }
}

/// All of a regular file, up to the limit; nothing if there is none.
fn contents(path: &Path) -> Result<Option<Vec<u8>>, Warning> {
    let read = || {
        let file = OpenOptions::new().read(true).custom_flags(WITHOUT_WAITING).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Warning::Jit { path: path.to_owned(), reason: error.to_string() }),
    }
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

fn name(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..MAX_NAME_BYTES).unwrap_or(bytes));
    shortened(text.trim()).to_owned()
}

/// The little-endian fields of a record that are not read yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn half(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn skip(&mut self, size: usize) -> Option<()> {
        self.0 = self.0.get(size..)?;
        Some(())
    }

    /// Text up to a zero byte, which must be there.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(code: &JitCode, address: u64) -> Option<&str> {
        code.at(address).map(|place| place.function)
    }

    #[test]
    fn perf_maps_name_code() {
        let mut code = JitCode::default();
        code.add_perf_map(
            b"7f00 40 py::work:/srv/app.py\n0x8000 0x10 LazyCompile:*f app.js:3\nrubbish\n9000 0 none\n\
              ffffffffffffffff 8 beyond\n7f30 8 py::later\na000 10 cut off",
        );
        assert_eq!(named(&code, 0x7eff), None);
        assert_eq!(named(&code, 0x8000), Some("LazyCompile:*f app.js:3"));
        assert_eq!(named(&code, 0x8010), None);
        // The later one took memory of the first: that is gone, wherever it was.
        assert_eq!((named(&code, 0x7f31), named(&code, 0x7f00)), (Some("py::later"), None));
        assert_eq!(code.len(), 2);
    }

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((body.len() as u32 + 16).to_le_bytes());
        bytes.extend(77_u64.to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn load(start: u64, size: u64, name: &str) -> Vec<u8> {
        let mut body = words(&[1, start, start, size, 0]);
        body.extend(name.as_bytes());
        body.push(0);
        body.extend([0x90, 0xc3]);
        record(0, &body)
    }

    /// Two functions, the first with lines, which is moved at last.
    fn dump() -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(40_u32.to_le_bytes());
        bytes.resize(HEADER, 0);
        let mut debug = words(&[0x1000, 3]);
        for (address, line, file) in
            [(0x1000_u64, 7_u32, &b"app.js"[..]), (0x1008, 9, SAME_NAME), (0x1010, 2, b"lib.js")]
        {
            debug.extend(address.to_le_bytes());
            debug.extend(line.to_le_bytes());
            debug.extend(0_u32.to_le_bytes());
            debug.extend(file);
            debug.push(0);
        }
        bytes.extend(record(2, &debug));
        bytes.extend(load(0x1000, 0x20, "first"));
        bytes.extend(record(9, &[1, 2, 3]));
        bytes.extend(load(0x2000, 0x20, "second"));
        bytes.extend(record(1, &words(&[1, 0x3000, 0x1000, 0x3000, 0x20, 0])));
        bytes
    }

    #[test]
    fn jitdumps_have_lines_and_moves() {
        let mut code = JitCode::default();
        code.add_jitdump(&dump()).unwrap();
        assert_eq!((named(&code, 0x1000), named(&code, 0x201f)), (None, Some("second")));
        let place = |function, file, line| Some(JitPlace { function, file: Some(file), line: Some(line) });
        assert_eq!(code.at(0x3007), place("first", "app.js", 7));
        assert_eq!(code.at(0x300f), place("first", "app.js", 9));
        assert_eq!(code.at(0x3010), place("first", "lib.js", 2));
        assert_eq!(code.at(0x2000), Some(JitPlace { function: "second", file: None, line: None }));
        // What follows the end of the dump is not read.
        let mut closed = dump();
        closed.extend(record(3, &[]));
        closed.extend(load(0x9000, 1, "after"));
        let mut code = JitCode::default();
        code.add_jitdump(&closed).unwrap();
        assert_eq!((code.len(), named(&code, 0x9000)), (2, None));
    }

    #[test]
    fn a_dump_that_is_cut_off_gives_what_came_before() {
        let whole = dump();
        let mut seen = std::collections::BTreeSet::new();
        for size in 0..whole.len() {
            let mut code = JitCode::default();
            let outcome = code.add_jitdump(&whole[..size]);
            assert_eq!(outcome.is_err(), size < 4, "{size} bytes");
            assert!(named(&code, 0x1000).is_none_or(|name| name == "first"));
            seen.insert(code.len());
        }
        assert_eq!(Vec::from_iter(seen), [0, 1, 2]);
        assert!(JitCode::default().add_jitdump(b"JiTD and more text").is_err());
    }

    #[test]
    fn only_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let mut code = JitCode::default();
        assert_eq!(code.read_perf_map(&directory.path().join("none.map")), Ok(()));
        assert!(matches!(code.read_perf_map(directory.path()), Err(Warning::Jit { .. })));
        let path = directory.path().join("perf-1.map");
        std::fs::write(&path, "10 8 f\n").unwrap();
        assert_eq!(code.read_perf_map(&path), Ok(()));
        assert_eq!(named(&code, 0x17), Some("f"));
        assert!(matches!(code.read_jitdump(&path), Err(Warning::Jit { .. })));
    }

    proptest! {
        #[test]
        fn damage_is_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            text in "([0-9a-f]{1,17} [0-9a-f]{1,17} .{0,12}\n?){0,6}",
        ) {
            let mut bytes = dump();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let mut code = JitCode::default();
            let _ = code.add_jitdump(&bytes);
            code.add_perf_map(text.as_bytes());
            code.add_perf_map(&bytes);
            let mut last = 0;
            for (start, function) in &code.functions {
                prop_assert!(last <= *start && *start < function.end);
                last = function.end;
            }
            prop_assert_eq!(code.lines, code.functions.values().map(|function| function.lines.len()).sum::<usize>());
        }
    }
}
