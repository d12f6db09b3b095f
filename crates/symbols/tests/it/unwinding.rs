//! Stacks of real programs, compiled in many ways, give the chain of calls that the source shows.

use std::path::Path;
use std::process::Command;

use crate::build::*;
use holdup_symbols::{MAX_FRAMES, UnwindEnd};

/// Unwinds the one capture of a run of chain.c.
fn unwound(program: &Path, how: &str, directory: &Path) -> (Vec<String>, UnwindEnd) {
    let output = output_of(program, &[how]);
    let capture = &output.captures[0];
    let mut symbolizer = symbolizer(capture, options_in(directory));
    let unwound = symbolizer.unwind(&capture.copy());
    let frames = frames_of(&mut symbolizer, &unwound);
    (names(&frames), unwound.end)
}

/// The ways to compile that matter for unwinding.
const WAYS: &[&[&str]] = &[
    &["-O2", "-g", "-fomit-frame-pointer"],
    &["-O0", "-g"],
    &["-O2", "-g", "-fno-omit-frame-pointer"],
    &["-Os", "-g", "-fomit-frame-pointer"],
    &["-O3", "-g", "-no-pie"],
    &["-O2", "-g", "-fno-asynchronous-unwind-tables"],
    &["-O2", "-g", "-fno-plt", "-fcf-protection=full"],
    &["-O2", "-g", "-static"],
    &["-O2", "-g", "-Wl,--no-eh-frame-hdr"],
];

/// The compilers of this machine: `cc` is required.
fn compilers() -> Vec<&'static str> {
    let has_clang =
        Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success());
    if has_clang { vec!["cc", "clang"] } else { vec!["cc"] }
}

#[test]
fn chains_of_calls() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for compiler in compilers() {
        for (number, flags) in WAYS.iter().enumerate() {
            let program = compile(compiler, "chain.c", flags, directory, &format!("{compiler}{number}"));
            for (how, between) in [
                ("chain", &[][..]),
                ("qsort", &["compare", "sorter"]),
                ("aligned", &["aligned"]),
                ("signal", &["on_signal", "raiser"]),
            ] {
                let (names, end) = unwound(&program, how, directory);
                let mut expected = vec!["capture", "leaf", "inner", "outer", "middle"];
                expected.extend(between);
                expected.push("main");
                assert_in_order(&names, &expected);
                assert_eq!(end, UnwindEnd::Root, "{compiler} {flags:?} {how}: {names:?}");
            }
        }
    }
}

#[test]
fn nothing_comes_between_direct_calls() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", WAYS[0], directory.path(), "chain");
    let (names, _) = unwound(&program, "chain", directory.path());
    assert_eq!(names[..6], ["capture", "leaf", "inner", "outer", "middle", "main"]);
}

/// `GOMP_loop_dynamic_next` of a stripped libgomp is on no stack: it jumps to a function without a name.
#[test]
fn a_function_that_passes_its_call_on_is_named_by_the_call() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = programs().join("passes_on.c").display().to_string();
    run("cc", &["-O2", "-DLIBRARY", "-fPIC", "-shared", "-o", "libpasses.so", &source], directory);
    let library = directory.join("libpasses.so").display().to_string();
    let path = format!("-Wl,-rpath,{}", directory.display());
    for (number, ways) in [&["-O2"][..], &["-O2", "-fno-plt"], &["-O2", "-Wl,-z,ibtplt"]].iter().enumerate() {
        let flags = [ways, &["-Wl,--no-as-needed", &library, &path][..]].concat();
        let program = compile("cc", "passes_on.c", &flags, directory, &format!("passes{number}"));
        // With all names, the function that is on the stack has one: nothing is missing.
        let (names, end) = unwound(&program, "", directory);
        assert_eq!(names[..4], ["capture", "leaf", "hidden", "main"], "{ways:?}");
        assert_eq!(end, UnwindEnd::Root);
    }
    run("strip", &["libpasses.so"], directory);
    for number in 0..3 {
        let (names, _) = unwound(&directory.join(format!("passes{number}")), "", directory);
        assert_eq!(names[..5], ["capture", "leaf", "<libpasses.so>", "passes_on", "main"], "{number}");
    }
    // A library that is called in its place, as ours is, and calls it by a pointer.
    run("cc", &["-O2", "-DBEFORE", "-fPIC", "-shared", "-o", "libbefore.so", &source], directory);
    run("strip", &["libbefore.so"], directory);
    let before = directory.join("libbefore.so").display().to_string();
    let flags = ["-O2", "-Wl,--no-as-needed", &before, &library, &path];
    let program = compile("cc", "passes_on.c", &flags, directory, "behind");
    let (names, _) = unwound(&program, "", directory);
    assert_eq!(names[..6], ["capture", "leaf", "<libpasses.so>", "passes_on", "passes_on", "main"]);
}

#[test]
fn a_thread_ends_where_it_was_started() {
    let directory = tempfile::tempdir().unwrap();
    for flags in WAYS {
        let program = compile("cc", "chain.c", flags, directory.path(), "chain");
        let (names, end) = unwound(&program, "thread", directory.path());
        assert_in_order(&names, &["capture", "leaf", "middle", "thread_main"]);
        assert!(!names.contains(&"main".to_owned()), "{names:?}");
        assert_eq!(end, UnwindEnd::Root, "{flags:?}: {names:?}");
    }
}

#[test]
fn a_switched_context_ends_at_its_own_root() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", WAYS[0], directory.path(), "chain");
    let (names, end) = unwound(&program, "context", directory.path());
    assert_in_order(&names, &["capture", "leaf", "middle", "in_context"]);
    assert!(!names.contains(&"main".to_owned()), "{names:?}");
    assert_eq!(end, UnwindEnd::Root, "{names:?}");
}

#[test]
fn a_copy_that_ends_early_is_truncated_not_broken() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", WAYS[0], directory.path(), "chain");
    let (names, end) = unwound(&program, "broad", directory.path());
    assert_in_order(&names, &["capture", "leaf", "middle", "broad"]);
    assert!(!names.contains(&"main".to_owned()), "{names:?}");
    assert_eq!(end, UnwindEnd::Truncated);

    let output = output_of(&program, &["chain"]);
    let capture = &output.captures[0];
    let mut symbolizer = symbolizer(capture, options_in(directory.path()));
    let whole = symbolizer.unwind(&capture.copy());
    assert_eq!(whole.end, UnwindEnd::Root);
    for size in 0..capture.stack.len() {
        let mut copy = capture.copy();
        copy.bytes = &capture.stack[..size];
        let part = symbolizer.unwind(&copy);
        assert!(whole.addresses.starts_with(&part.addresses), "{size} bytes");
        let expected =
            if part.addresses.len() < whole.addresses.len() { UnwindEnd::Truncated } else { whole.end };
        assert!(part.end == expected || part.end == UnwindEnd::Truncated, "{size} bytes: {:?}", part.end);
    }
}

#[test]
fn deep_recursion_stops_at_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("cc", "chain.c", WAYS[0], directory.path(), "chain");
    let output = output_of(&program, &["deep"]);
    let capture = &output.captures[0];
    let mut symbolizer = symbolizer(capture, options_in(directory.path()));
    let unwound = symbolizer.unwind(&capture.copy());
    assert_eq!(unwound.end, UnwindEnd::FrameLimit);
    assert_eq!(unwound.addresses.len(), MAX_FRAMES);
    let names = names(&frames_of(&mut symbolizer, &unwound));
    assert_eq!(names[2..], vec!["deep"; MAX_FRAMES - 2]);
}

#[test]
fn without_unwind_tables_nothing_is_guessed() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let program = compile("cc", "chain.c", &flags, directory.path(), "chain");
    let (names, end) = unwound(&program, "chain", directory.path());
    assert_eq!(names, ["capture", "leaf"]);
    assert_eq!(end, UnwindEnd::Broken);
}

#[test]
fn frame_pointers_serve_where_there_are_no_tables() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["-O2", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let program = compile("cc", "chain.c", &flags, directory.path(), "chain");
    let (names, end) = unwound(&program, "chain", directory.path());
    assert_in_order(&names, &["capture", "leaf", "middle", "main"]);
    assert_eq!(end, UnwindEnd::Root, "{names:?}");
}

#[test]
fn cpp_with_templates_and_std_thread() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("c++", "chain.cpp", &["-O2", "-g", "-std=c++17"], directory.path(), "chain");
    let output = output_of(&program, &[]);
    let capture = &output.captures[0];
    let mut symbolizer = symbolizer(capture, options_in(directory.path()));
    let unwound = symbolizer.unwind(&capture.copy());
    let names = names(&frames_of(&mut symbolizer, &unwound));
    assert_in_order(&names, &["capture", "cache::Store<long>::put", "(anonymous namespace)::through"]);
    assert_eq!(unwound.end, UnwindEnd::Root, "{names:?}");
    let locks: Vec<_> = output.addresses.iter().map(|at| symbolizer.data_symbol(*at).unwrap()).collect();
    assert_eq!(locks[0].expression(), "cache::lock");
    assert_eq!(locks[1].expression(), "cache::Store<long>::shared_lock");
    assert_eq!(locks[0].line, Some(line_of("chain.cpp", "std::mutex lock;")));
}

#[test]
fn rust_with_a_thread_and_a_static_lock() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let capture_source = programs().join("capture.c").display().to_string();
    let source = programs().join("chain.rs").display().to_string();
    run("cc", &["-O2", "-g", "-c", &capture_source, "-o", "capture.o"], directory);
    for mangling in ["legacy", "v0"] {
        let scheme = format!("symbol-mangling-version={mangling}");
        let mut flags =
            vec!["--edition=2024", "-O", "-g", "-C", "link-arg=capture.o", &source, "-o", mangling];
        // Only v0 is stable to ask for; legacy has been the default.
        if mangling == "v0" {
            flags.extend(["-C", &scheme]);
        }
        run("rustc", &flags, directory);
        let output = output_of(&directory.join(mangling), &[]);
        let capture = &output.captures[0];
        let mut symbolizer = symbolizer(capture, options_in(directory));
        let unwound = symbolizer.unwind(&capture.copy());
        let frames = frames_of(&mut symbolizer, &unwound);
        let names = names(&frames);
        assert_in_order(&names, &["capture", "<chain::pipeline::Last as chain::pipeline::Stage>::run"]);
        let each = names.iter().find(|name| name.starts_with("chain::pipeline::each"));
        assert!(each.is_some(), "{names:?}");
        assert!(
            names.iter().any(|name| name.starts_with("chain::main::{{closure}}")
                || name.starts_with("chain::main::{closure#0}")),
            "{names:?}"
        );
        assert_eq!(unwound.end, UnwindEnd::Root, "{names:?}");
        let lock = symbolizer.data_symbol(output.addresses[0]).unwrap();
        assert_eq!(lock.expression(), "chain::TOTALS");
        assert_eq!(lock.line, Some(line_of("chain.rs", "static TOTALS")));
    }
}
