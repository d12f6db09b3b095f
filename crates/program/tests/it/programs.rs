//! Real programs, built here by the system's compiler, and files that are none.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdup_program::{Caller, Facts, FileBytes, Reason, Sanitizer, Verdict, classify};

struct Opened(File);

impl FileBytes for Opened {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        self.0.read_at(buf, offset).ok()
    }
}

struct Unreadable;

impl FileBytes for Unreadable {
    fn read_at(&self, _: u64, _: &mut [u8]) -> Option<usize> {
        None
    }
}

fn caller() -> Caller {
    Caller {
        real_user: 1000,
        effective_user: 1000,
        real_group: 1000,
        effective_group: 1000,
        privileges_fixed: false,
    }
}

fn program_facts() -> Facts {
    Facts { mode: 0o100755, owner: 0, group: 0, has_capabilities: false, caller: caller() }
}

fn verdict_of(path: &Path) -> Verdict {
    let file = File::open(path).unwrap();
    let stat = file.metadata().unwrap();
    let facts = Facts { mode: stat.mode(), owner: stat.uid(), group: stat.gid(), ..program_facts() };
    classify(&Opened(file), facts)
}

/// Compiles `int main` with these arguments; `None`, with a word on stderr, where this machine cannot.
fn compile(directory: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let source = directory.join("main.c");
    fs::write(&source, "#include <stdlib.h>\nint main(void) { free(malloc(3)); return 0; }\n").unwrap();
    let program = directory.join("program");
    let done = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&source).args(arguments).output();
    let done = done.expect("cc is needed: apt-get install gcc libc6-dev");
    if done.status.success() {
        Some(program)
    } else {
        eprintln!("skipped: cc {arguments:?} does not work here: {}", String::from_utf8_lossy(&done.stderr));
        None
    }
}

fn check(arguments: &[&str], expected: Verdict) {
    let directory = tempfile::tempdir().unwrap();
    if let Some(program) = compile(directory.path(), arguments) {
        assert_eq!(verdict_of(&program), expected, "cc {arguments:?}");
    }
}

fn left_alone(reason: Reason) -> Verdict {
    Verdict::LeaveAlone(reason)
}

/// The bytes of a program that is entered, for tests that spoil them.
fn sound_program() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    fs::read(compile(directory.path(), &[]).expect("cc builds a plain program")).unwrap()
}

fn classify_bytes(bytes: &[u8]) -> Verdict {
    classify(bytes, program_facts())
}

#[test]
fn dynamic_programs_are_entered() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), &[]).expect("cc builds a plain program");
    assert_eq!(verdict_of(&program), Verdict::Enter);
    check(&["-no-pie"], Verdict::Enter);
    check(&["-Wl,--hash-style=sysv"], Verdict::Enter);
    check(&["-Wl,--hash-style=both", "-pthread", "-lm", "-s"], Verdict::Enter);
    check(&["-fsanitize=undefined"], Verdict::Enter);
    check(&["-fsanitize=undefined", "-static-libubsan"], Verdict::Enter);
}

#[test]
fn static_programs_are_left_alone() {
    check(&["-static"], left_alone(Reason::Static));
    check(&["-static-pie"], left_alone(Reason::Static));
}

#[test]
fn programs_for_32_bits_are_left_alone() {
    check(&["-m32"], left_alone(Reason::Bits32));
    let mut header = [0_u8; 52];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    header[16] = 2;
    header[18] = if cfg!(target_arch = "x86_64") { 3 } else { 40 };
    assert_eq!(classify_bytes(&header), left_alone(Reason::Bits32));
}

#[test]
fn programs_of_other_machines_are_left_alone() {
    let mut bytes = sound_program();
    bytes[18..20].copy_from_slice(&243_u16.to_le_bytes());
    assert_eq!(classify_bytes(&bytes), left_alone(Reason::ForeignMachine { machine: 243 }));
    bytes[5] = 2;
    bytes[18..20].copy_from_slice(&22_u16.to_be_bytes());
    assert_eq!(classify_bytes(&bytes), left_alone(Reason::ForeignMachine { machine: 22 }));
}

#[test]
fn sanitizers_are_known_linked_dynamically_and_statically() {
    for (flag, statically, sanitizer) in [
        ("-fsanitize=address", "-static-libasan", Sanitizer::Address),
        ("-fsanitize=thread", "-static-libtsan", Sanitizer::Thread),
        ("-fsanitize=leak", "-static-liblsan", Sanitizer::Leak),
    ] {
        let expected = left_alone(Reason::Sanitizer(sanitizer));
        check(&[flag], expected.clone());
        check(&[flag, statically, "-rdynamic"], expected);
        let hidden = left_alone(Reason::Sanitizer(Sanitizer::Unnamed));
        check(&[flag, statically], hidden.clone());
        check(&[flag, statically, "-s", "-Wl,--hash-style=sysv"], hidden);
    }
}

#[test]
fn a_program_that_only_mentions_a_sanitizer_is_entered() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("mention.c");
    let program = directory.path().join("mention");
    fs::write(&source, "extern void __asan_init(void) __attribute__((weak));\nint main(void) { if (__asan_init) __asan_init(); return 0; }\n").unwrap();
    let done = Command::new("cc").arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(done.success());
    assert_eq!(verdict_of(&program), Verdict::Enter);
}

/// Builds with this dynamic linker named, which need not exist.
#[test]
fn other_dynamic_linkers_are_left_alone() {
    check(&["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"], left_alone(Reason::Musl));
    check(&["-Wl,--dynamic-linker=/lib/ld-uClibc.so.0"], left_alone(Reason::OtherLoader));
    let glibc = if cfg!(target_arch = "aarch64") { "ld-linux-aarch64.so.1" } else { "ld-linux-x86-64.so.2" };
    let elsewhere = format!("-Wl,--dynamic-linker=/gnu/store/abc-glibc-2.35/lib/{glibc}");
    check(&[&elsewhere], Verdict::Enter);
}

#[test]
fn the_dynamic_linker_itself_can_be_entered() {
    let loader = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    assert_eq!(verdict_of(Path::new(loader)), Verdict::Enter);
}

#[test]
fn programs_of_this_machine_are_entered() {
    for name in ["/bin/sh", "/bin/ls", "/usr/bin/env"] {
        assert_eq!(verdict_of(Path::new(name)), Verdict::Enter, "{name}");
    }
}

#[test]
fn scripts_name_their_interpreter() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("run.sh");
    fs::write(&script, "#! /bin/sh -e\nexit 0\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    match verdict_of(&script) {
        Verdict::Script(interpreter) => assert_eq!(interpreter.path(), b"/bin/sh"),
        other => panic!("{other:?}"),
    }
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(verdict_of(&script), left_alone(Reason::NotExecutable));
}

#[test]
fn rights_are_looked_at_for_programs_but_not_for_scripts() {
    let facts = Facts { mode: 0o104755, has_capabilities: true, ..program_facts() };
    assert_eq!(classify(sound_program().as_slice(), facts), left_alone(Reason::SetUid));
    assert!(matches!(classify(b"#!/bin/sh\n".as_slice(), facts), Verdict::Script(_)));
    let facts = Facts { mode: 0o100755, ..facts };
    assert_eq!(classify(sound_program().as_slice(), facts), left_alone(Reason::FileCapabilities));
}

#[test]
fn files_that_are_no_programs_are_named_as_such() {
    for bytes in [b"".as_slice(), b"hello\n", b"\x7fEL", b"MZ\x90\0", b"echo no first line\n"] {
        assert_eq!(classify_bytes(bytes), left_alone(Reason::NotAProgram), "{}", bytes.escape_ascii());
    }
    assert_eq!(classify(&Unreadable, program_facts()), left_alone(Reason::Unreadable));
    let mut object = sound_program();
    object[16] = 1;
    assert_eq!(classify_bytes(&object), left_alone(Reason::NotAProgram));
}

#[test]
fn cut_programs_are_damaged_wherever_they_end_before_their_tables() {
    let bytes = sound_program();
    for end in 4..64 {
        assert_eq!(classify_bytes(&bytes[..end]), left_alone(Reason::Damaged), "cut at {end}");
    }
    for end in [64, 100, 600, 700] {
        assert_eq!(classify_bytes(&bytes[..end]), left_alone(Reason::Damaged), "cut at {end}");
    }
    for end in 0..bytes.len() {
        let verdict = classify_bytes(&bytes[..end]);
        assert!(!matches!(verdict, Verdict::Script(_)), "cut at {end}: {verdict:?}");
    }
}

#[test]
fn every_reason_has_one_line_with_a_way_out() {
    let reasons = [
        Reason::NotFound,
        Reason::NotExecutable,
        Reason::Unreadable,
        Reason::NotAProgram,
        Reason::Damaged,
        Reason::Bits32,
        Reason::ForeignMachine { machine: 243 },
        Reason::Static,
        Reason::Musl,
        Reason::OtherLoader,
        Reason::SetUid,
        Reason::FileCapabilities,
        Reason::Sanitizer(Sanitizer::Address),
        Reason::Sanitizer(Sanitizer::HardwareAddress),
        Reason::Sanitizer(Sanitizer::Thread),
        Reason::Sanitizer(Sanitizer::Memory),
        Reason::Sanitizer(Sanitizer::Leak),
        Reason::Sanitizer(Sanitizer::Unnamed),
        Reason::ScriptsTooDeep,
    ];
    let mut sentences: Vec<&str> = reasons.iter().map(|reason| reason.sentence()).collect();
    for sentence in &sentences {
        assert!(
            sentence.contains("; ") && !sentence.contains('\n') && !sentence.ends_with('.'),
            "{sentence}"
        );
    }
    sentences.sort_unstable();
    sentences.dedup();
    assert_eq!(sentences.len(), reasons.len());
}
