//! Lines of the program's source, read while the files are at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

use holdup_model::{Arrange, Frame};
use holdup_recording::Recording;
use holdup_recording::facts::{NamedFrame, SourceExcerpt, SourceText};
use rustix::fs::OFlags;

/// Larger files are generated ones, or no source (bytes).
const LARGEST: u64 = 2 << 20;

/// What source files end with. A recording names the files that it wants to see, and may come from somebody else: what
/// is no source is not put into a page that may be passed on.
const ENDINGS: &[&str] = &[
    "ada", "adb", "ads", "asm", "c", "c++", "cc", "cpp", "cppm", "cs", "cu", "cuh", "cxx", "d", "f", "f03",
    "f08", "f90", "f95", "for", "go", "h", "h++", "hh", "hip", "hpp", "hs", "hxx", "inc", "inl", "ipp",
    "ixx", "java", "jl", "kt", "l", "m", "ml", "mm", "nim", "pas", "py", "pyx", "rs", "s", "scala", "swift",
    "tcc", "tpp", "v", "y", "zig",
];

/// So many lines before and behind a named one are stored: twice what a page shows around a line, so that it can show
/// lines that are near each other as one piece.
const AROUND: u32 = 6;

/// So much text of all files is stored at most (bytes): the source of a page is a screen or two, and a recording of a short
/// run should not be mostly source.
const MOST_TEXT: usize = 256 << 10;

/// Of a longer line only its beginning is stored, more than a page shows (characters).
const MOST_COLUMNS: usize = 300;

/// A source file as it is now.
#[derive(Clone, Debug)]
pub struct SourceLines {
    /// Its lines, without line breaks.
    pub lines: Vec<String>,
    /// When it was last changed, where that is known.
    pub changed: Option<SystemTime>,
}

/// Reads a source file; `None` if it is not there, or is no source. A name that is not absolute is looked for from the
/// current directory.
pub fn read_source(path: &Path) -> Option<SourceLines> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    // A pipe of that name must not make us wait.
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).ok()?;
    let facts = file.metadata().ok().filter(|facts| facts.is_file() && facts.len() <= LARGEST)?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    let lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    Some(SourceLines { lines, changed: facts.modified().ok() })
}

/// The lines around those that the names of a recording lead to.
pub(crate) fn of_names(recording: &Recording) -> SourceText {
    let mut files: Vec<(String, BTreeSet<u32>)> = named_lines(recording).into_iter().collect();
    // Where there is not room for all, the files with most of what was seen are the ones to have.
    files.arrange_by(|(a, of_a), (b, of_b)| of_b.len().cmp(&of_a.len()).then_with(|| a.cmp(b)));
    let mut room = MOST_TEXT;
    let mut text = SourceText::default();
    for (name, lines) in files {
        let Some(source) = read_source(Path::new(&name)) else { continue };
        let excerpts = excerpts(&source.lines, &lines);
        let length = excerpts.iter().flat_map(|excerpt| &excerpt.lines).map(String::len).sum();
        if let Some(left) = room.checked_sub(length) {
            room = left;
            text.files.insert(name, excerpts);
        }
    }
    text
}

/// Lines of the program's own code, by the names of their files.
fn named_lines(recording: &Recording) -> BTreeMap<String, BTreeSet<u32>> {
    let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut add = |file: Option<&str>, line: Option<u32>, function: Option<&str>, module: Option<&str>| {
        let (Some(file), Some(line)) = (file, line.filter(|line| *line > 0)) else { return };
        let [function, module, of_frame] = [function, module, Some(file)].map(|name| name.map(str::to_owned));
        if (Frame { function, module, file: of_frame, ..Frame::default() }).is_program() {
            found.entry(file.to_owned()).or_default().insert(line);
        }
    };
    let processes = recording.processes.iter().filter_map(|process| process.names.as_ref());
    let stacks = processes.flat_map(|names| names.stacks.values().chain(names.code.values()));
    let images = recording.image_names.values();
    let executed = images.flat_map(|names| names.executed.values().chain(names.callers.values()));
    let frames = stacks.map(|stack| &stack.frames).chain(executed);
    for NamedFrame { function, file, line, module, .. } in frames.flatten() {
        add(file.as_deref(), *line, function.as_deref(), module.as_deref());
    }
    if let Some(names) = &recording.block_names {
        let text = |index: Option<u32>| names.texts.get(index? as usize).map(String::as_str);
        for frame in &names.frames {
            add(text(frame.file), frame.line, text(frame.function), text(frame.module));
        }
    }
    found
}

fn excerpts(lines: &[String], named: &BTreeSet<u32>) -> Vec<SourceExcerpt> {
    let mut excerpts: Vec<SourceExcerpt> = Vec::new();
    let length = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    for line in named.iter().copied().filter(|line| *line <= length) {
        let until = line.saturating_add(AROUND).min(length);
        let mut from = line.saturating_sub(AROUND).max(1);
        let before = excerpts.last_mut().filter(|last| end(last) >= from);
        if let Some(last) = &before {
            from = end(last);
        }
        let more =
            (from..=until).map(|number| lines[number as usize - 1].chars().take(MOST_COLUMNS).collect());
        match before {
            Some(last) => last.lines.extend(more),
            None => excerpts.push(SourceExcerpt { first: from, lines: more.collect() }),
        }
    }
    excerpts
}

/// The number of the line behind the last one.
fn end(excerpt: &SourceExcerpt) -> u32 {
    excerpt.first + excerpt.lines.len() as u32
}

#[cfg(test)]
mod tests {
    use std::fs;

    use holdup_recording::RawProcess;
    use holdup_recording::facts::{NamedStack, Names};

    use super::*;

    #[test]
    fn only_source_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
        write("main.c", b"int main(void)\n{\n}\n");
        write("id_rsa", b"secret\n");
        write("shadow.txt", b"secret\n");
        write("image.c", b"\0\0");
        write("huge.c", &vec![b'x'; LARGEST as usize + 1]);
        fs::create_dir(folder.path().join("folder.c")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe.c"), 0o600.into()).unwrap();
        let read = |name: &str| read_source(&folder.path().join(name));
        assert_eq!(read("main.c").unwrap().lines, ["int main(void)", "{", "}"]);
        for other in ["id_rsa", "shadow.txt", "image.c", "huge.c", "folder.c", "pipe.c", "absent.c"] {
            assert!(read(other).is_none(), "{other}");
        }
    }

    fn text(count: u32) -> Vec<String> {
        (1..=count).map(|number| format!("line {number}")).collect()
    }

    fn spans(lines: u32, named: &[u32]) -> Vec<(u32, u32)> {
        let found = excerpts(&text(lines), &named.iter().copied().collect());
        for excerpt in &found {
            let numbers = (excerpt.first..).zip(&excerpt.lines);
            numbers.for_each(|(number, line)| assert_eq!(*line, format!("line {number}")));
        }
        found.iter().map(|excerpt| (excerpt.first, end(excerpt) - 1)).collect()
    }

    #[test]
    fn lines_around_named_ones_are_kept_each_once() {
        assert_eq!(spans(100, &[50]), [(44, 56)]);
        assert_eq!(spans(100, &[50, 52, 63, 80]), [(44, 69), (74, 86)]);
        assert_eq!(spans(100, &[2, 99]), [(1, 8), (93, 100)]);
        assert_eq!(spans(10, &[11, 4_000_000_000]), []);
        assert_eq!(excerpts(&["x".repeat(1000)], &BTreeSet::from([1]))[0].lines[0].len(), MOST_COLUMNS);
    }

    fn recording(frames: Vec<NamedFrame>) -> Recording {
        let stack = NamedStack { frames, broken: false };
        let names = Names { stacks: BTreeMap::from([(1, stack)]), ..Names::default() };
        let mut process = RawProcess::default();
        process.names = Some(names);
        let mut recording = Recording::default();
        recording.processes.push(process);
        recording
    }

    #[test]
    fn the_program_is_stored_and_not_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let frame = |file: &str, module: &str| {
            let path = folder.path().join(file);
            fs::write(&path, text(20).join("\n")).unwrap();
            NamedFrame {
                file: Some(path.to_str().unwrap().to_owned()),
                line: Some(9),
                module: Some(module.to_owned()),
                ..NamedFrame::default()
            }
        };
        let found = of_names(&recording(vec![frame("malloc.c", "libc.so.6"), frame("main.c", "app")]));
        assert_eq!(found.files.len(), 1, "{found:?}");
        let (name, excerpts) = found.files.iter().next().unwrap();
        assert!(name.ends_with("/main.c"));
        assert_eq!((excerpts[0].first, excerpts[0].lines.len()), (3, 13));
    }

    #[test]
    fn text_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let line = "x".repeat(MOST_COLUMNS);
        let files = ["a.c", "b.c"].map(|name| {
            let path = folder.path().join(name);
            fs::write(&path, vec![line.as_str(); 2000].join("\n")).unwrap();
            path.to_str().unwrap().to_owned()
        });
        // Of the second file more is named than there is room for beside the first.
        let frame = |file: &String, line| NamedFrame {
            file: Some(file.clone()),
            line: Some(line),
            module: Some("app".to_owned()),
            ..NamedFrame::default()
        };
        let most = MOST_TEXT / MOST_COLUMNS;
        let all = (1..most as u32 - 20).step_by(10);
        let mut frames: Vec<NamedFrame> = all.map(|line| frame(&files[1], line)).collect();
        frames.extend([1, 30].map(|line| frame(&files[0], line)));
        let found = of_names(&recording(frames));
        assert_eq!(found.files.keys().collect::<Vec<_>>(), [&files[1]]);
    }
}
