//! Addresses of real programs get the names and lines that their source shows, wherever the compiler and the
//! distribution put them.

use std::path::{Path, PathBuf};

use crate::build::*;
use holdup_stage::{CLANG_CPP, is_installed, skip};
use holdup_symbols::{Frame, Module, Options, Symbolizer, Warning};
use object::{Object, ObjectSymbol};

fn frames(program: &Path, how: &str, options: Options) -> (Vec<Frame>, Symbolizer) {
    let output = output_of(program, &[how]);
    let capture = &output.captures[0];
    let mut symbolizer = symbolizer(capture, options);
    let unwound = symbolizer.unwind(&capture.copy());
    (frames_of(&mut symbolizer, &unwound), symbolizer)
}

/// Each function of chain.c, inlined or not, with the line that its comment marks.
#[track_caller]
fn assert_full(frames: &[Frame]) {
    let names = names(frames);
    assert_eq!(names[..6], ["capture", "leaf", "inner", "outer", "middle", "main"]);
    let inlined: Vec<_> = frames[..6].iter().map(|frame| frame.inlined).collect();
    assert_eq!(inlined, [false, false, true, true, false, false]);
    for (frame, mark) in
        frames[1..5].iter().zip(["calls capture", "calls leaf", "calls inner", "calls outer"])
    {
        assert!(
            frame.file.as_deref().is_some_and(|file| file.ends_with("tests/programs/chain.c")),
            "{frame:?}"
        );
        assert_eq!(frame.line, Some(line_of("chain.c", mark)), "{frame:?}");
    }
    // Frames that were inlined into each other are at one address.
    assert_eq!(frames[2].address, frames[4].address);
}

#[test]
fn inlined_functions_have_their_own_lines() {
    let directory = tempfile::tempdir().unwrap();
    for (number, flags) in [
        &["-O2", "-g"][..],
        &["-O2", "-g", "-gdwarf-4"],
        &["-O2", "-g", "-no-pie"],
        &["-O2", "-g", "-gz=zlib"],
        &["-O2", "-g", "-static"],
        &["-O2", "-g", "-gsplit-dwarf"],
        &["-O2", "-g", "-gsplit-dwarf", "-gdwarf-4"],
    ]
    .iter()
    .enumerate()
    {
        let program = compile("cc", "chain.c", flags, directory.path(), &format!("chain{number}"));
        let (frames, symbolizer) = frames(&program, "chain", options_in(directory.path()));
        assert_full(&frames);
        let lacking: Vec<_> = symbolizer.missing_names().into_iter().map(|missing| missing.module).collect();
        assert!(!lacking.contains(&program), "{lacking:?}");
    }
}

#[test]
fn split_dwarf_is_found_where_it_was_compiled_or_beside_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g", "-gsplit-dwarf"], directory.path(), "chain");
    let split: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dwo"))
        .collect();
    assert_eq!(split.len(), 1, "{split:?}");
    assert_full(&frames(&program, "chain", options_in(directory.path())).0);

    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("chain");
    std::fs::rename(&program, &moved).unwrap();
    let beside = elsewhere.path().join(split[0].file_name().unwrap());
    std::fs::rename(&split[0], &beside).unwrap();
    assert_full(&frames(&moved, "chain", options_in(directory.path())).0);

    // Or all in one package beside the program, which takes the object files' place.
    let program =
        compile("cc", "chain.c", &["-O2", "-g", "-gsplit-dwarf", "-gdwarf-4"], directory.path(), "chain");
    run("dwp", &["-e", "chain", "-o", "chain.dwp"], directory.path());
    std::fs::remove_file(&split[0]).unwrap();
    assert_full(&frames(&program, "chain", options_in(directory.path())).0);

    // Without it the lines remain, which are in the program, but not the inlined functions.
    std::fs::remove_file(&beside).unwrap();
    let (frames, _) = frames(&moved, "chain", options_in(directory.path()));
    assert_eq!(names(&frames)[..4], ["capture", "leaf", "middle", "main"]);
    assert_eq!(frames[1].line, Some(line_of("chain.c", "calls capture")));
}

#[test]
fn a_symbol_table_alone_gives_functions_without_lines() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    run("objcopy", &["--strip-debug", "chain"], directory.path());
    let (frames, _) = frames(&program, "chain", options_in(directory.path()));
    assert_eq!(names(&frames)[..4], ["capture", "leaf", "middle", "main"]);
    assert!(frames[..4].iter().all(|frame| frame.file.is_none() && frame.line.is_none() && !frame.inlined));
}

#[test]
fn a_stripped_program_gives_module_and_offset() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    let bytes = std::fs::read(&program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let address_of = |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address();
    let of_functions = ["capture", "leaf", "middle", "main"].map(address_of);
    run("strip", &["chain"], directory.path());
    let (frames, symbolizer) = frames(&program, "chain", options_in(directory.path()));
    assert_eq!(names(&frames)[..4], ["<chain>"; 4]);
    assert!(frames[..4].iter().all(|frame| frame.address > 0 && frame.address < 0x10000), "{frames:?}");
    // Where they begin is in the call frame information.
    let begins = frames[..4].iter().map(|frame| frame.begin.filter(|begin| *begin <= frame.address));
    let begins: Vec<Option<u64>> = begins.collect();
    assert_eq!(begins, of_functions.map(Some), "{frames:?}");
    let missing = symbolizer.missing_names();
    let missing = missing.iter().find(|missing| missing.module == program).unwrap();
    assert!(!missing.is_packaged);
}

#[test]
fn an_exported_label_does_not_name_what_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g", "-rdynamic", "-DLABEL"], directory.path(), "chain");
    run("strip", &["chain"], directory.path());
    let (frames, _) = frames(&program, "chain", options_in(directory.path()));
    // main and capture are exported, leaf and middle are not.
    assert_eq!(names(&frames)[..4], ["capture", "<chain>", "<chain>", "main"]);
}

/// Moves the debug information of `chain` to `place`, which the stripped program's debug link names.
fn separate(directory: &Path, place: &Path) -> PathBuf {
    std::fs::create_dir_all(directory.join(place.parent().unwrap())).unwrap();
    let place = place.display().to_string();
    run("objcopy", &["--only-keep-debug", "chain", &place], directory);
    run("objcopy", &["--strip-all", &format!("--add-gnu-debuglink={place}"), "chain"], directory);
    directory.join("chain")
}

#[test]
fn separate_debug_files_are_found_by_link() {
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        for place in ["chain.debug", ".debug/chain.debug"] {
            let directory = tempfile::tempdir().unwrap();
            // The last option decides.
            let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
            run("cc", &["chain.o", "capture.o", "-o", "chain", "-pthread", build_id], directory.path());
            separate(directory.path(), Path::new(place));
            let (frames, _) = frames(&program, "chain", options_in(directory.path()));
            assert_full(&frames);
        }
    }
}

#[test]
fn separate_debug_files_are_found_below_the_debug_directory() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    separate(directory.path(), Path::new("chain.debug"));
    let real = directory.path().canonicalize().unwrap();
    let below = directory.path().join("debug").join(real.strip_prefix("/").unwrap());
    std::fs::create_dir_all(&below).unwrap();
    std::fs::rename(directory.path().join("chain.debug"), below.join("chain.debug")).unwrap();
    assert_full(&frames(&program, "chain", options_in(directory.path())).0);
    let elsewhere = Options { debug_directories: Vec::new() };
    assert_eq!(names(&frames(&program, "chain", elsewhere).0)[..2], ["<chain>"; 2]);
}

#[test]
fn separate_debug_files_are_found_by_build_id() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    let id = output_of(&program, &["chain"]).captures[0].modules[0].build_id.clone().unwrap();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let place = directory.path().join("debug/.build-id").join(&hex[..2]).join(format!("{}.debug", &hex[2..]));
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    run("objcopy", &["--only-keep-debug", "chain", &place.display().to_string()], directory.path());
    run("strip", &["chain"], directory.path());
    assert_full(&frames(&program, "chain", options_in(directory.path())).0);
    // A file under the right name that is of another program is not believed.
    let other = compile("cc", "chain.c", &["-O1", "-g"], directory.path(), "other");
    std::fs::copy(other, &place).unwrap();
    assert_eq!(names(&frames(&program, "chain", options_in(directory.path())).0)[..2], ["<chain>"; 2]);
}

#[test]
fn a_miniature_symbol_table_is_unpacked() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    run("objcopy", &["--strip-debug", "chain", "mini"], directory.path());
    run("xz", &["mini"], directory.path());
    run("strip", &["chain"], directory.path());
    run("objcopy", &["--add-section", ".gnu_debugdata=mini.xz", "chain"], directory.path());
    let (frames, symbolizer) = frames(&program, "chain", options_in(directory.path()));
    assert_eq!(names(&frames)[..4], ["capture", "leaf", "middle", "main"]);
    assert!(symbolizer.missing_names().iter().all(|missing| missing.module != program));
}

#[test]
fn a_changed_file_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2", "-g"], directory.path(), "chain");
    let capture = output_of(&program, &["chain"]).captures.remove(0);
    compile("cc", "chain.c", &["-O1", "-g"], directory.path(), "chain");
    let (mut symbolizer, warnings) = Symbolizer::new(capture.modules.clone(), options_in(directory.path()));
    assert_eq!(warnings, [Warning::Changed { path: program.clone() }]);
    let text = warnings[0].to_string();
    assert!(text.starts_with(&format!("{} has changed since the recording", program.display())), "{text}");
    let frames = symbolizer.frames(capture.ip, false);
    assert_eq!(names(&frames), ["<chain>"]);
    assert_eq!(frames[0].address, capture.ip - capture.modules[0].bias);
    // Its unwind information is another program's, too.
    let unwound = symbolizer.unwind(&capture.copy());
    assert_eq!(unwound.addresses, [capture.ip]);
}

#[test]
fn modules_without_a_file_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.so");
    std::fs::write(&empty, "").unwrap();
    let text = directory.path().join("text.so");
    std::fs::write(&text, "This is no program.").unwrap();
    let pipe = directory.path().join("pipe.so");
    run("mkfifo", &["pipe.so"], directory.path());
    let paths = [
        PathBuf::from("linux-vdso.so.1"),
        PathBuf::from("/nowhere/app (deleted)"),
        PathBuf::new(),
        directory.path().to_owned(),
        empty,
        text,
        pipe,
        PathBuf::from("/dev/zero"),
    ];
    let modules: Vec<_> = (0..)
        .zip(&paths)
        .map(|(number, path)| {
            let start = 0x10000 * (number + 1);
            Module {
                path: path.clone(),
                bias: start,
                start,
                end: start + 0x8000,
                build_id: Some(vec![1; 20]),
            }
        })
        .collect();
    let (mut symbolizer, warnings) = Symbolizer::new(modules.clone(), Options::default());
    // The vDSO is always without a file: nothing to warn of.
    assert_eq!(warnings.len(), paths.len() - 1, "{warnings:?}");
    for module in &modules {
        let frame = symbolizer.frames(module.start + 0x1235, true).remove(0);
        assert_eq!((frame.function, frame.address), (None, 0x1234));
        assert!(symbolizer.data_symbol(module.start + 8).is_none());
    }
    let outside = symbolizer.frames(0x9000, false).remove(0);
    assert_eq!((outside.module, outside.address), (None, 0x9000));
}

#[test]
fn variables_have_names_members_and_declarations() {
    let directory = tempfile::tempdir().unwrap();
    for flags in [&["-O2", "-g"][..], &["-O2", "-g", "-gdwarf-4", "-no-pie"]] {
        let program = compile("cc", "chain.c", flags, directory.path(), "chain");
        let output = output_of(&program, &["data"]);
        let mut symbolizer = symbolizer(&output.captures[0], options_in(directory.path()));
        let symbols: Vec<_> =
            output.addresses.iter().map(|at| symbolizer.data_symbol(*at).unwrap()).collect();
        let expressions: Vec<_> = symbols.iter().map(|symbol| symbol.expression()).collect();
        assert_eq!(
            expressions,
            [
                "cache_lock",
                "table[2].lock",
                "table",
                "settings",
                "settings.inner[1].changed",
                "grid[2][3]",
                "table[1]"
            ]
        );
        assert_eq!(symbols[0].line, Some(line_of("chain.c", "declares cache_lock")));
        assert!(symbols[0].file.as_deref().is_some_and(|file| file.ends_with("programs/chain.c")));
        assert_eq!((symbols[5].size, symbols[5].offset), (15 * 8, 13 * 8));
        assert_eq!(symbols[0].module, "chain");
        // Code is not data, nor is what no variable covers.
        assert!(symbolizer.data_symbol(output.captures[0].ip).is_none());
    }
}

#[test]
fn without_types_a_variable_has_an_offset() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", &["-O2"], directory.path(), "chain");
    let output = output_of(&program, &["data"]);
    let mut symbolizer = symbolizer(&output.captures[0], options_in(directory.path()));
    let lock = symbolizer.data_symbol(output.addresses[0]).unwrap();
    assert_eq!((lock.expression().as_str(), lock.line), ("cache_lock", None));
    let element = symbolizer.data_symbol(output.addresses[1]).unwrap();
    assert_eq!(element.expression(), format!("table+{:#x}", element.offset));
    assert!(element.offset > 0 && element.offset < element.size);
}

#[test]
fn calls_through_linkage_tables_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (number, flags) in [
        &["-O2", "-g"][..],
        &["-O2", "-g", "-fcf-protection=full", "-Wl,-z,ibtplt"],
        &["-O2", "-g", "-no-pie"],
        &["-O2", "-g", "-fno-plt"],
    ]
    .iter()
    .enumerate()
    {
        let name = format!("chain{number}");
        let program = compile("cc", "chain.c", flags, directory.path(), &name);
        let output = output_of(&program, &["data"]);
        let capture = &output.captures[0];
        let module = &capture.modules[0];
        let mut symbolizer = symbolizer(capture, options_in(directory.path()));
        let relocations = run("readelf", &["-rW", &name], directory.path());
        let relocations = String::from_utf8(relocations).unwrap();
        let slot = relocations.lines().find(|line| line.contains(" qsort@")).unwrap();
        let slot = u64::from_str_radix(slot.split_whitespace().next().unwrap(), 16).unwrap();
        let at_slot = symbolizer.frames(module.bias + slot, false);
        assert_eq!(at_slot[0].function.as_deref(), Some("qsort"), "{flags:?}");
        // The stub, which only those have that are not told to do without.
        let stubs = (module.start..module.end)
            .filter(|address| symbolizer.frames(*address, false)[0].function.as_deref() == Some("qsort"))
            .filter(|address| address - module.bias != slot)
            .count();
        assert_eq!(stubs, if flags.contains(&"-fno-plt") { 0 } else { 16 }, "{flags:?}");
    }
}

#[test]
fn pointers_to_functions_of_the_same_file_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("calls.rs");
    let text = "fn main() { loop { if std::env::args().count() > 0 { break } std::thread::yield_now() } }";
    std::fs::write(&source, text).unwrap();
    run("rustc", &["--edition=2024", "-O", "calls.rs", "-o", "calls"], directory.path());
    let section = run("readelf", &["-SW", "calls"], directory.path());
    let section = String::from_utf8(section).unwrap();
    let fields: Vec<_> =
        section.lines().find(|line| line.contains(" .got ")).unwrap().split_whitespace().collect();
    let at = fields.iter().position(|field| *field == ".got").unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (start, size) = (number(fields[at + 2]), number(fields[at + 4]));
    let path = directory.path().join("calls");
    let module = Module { path, bias: 0, start: 0, end: start + size, build_id: None };
    let (mut symbolizer, _) = Symbolizer::new(vec![module], options_in(directory.path()));
    let named: Vec<_> = (start..start + size)
        .step_by(8)
        .filter_map(|address| symbolizer.frames(address, false).swap_remove(0).function)
        .collect();
    assert!(named.iter().any(|name| name.ends_with("yield_now")), "{named:?}");
}

/// Tasks in a function of C++, one of which another function stands before in the source.
const TASKS: &str = "
namespace grid {
struct Field { int n; double sum(int from, int to); };
double before(int n) { return n * 0.5; }
double Field::sum(int from, int to) {
    if (to - from < 2) return before(from);
    double a;
#pragma omp task shared(a)
    a = sum(from, (from + to) / 2); // in the task
#pragma omp taskwait
    return a + sum((from + to) / 2, to);
}
}
int main() {
    grid::Field field{100};
    return field.sum(0, field.n) < 0;
}
";

#[test]
fn a_task_that_clang_made_a_function_has_the_name_of_the_one_it_is_written_in() {
    if !is_installed(CLANG_CPP) {
        return skip("needs clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("tasks.cc"), directory.path().join("tasks"));
    std::fs::write(&source, TASKS).unwrap();
    let compiler = std::process::Command::new(CLANG_CPP)
        .args(["-O2", "-g", "-fopenmp", "-o"])
        .args([&program, &source])
        .status();
    assert!(compiler.unwrap().success());
    let bytes = std::fs::read(&program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let task =
        file.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.starts_with(".omp_task_entry")));
    let (address, size) = task.map(|task| (task.address(), task.size())).expect("a function of the task");
    let module = Module { path: program, bias: 0, start: 0, end: u64::MAX, build_id: None };
    let (mut symbolizer, _) = Symbolizer::new(vec![module], Options::default());
    // Whatever of the task is inlined into it at its beginning, the outermost function there is the task's.
    let frames = symbolizer.frames(address, false);
    let outermost = frames.last().expect("a frame");
    assert_eq!(outermost.function.as_deref(), Some("grid::Field::sum"), "{frames:?}");
    // Nor has a part that is inlined into it, of which the compiler says no place.
    for address in address..address + size {
        let frames = symbolizer.frames(address, false);
        let is_outlined = |function: &str| function.starts_with(".omp_");
        let outlined = |frame: &&holdup_symbols::Frame| {
            frame.line.is_some() && frame.function.as_deref().is_some_and(is_outlined)
        };
        assert_eq!(frames.iter().find(outlined), None, "{frames:?}");
    }
}
