//! Damaged files, rubbish on the stack, impossible module lists: answers may be poor, but they come.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::build::*;
use holdup_symbols::{Files, MAX_FRAMES, MAX_NAME_BYTES, Mapping, Module, Options, StackCopy, Symbolizer};
use object::{Object, ObjectSection};
use proptest::prelude::*;
use proptest::sample::Index;

/// A program, what it wrote, its file's bytes, and where the parts stand that are parsed.
struct Victim {
    bytes: Vec<u8>,
    parts: Vec<Range<usize>>,
    output: Output,
}

/// Programs that between them use all that is parsed.
fn victims() -> &'static (tempfile::TempDir, Vec<Victim>) {
    static VICTIMS: OnceLock<(tempfile::TempDir, Vec<Victim>)> = OnceLock::new();
    VICTIMS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let ways = [
            ("cc", "chain.c", &["-O2", "-g"][..]),
            ("cc", "chain.c", &["-O2", "-g", "-gdwarf-4", "-gz=zlib"]),
            ("cc", "chain.c", &["-O2", "-g", "-fno-asynchronous-unwind-tables"]),
            ("cc", "chain.c", &["-O2", "-g", "-gsplit-dwarf"]),
            ("c++", "chain.cpp", &["-O2", "-g", "-std=c++17"]),
        ];
        let mut victims = Vec::new();
        for (number, (compiler, source, flags)) in ways.into_iter().enumerate() {
            let program = compile(compiler, source, flags, directory.path(), &format!("victim{number}"));
            victims.push(victim(&program, if source == "chain.c" { &["data"] } else { &[] }));
        }
        let packed = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "packed");
        run("objcopy", &["--strip-debug", "packed", "mini"], directory.path());
        run("xz", &["mini"], directory.path());
        run(
            "objcopy",
            &["--add-section", ".gnu_debugdata=mini.xz", "--strip-all", "packed"],
            directory.path(),
        );
        victims.push(victim(&packed, &["data"]));
        (directory, victims)
    })
}

fn victim(program: &Path, arguments: &[&str]) -> Victim {
    let bytes = std::fs::read(program).unwrap();
    Victim { parts: parts_of(&bytes), bytes, output: output_of(program, arguments) }
}

/// The sections of an ELF file that hold tables, the file's header, and its section headers.
fn parts_of(bytes: &[u8]) -> Vec<Range<usize>> {
    let file = object::File::parse(bytes).unwrap();
    let tables = ["eh_frame", "debug", "sym", "str", "note"];
    let mut parts = Vec::new();
    parts.push(0..64);
    for section in file.sections() {
        let name = section.name().unwrap();
        if let Some((offset, size)) = section.file_range()
            && size > 0
            && tables.iter().any(|table| name.contains(table))
        {
            parts.push(offset as usize..(offset + size) as usize);
        }
    }
    let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    parts.push(headers..bytes.len());
    parts
}

/// Calls everything, and looks at what comes back.
fn ask_everything(modules: Vec<Module>, capture: &Capture, addresses: &[u64], options: Options) {
    let (mut symbolizer, _) = Symbolizer::new(modules, options);
    let unwound = symbolizer.unwind(&capture.copy());
    assert!(!unwound.addresses.is_empty() && unwound.addresses.len() <= MAX_FRAMES);
    for address in unwound.addresses.iter().chain(addresses) {
        for is_return_address in [false, true] {
            let frames = symbolizer.frames(*address, is_return_address);
            assert!(!frames.is_empty());
            for frame in frames {
                let longest = [&frame.function, &frame.file].map(|name| name.as_ref().map_or(0, String::len));
                assert!(longest.iter().all(|length| *length <= MAX_NAME_BYTES), "{frame:?}");
            }
        }
        if let Some(symbol) = symbolizer.data_symbol(*address) {
            assert!(symbol.name.len() <= MAX_NAME_BYTES && symbol.part.len() <= MAX_NAME_BYTES);
        }
    }
    symbolizer.missing_names();
}

/// One change to a file. Each part is hit equally often, however small it is.
#[derive(Debug, Clone)]
enum Damage {
    Flip { part: Index, at: Index, bit: u8 },
    Overwrite { part: Index, at: Index, bytes: Vec<u8> },
    Cut { at: Index },
}

fn damage() -> impl Strategy<Value = Damage> {
    let extreme = prop_oneof![
        Just(vec![0xff; 8]),
        Just(vec![0x80; 4]),
        Just(vec![0; 8]),
        Just(vec![0x7f; 4]),
        prop::collection::vec(any::<u8>(), 1..16),
    ];
    let place = || (any::<Index>(), any::<Index>());
    prop_oneof![
        24 => (place(), 0..8_u8).prop_map(|((part, at), bit)| Damage::Flip { part, at, bit }),
        12 => (place(), extreme).prop_map(|((part, at), bytes)| Damage::Overwrite { part, at, bytes }),
        1 => any::<Index>().prop_map(|at| Damage::Cut { at }),
    ]
}

fn apply(bytes: &mut Vec<u8>, parts: &[Range<usize>], damage: &[Damage]) {
    let place = |part: &Index, at: &Index| {
        let part = &parts[part.index(parts.len())];
        part.start + at.index(part.len())
    };
    for change in damage {
        match change {
            Damage::Flip { part, at, bit } => {
                if let Some(byte) = bytes.get_mut(place(part, at)) {
                    *byte ^= 1 << bit;
                }
            }
            Damage::Overwrite { part, at, bytes: new } => {
                bytes.iter_mut().skip(place(part, at)).zip(new).for_each(|(old, new)| *old = *new);
            }
            Damage::Cut { at } => bytes.truncate(at.index(bytes.len().max(1))),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_survived(
        which in any::<Index>(),
        changes in prop::collection::vec(damage(), 1..24),
        offsets in prop::collection::vec(0..0x8000_u64, 0..16),
    ) {
        let (directory, victims) = victims();
        let victim = &victims[which.index(victims.len())];
        let mut bytes = victim.bytes.clone();
        apply(&mut bytes, &victim.parts, &changes);
        // In the same directory, where its split DWARF files are.
        let file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let capture = &victim.output.captures[0];
        let mut modules = capture.modules.clone();
        modules[0].path = file.path().to_owned();
        modules[0].build_id = None;
        let mut addresses = victim.output.addresses.clone();
        addresses.extend(offsets.iter().map(|offset| modules[0].start + offset));
        ask_everything(modules, capture, &addresses, options_in(directory.path()));
    }

    #[test]
    fn damaged_split_dwarf_is_survived(
        changes in prop::collection::vec(damage(), 1..16),
        offsets in prop::collection::vec(0..0x8000_u64, 0..8),
    ) {
        let (directory, victims) = victims();
        let victim = &victims[3];
        let original = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let original = original.into_iter().find(|path| {
            path.extension().is_some_and(|extension| extension == "dwo")
                && path.to_string_lossy().contains("victim3")
        });
        let mut bytes = std::fs::read(original.clone().unwrap()).unwrap();
        let parts = parts_of(&bytes);
        apply(&mut bytes, &parts, &changes);
        // The program is looked at from another directory, and finds the damaged file beside itself first only if the
        // one where it was compiled is gone: so it is the compiled-in name that is made to miss.
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        let moved = replaced(&victim.bytes, directory.path(), place.path());
        std::fs::write(&program, moved).unwrap();
        std::fs::write(place.path().join(original.unwrap().file_name().unwrap()), &bytes).unwrap();
        let capture = &victim.output.captures[0];
        let mut modules = capture.modules.clone();
        modules[0].path = program;
        modules[0].build_id = None;
        let addresses: Vec<_> = offsets.iter().map(|offset| modules[0].start + offset).collect();
        ask_everything(modules, capture, &addresses, options_in(place.path()));
    }

    #[test]
    fn rubbish_on_the_stack_ends_the_walk(
        words in prop::collection::vec(word(), 0..2048),
        registers in (word(), word(), prop::option::of(word())),
        ragged in 0..8_usize,
    ) {
        let (directory, victims) = victims();
        let capture = &victims[0].output.captures[0];
        let value = |word: &Word, sp: u64| match word {
            Word::Any(value) => *value,
            Word::Code(module, offset) => {
                let module = &capture.modules[module.index(capture.modules.len())];
                module.start + offset % (module.end - module.start)
            }
            Word::Stack(offset) => sp.wrapping_add(*offset),
        };
        let (ip, sp, bp) = registers;
        let sp = value(&sp, 0x7fff_0000_0000);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| value(word, sp).to_le_bytes()).collect();
        bytes.truncate(bytes.len().saturating_sub(ragged));
        let copy = StackCopy { ip: value(&ip, sp), sp, bp: bp.map(|bp| value(&bp, sp)), bytes: &bytes };
        let mut symbolizer = symbolizer(capture, options_in(directory.path()));
        let unwound = symbolizer.unwind(&copy);
        prop_assert_eq!(unwound.addresses[0], copy.ip);
        prop_assert!(unwound.addresses.len() <= MAX_FRAMES);
        // The last one that is reported is in some module: nothing else is sure. Those between may be code made at run
        // time, for all that can be known.
        if let Some(address) = unwound.addresses[1..].last() {
            let inside = |module: &Module| (module.start..=module.end).contains(address);
            prop_assert!(capture.modules.iter().any(inside), "{unwound:x?}");
        }
    }

    #[test]
    fn impossible_module_lists_are_survived(
        ranges in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..6),
        addresses in prop::collection::vec(any::<u64>(), 0..8),
    ) {
        let (directory, victims) = victims();
        let capture = &victims[0].output.captures[0];
        let path: PathBuf = capture.modules[0].path.clone();
        let modules: Vec<_> = ranges
            .iter()
            .map(|(bias, start, end)| Module {
                path: path.clone(),
                bias: *bias,
                start: *start,
                end: *end,
                build_id: None,
            })
            .collect();
        let mut addresses = addresses.clone();
        addresses.extend(ranges.iter().flat_map(|(bias, start, end)| [*bias, *start, *end, end.wrapping_sub(1)]));
        ask_everything(modules, capture, &addresses, options_in(directory.path()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn impossible_mappings_are_survived(
        mappings in prop::collection::vec((0..8_usize, edge(), edge(), edge()), 1..24),
    ) {
        let (directory, victims) = victims();
        let capture = &victims[0].output.captures[0];
        let program = &capture.modules[0].path;
        let options = options_in(directory.path());
        let mut symbolizer = Symbolizer::live(Some("/proc/self".into()), options, Files::default());
        for (kind, start, end, offset) in mappings {
            let path = match kind {
                0..4 => program.clone(),
                4 => "//anon".into(),
                5 => "[vdso]".into(),
                6 => "/nowhere/gone (deleted)".into(),
                _ => "".into(),
            };
            let mapping = Mapping { path, start, end, offset, build_id: None };
            let added = symbolizer.add(&mapping);
            if let Some(module) = added.module {
                prop_assert!(module.start <= start && end <= module.end);
                let visible: Vec<_> = symbolizer.modules().collect();
                prop_assert!(visible.contains(&&module));
            }
            for address in [start, start.wrapping_sub(1), end, end.wrapping_sub(1)] {
                prop_assert!(!symbolizer.frames(address, false).is_empty());
                symbolizer.data_symbol(address);
                symbolizer.code_bytes(address, 64, u64::MAX);
                symbolizer.function_range(address);
            }
            symbolizer.unwind(&StackCopy { ip: start, sp: 0x7000, bp: None, bytes: &capture.stack });
        }
    }
}

/// An address or offset: any, or one near others.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0..64_u64).prop_map(|page| page << 12),
        1 => any::<u64>(),
        1 => Just(u64::MAX),
        1 => (0..64_u64).prop_map(|page| !(page << 12)),
    ]
}

/// A word of a made-up stack: any, or one that looks like what belongs there.
#[derive(Debug, Clone)]
enum Word {
    Any(u64),
    Code(Index, u64),
    Stack(u64),
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        1 => prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..64_u64].prop_map(Word::Any),
        4 => (any::<Index>(), any::<u64>()).prop_map(|(module, offset)| Word::Code(module, offset)),
        2 => (0..0x5000_u64).prop_map(Word::Stack),
    ]
}

/// The bytes with one path in place of another of at least its length.
fn replaced(bytes: &[u8], from: &Path, to: &Path) -> Vec<u8> {
    let (from, to) = (from.as_os_str().as_encoded_bytes(), to.as_os_str().as_encoded_bytes());
    assert_eq!(from.len(), to.len(), "both are temporary directories");
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at + from.len() <= out.len() {
        if &out[at..at + from.len()] == from {
            out[at..at + to.len()].copy_from_slice(to);
        }
        at += 1;
    }
    out
}
