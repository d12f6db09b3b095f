//! Stacks of running programs, without `rbp`, from mappings that come one by one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::build::live::{Blocked, Running, executable_mappings};
use crate::build::*;
use holdup_symbols::{Files, Frame, JitCode, Mapping, StackCopy, Symbolizer, UnwindEnd, Unwound, Warning};

/// Frames that the source file describes, of a thread that is blocked.
fn own_frames(blocked: &Blocked, symbolizer: &mut Symbolizer, source: &str) -> (Vec<Frame>, UnwindEnd) {
    let unwound = symbolizer.unwind(&blocked.copy());
    let mut frames = frames_of(symbolizer, &unwound);
    frames.retain(|frame| frame.file.as_deref().is_some_and(|file| file.ends_with(source)));
    (frames, unwound.end)
}

/// Runs blocked.c and compares its functions on the stack with what the source says.
#[track_caller]
fn assert_chain(program: &Path, shape: &str, kind: &str, outer: &[&str]) {
    let running = Running::start(program, &[shape, kind]);
    let mut symbolizer = running.symbolizer(program.parent().unwrap());
    let (frames, end) = own_frames(&running.blocked(), &mut symbolizer, "blocked.c");
    let mut expected = vec!["block", "inner", "middle"];
    expected.extend(outer);
    assert_eq!(names(&frames), expected, "{shape} {kind}");
    assert_eq!(end, UnwindEnd::Root, "{shape} {kind}");
}

/// System calls to block in.
const KINDS: [&str; 8] = ["read", "nanosleep", "sleep", "mutex", "semaphore", "poll", "condition", "raw"];

/// Shapes of the chain of calls, and what comes between `middle` and the outermost frame.
const SHAPES: [(&str, &[&str]); 9] = [
    ("direct", &["main"]),
    ("indirect", &["indirect", "main"]),
    ("broad", &["broad", "main"]),
    ("many", &["many", "main"]),
    ("aligned", &["aligned", "main"]),
    ("recursive", &["recursive", "recursive", "recursive", "main"]),
    ("callback", &["compare", "sorter", "main"]),
    ("thread", &["thread_main"]),
    ("broad_thread", &["broad_thread"]),
];

fn all_chains(flags: &[&str], kinds: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "blocked.c", flags, directory.path(), "blocked");
    for kind in kinds {
        for (shape, outer) in SHAPES {
            assert_chain(&program, shape, kind, outer);
        }
    }
}

#[test]
fn unoptimised_code_needs_no_frame_pointer() {
    all_chains(&["-O0", "-g"], &KINDS);
}

#[test]
fn code_that_keeps_frame_pointers_needs_none() {
    all_chains(&["-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"], &KINDS);
}

#[test]
fn programs_of_every_kind_are_placed() {
    for flags in [
        &["-O0", "-g", "-no-pie"][..],
        &["-O0", "-g", "-static"],
        &["-O2", "-g", "-static-pie", "-fPIE"],
        &["-O1", "-g", "-fno-omit-frame-pointer", "-fcf-protection=full", "-Wl,-z,noseparate-code"],
    ] {
        all_chains(flags, &["read", "raw"]);
    }
}

#[test]
fn a_call_in_the_end_leaves_no_frame() {
    let directory = tempfile::tempdir().unwrap();
    for (flags, outer) in [
        (&["-O0", "-g"][..], &["in_the_end", "main"][..]),
        (&["-O2", "-g", "-fno-omit-frame-pointer"], &["main"]),
    ] {
        let program = compile("cc", "blocked.c", flags, directory.path(), "blocked");
        for kind in KINDS {
            assert_chain(&program, "tail", kind, outer);
        }
    }
}

#[test]
fn without_any_information_a_missing_frame_pointer_ends_the_walk() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["-O0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"];
    let program = compile("cc", "blocked.c", &flags, directory.path(), "blocked");
    let running = Running::start(&program, &["direct", "raw"]);
    let unwound = running.symbolizer(directory.path()).unwind(&running.blocked().copy());
    assert_eq!((unwound.addresses.len(), unwound.end), (1, UnwindEnd::Broken));
}

#[test]
fn go_programs_are_unwound_and_named() {
    for flags in [&[][..], &["-ldflags=-s -w"]] {
        let directory = tempfile::tempdir().unwrap();
        let Some(program) = compile_go("blocked.go", flags, directory.path()) else { return };
        for (how, outer) in [("main", "main.main"), ("goroutine", "main.main.func1")] {
            let running = Running::start(&program, &[how]);
            let mut symbolizer = running.symbolizer(directory.path());
            let (frames, end) = own_frames(&running.reading(), &mut symbolizer, "blocked.go");
            assert_eq!(names(&frames), ["main.inner", "main.middle", outer], "{flags:?}");
            // A stripped program has the name of the function, but only the line of what was inlined into it.
            let is_stripped = flags.contains(&"-ldflags=-s -w");
            let line = line_of("blocked.go", "syscall.Read");
            assert_eq!(frames[0].line, (!is_stripped).then_some(line));
            assert_eq!(frames[1].line, Some(line_of("blocked.go", "return inner")));
            assert_eq!(end, UnwindEnd::Root, "{flags:?}");
            assert_eq!(symbolizer.missing_names(), []);
        }
    }
}

#[test]
fn stacks_of_idle_go_threads_end_where_they_were_switched() {
    let directory = tempfile::tempdir().unwrap();
    let Some(program) = compile_go("blocked.go", &[], directory.path()) else { return };
    let running = Running::start(&program, &["goroutine"]);
    running.blocked();
    let mut symbolizer = running.symbolizer(directory.path());
    let mut outermost = std::collections::BTreeSet::new();
    for thread in running.threads() {
        let unwound = symbolizer.unwind(&running.blocked_thread(thread).copy());
        let names = names(&frames_of(&mut symbolizer, &unwound));
        assert_eq!(unwound.end, UnwindEnd::Root, "{names:?}");
        outermost.extend(names.last().cloned());
    }
    let known = ["runtime.goexit", "runtime.mcall", "runtime.mstart", "runtime.clone", "runtime.main"];
    assert!(outermost.iter().all(|name| known.contains(&name.as_str())), "{outermost:?}");
}

#[test]
fn what_is_known_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "blocked.c", &["-O0", "-g"], directory.path(), "blocked");
    let running = Running::start(&program, &["direct", "read"]);
    let mut symbolizer = running.symbolizer(directory.path());
    let modules: Vec<_> = symbolizer.modules().cloned().collect();
    for mapping in running.mappings() {
        assert_eq!(symbolizer.add(&mapping).module, None, "{mapping:?}");
    }
    assert_eq!(symbolizer.modules().cloned().collect::<Vec<_>>(), modules);
    let own = modules.iter().find(|module| module.path == program).unwrap();
    assert_eq!(own.build_id.as_ref().map(Vec::len), Some(20));
    // Variables are beyond the executable part.
    assert!(data_names(&mut symbolizer, own.start..own.end).contains(&"semaphore".into()));
}

/// The one executable mapping of a shared library, at an address.
fn mapped_at(library: &Path, start: u64) -> Mapping {
    let headers = run("readelf", &["-lW", &library.display().to_string()], Path::new("/"));
    let headers = String::from_utf8(headers).unwrap();
    let executable = headers.lines().find(|line| line.contains("LOAD") && line.contains("R E")).unwrap();
    let number = |column: usize| {
        let field = executable.split_whitespace().nth(column).unwrap();
        u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap()
    };
    let (offset, address, size) = (number(1), number(2), number(4));
    let (page, end) = (address & !0xfff, (address + size).next_multiple_of(0x1000));
    let (start, end) = (start + page, start + end);
    Mapping { path: library.to_owned(), start, end, offset: offset & !0xfff, build_id: None }
}

fn library(directory: &Path, name: &str, function: &str) -> PathBuf {
    let source = format!("{name}.c");
    let text = format!(
        "int {function}_counter = 4;\nint {function}(int x) {{ return x * 3 + {function}_counter++; }}\n"
    );
    std::fs::write(directory.join(&source), text).unwrap();
    let output = format!("{name}.so");
    run("cc", &["-O1", "-g", "-shared", "-fPIC", &source, "-o", &output, "-Wl,--build-id"], directory);
    directory.join(output)
}

/// What the functions in a range are called.
fn functions(symbolizer: &mut Symbolizer, range: std::ops::Range<u64>) -> Vec<String> {
    let mut names: Vec<_> =
        range.filter_map(|address| symbolizer.frames(address, false).swap_remove(0).function).collect();
    names.dedup();
    names
}

/// What the variables in a range are called.
fn data_names(symbolizer: &mut Symbolizer, range: std::ops::Range<u64>) -> Vec<String> {
    let mut names: Vec<_> =
        range.filter_map(|address| symbolizer.data_symbol(address)).map(|symbol| symbol.name).collect();
    names.dedup();
    names
}

#[test]
fn the_c_library_has_names_and_its_variables_types_but_no_lines() {
    let directory = tempfile::tempdir().unwrap();
    let built = library(directory.path(), "built", "work");
    let look = |name: &str| {
        let path = directory.path().join(name);
        std::fs::copy(&built, &path).unwrap();
        let mapping = mapped_at(&path, 0x7000_0000);
        let mut symbolizer = Symbolizer::live(None, options_in(directory.path()), Files::default());
        symbolizer.add(&mapping);
        let frame = (mapping.start..mapping.end)
            .map(|address| symbolizer.frames(address, false).swap_remove(0))
            .find(|frame| frame.function.as_deref() == Some("work"))
            .unwrap();
        let lacking = symbolizer.missing_names();
        let data = (mapping.end..mapping.end + 0x4000).find_map(|address| {
            symbolizer.data_symbol(address).filter(|symbol| symbol.name == "work_counter")
        });
        (frame.line, data.unwrap().line, lacking)
    };
    assert_eq!(look("libwork.so"), (Some(2), Some(1), vec![]));
    assert_eq!(look("libc.so.6"), (None, Some(1), vec![]));
}

#[test]
fn a_later_mapping_replaces_what_it_overlaps() {
    let directory = tempfile::tempdir().unwrap();
    let one = mapped_at(&library(directory.path(), "one", "first"), 0x7000_0000);
    let two = mapped_at(&library(directory.path(), "two", "second"), 0x7000_0000);
    let mut symbolizer = Symbolizer::live(None, options_in(directory.path()), Files::default());
    let range = one.start..one.end;
    assert_eq!(functions(&mut symbolizer, range.clone()), Vec::<String>::new());

    let added = symbolizer.add(&one).module.unwrap();
    assert_eq!((added.path.as_path(), added.bias), (one.path.as_path(), 0x7000_0000));
    assert!(functions(&mut symbolizer, range.clone()).contains(&"first".into()));
    // The kernel tells each part of a mapping that it splits.
    let part = Mapping { start: one.start, end: one.start + 0x800, ..one.clone() };
    assert_eq!(symbolizer.add(&part).module, None);

    symbolizer.add(&two).module.unwrap();
    let found = functions(&mut symbolizer, range.clone());
    assert!(found.contains(&"second".into()) && !found.contains(&"first".into()), "{found:?}");

    // Code that is made at run time takes the place of the library's, but not of its data.
    let memory = Mapping { path: "//anon".into(), offset: 0, ..two.clone() };
    symbolizer.add(&memory).module.unwrap();
    assert_eq!(functions(&mut symbolizer, range.clone()), Vec::<String>::new());
    let frame = symbolizer.frames(range.start + 5, false).swap_remove(0);
    assert_eq!((frame.module.as_deref(), frame.address), (Some("[anonymous]"), range.start + 5));
    let data = data_names(&mut symbolizer, range.end..range.end + 0x4000);
    assert!(data.contains(&"second_counter".into()), "{data:?}");

    // A forked process begins with the same, and changes nothing for the other.
    let mut child = symbolizer.forked(None);
    child.add(&one).module.unwrap();
    assert!(functions(&mut child, range.clone()).contains(&"first".into()));
    assert_eq!(functions(&mut symbolizer, range), Vec::<String>::new());
}

#[test]
fn another_build_than_the_mapped_one_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let mut mapping = mapped_at(&library(directory.path(), "one", "first"), 0x7000_0000);
    mapping.build_id = Some(vec![1; 20]);
    let mut symbolizer = Symbolizer::live(None, options_in(directory.path()), Files::default());
    let added = symbolizer.add(&mapping);
    assert_eq!(added.warning, Some(Warning::Changed { path: mapping.path.clone() }));
    let module = added.module.unwrap();
    assert_eq!((module.start, module.end), (mapping.start, mapping.end));
    let frame = symbolizer.frames(mapping.start + 5, false).swap_remove(0);
    assert_eq!((frame.function, frame.module.as_deref()), (None, Some("one.so")));
    assert_eq!(frame.address, mapping.offset + 5);
}

#[test]
fn files_are_looked_for_where_the_process_sees_them() {
    let directory = tempfile::tempdir().unwrap();
    let inside = library(directory.path(), "one", "first");
    let process = directory.path().join("process");
    std::fs::create_dir_all(process.join("root/opt")).unwrap();
    std::fs::rename(inside, process.join("root/opt/one.so")).unwrap();
    let mut mapping = mapped_at(&process.join("root/opt/one.so"), 0x7000_0000);
    mapping.path = "/opt/one.so".into();
    let options = || options_in(directory.path());
    let mut symbolizer = Symbolizer::live(Some(process.clone()), options(), Files::default());
    let added = symbolizer.add(&mapping);
    assert_eq!((added.module.unwrap().path.to_str(), added.warning), (Some("/opt/one.so"), None));
    assert!(functions(&mut symbolizer, mapping.start..mapping.end).contains(&"first".into()));

    let mut outside = Symbolizer::live(None, options(), Files::default());
    assert!(matches!(outside.add(&mapping).warning, Some(Warning::Unreadable { .. })));

    // A deleted file: by the kernel's link to what is mapped, or not at all.
    mapping.path = "/opt/one.so (deleted)".into();
    let mut deleted = Symbolizer::live(Some(process.clone()), options(), Files::default());
    assert!(matches!(deleted.add(&mapping).warning, Some(Warning::Unreadable { .. })));
    std::fs::create_dir(process.join("map_files")).unwrap();
    let link = format!("map_files/{:x}-{:x}", mapping.start, mapping.end);
    symlink(process.join("root/opt/one.so"), process.join(link)).unwrap();
    let mut linked = Symbolizer::live(Some(process), options(), Files::default());
    assert_eq!(linked.add(&mapping).warning, None);
    assert!(functions(&mut linked, mapping.start..mapping.end).contains(&"first".into()));
}

#[test]
fn a_deleted_program_is_still_read() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "blocked.c", &["-O0", "-g"], directory.path(), "blocked");
    let running = Running::start(&program, &["direct", "read"]);
    std::fs::remove_file(&program).unwrap();
    let mut symbolizer = running.symbolizer(directory.path());
    let (frames, _) = own_frames(&running.blocked(), &mut symbolizer, "blocked.c");
    assert_eq!(names(&frames), ["block", "inner", "middle", "main"]);
    assert_eq!(frames[0].module.as_deref(), Some("blocked"));
}

#[test]
fn the_kernels_own_library_has_names() {
    let mapping = executable_mappings("/proc/self/maps")
        .into_iter()
        .find(|mapping| mapping.path == Path::new("[vdso]"))
        .unwrap();
    let mut symbolizer = Symbolizer::live(None, options_in(Path::new("/nowhere")), Files::default());
    let module = symbolizer.add(&mapping).module.unwrap();
    assert_eq!(module.path, Path::new("linux-vdso.so.1"));
    let found = functions(&mut symbolizer, mapping.start..mapping.end);
    assert!(found.iter().any(|name| name.contains("vdso_clock_gettime")), "{found:?}");
    // A recording holds the module; it is told from another kernel's by its build id.
    let (mut later, warnings) = Symbolizer::new(vec![module], options_in(Path::new("/nowhere")));
    assert_eq!(warnings, []);
    assert_eq!(functions(&mut later, mapping.start..mapping.end), found);
}

#[test]
fn code_made_at_run_time_is_no_proof_of_a_call() {
    let mut symbolizer = Symbolizer::live(None, options_in(Path::new("/nowhere")), Files::default());
    let memory = Mapping { path: "//anon".into(), start: 0x1000, end: 0x9000, offset: 0, build_id: None };
    symbolizer.add(&memory);
    let words = [0x20010_u64, 0x2000, 0x20000, 0x3000];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let copy = StackCopy { ip: 0x1500, sp: 0x20000, bp: Some(0x20000), bytes: &bytes };
    let expected = Unwound { addresses: vec![0x1500], end: UnwindEnd::Broken };
    assert_eq!(symbolizer.unwind(&copy), expected);
}

#[test]
fn code_made_at_run_time_is_named_by_its_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let library = mapped_at(&library(directory.path(), "one", "first"), 0x7000_0000);
    let mut symbolizer = Symbolizer::live(None, options_in(directory.path()), Files::default());
    symbolizer.add(&library);
    symbolizer.add(&Mapping { path: "".into(), start: 0x1000, end: 0x3000, offset: 0, build_id: None });
    let unnamed = symbolizer.frames(0x1008, false);
    assert_eq!((&unnamed[0].function, unnamed[0].module.as_deref()), (&None, Some("[anonymous]")));

    let map = directory.path().join("perf-1.map");
    let text = format!("1000 10 work\n5000 10 outside\n{:x} 10000 hidden\n", library.start);
    std::fs::write(&map, text).unwrap();
    let mut code = JitCode::default();
    code.read_perf_map(&map).unwrap();
    symbolizer.name_jit(code);
    for (address, name) in [(0x1008, "work"), (0x5000, "outside")] {
        let frame = symbolizer.frames(address, false).swap_remove(0);
        let expected = (Some(name), Some("[jit]"), address);
        assert_eq!((frame.function.as_deref(), frame.module.as_deref(), frame.address), expected);
    }
    // A file knows better.
    assert!(functions(&mut symbolizer, library.start..library.end).contains(&"first".into()));
}

#[test]
fn code_comes_from_the_executable_part_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mapping = mapped_at(&library(directory.path(), "one", "first"), 0x7000_0000);
    let mut symbolizer = Symbolizer::live(None, options_in(directory.path()), Files::default());
    symbolizer.add(&mapping);
    let is_first = |symbolizer: &mut Symbolizer, address| {
        symbolizer.frames(address, false).swap_remove(0).function.as_deref() == Some("first")
    };
    let start = (mapping.start..mapping.end).find(|address| is_first(&mut symbolizer, *address)).unwrap();
    let range = symbolizer.function_range(start + 3).unwrap();
    assert_eq!(range.start, start);
    let code = symbolizer.code_bytes(start + 3, 3, range.end - start - 3).unwrap();
    assert_eq!((code.start, code.bytes.len() as u64), (start, range.end - start));
    assert_eq!(code.bytes.last(), Some(&0xc3), "ends with RET");
    // At the edges there is less than was asked for, and outside there is nothing.
    let edge = symbolizer.code_bytes(mapping.start, 1 << 20, 1 << 20).unwrap();
    assert_eq!(edge.start, mapping.start);
    assert!(edge.bytes.len() as u64 <= mapping.end - mapping.start);
    assert_eq!(symbolizer.code_bytes(mapping.start - 1, 16, 16), None);
    assert_eq!(symbolizer.code_bytes(0x1000, 16, 16), None);
}
