//! Compiles the test programs, runs them, and reads what they write.

// Each test file uses its own part of this.

pub(crate) mod live;

use std::path::{Path, PathBuf};
use std::process::Command;

use holdup_symbols::{Frame, Module, Options, StackCopy, Symbolizer, Unwound, Warning};

/// One `capture()` of a program.
pub(crate) struct Capture {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
    pub(crate) stack: Vec<u8>,
    pub(crate) modules: Vec<Module>,
}

impl Capture {
    pub(crate) fn copy(&self) -> StackCopy<'_> {
        StackCopy { ip: self.ip, sp: self.sp, bp: Some(self.bp), bytes: &self.stack }
    }
}

/// All that a program wrote.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) captures: Vec<Capture>,
    pub(crate) addresses: Vec<u64>,
}

pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Runs a tool that the tests cannot do without.
pub(crate) fn run(tool: &str, arguments: &[&str], directory: &Path) -> Vec<u8> {
    let output = Command::new(tool).args(arguments).current_dir(directory).output().unwrap_or_else(|error| {
        panic!("these tests need `{tool}` ({error}): install the Debian packages gcc, g++ and binutils")
    });
    assert!(
        output.status.success(),
        "`{tool} {}` failed ({}): {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Compiles `source` with the compiler and these flags into `directory/name`.
pub(crate) fn compile(compiler: &str, source: &str, flags: &[&str], directory: &Path, name: &str) -> PathBuf {
    let programs = programs();
    let source = programs.join(source).display().to_string();
    let capture = programs.join("capture.c").display().to_string();
    run("cc", &["-O2", "-g", "-c", &capture, "-o", "capture.o"], directory);
    // Two steps, so that split DWARF files are named after the object file.
    let object = format!("{name}.o");
    let mut first = flags.to_vec();
    first.extend(["-c", &source, "-o", &object]);
    run(compiler, &first, directory);
    let mut second = flags.to_vec();
    second.extend([&object, "capture.o", "-o", name, "-pthread", "-Wl,--build-id"]);
    run(compiler, &second, directory);
    directory.join(name)
}

/// Compiles a Go program; nothing on machines without Go.
pub(crate) fn compile_go(source: &str, flags: &[&str], directory: &Path) -> Option<PathBuf> {
    Command::new("go").arg("version").output().ok().filter(|output| output.status.success())?;
    let program = directory.join("program");
    let status = Command::new("go")
        .arg("build")
        .args(flags)
        .arg("-o")
        .args([&program, &programs().join(source)])
        .env("GO111MODULE", "off")
        .env("GOCACHE", holdup_stage::kept_directory("go"))
        .env("HOME", directory)
        .current_dir(directory)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "go build {source}");
    Some(program)
}

/// Runs a program and reads its records.
pub(crate) fn output_of(program: &Path, arguments: &[&str]) -> Output {
    let bytes = run(&program.display().to_string(), arguments, Path::new("/"));
    let mut rest = Records(&bytes);
    let mut output = Output::default();
    while !rest.0.is_empty() {
        match rest.word() {
            1 => output.captures.push(rest.capture()),
            2 => output.addresses.push(rest.word()),
            other => panic!("the program wrote a record of kind {other}"),
        }
    }
    output
}

struct Records<'a>(&'a [u8]);

impl Records<'_> {
    fn bytes(&mut self, size: u64) -> Vec<u8> {
        let (first, rest) = self.0.split_at(size as usize);
        self.0 = rest;
        first.to_vec()
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes(8).try_into().unwrap())
    }

    fn sized(&mut self) -> Vec<u8> {
        let size = self.word();
        self.bytes(size)
    }

    fn capture(&mut self) -> Capture {
        let (ip, sp, bp, stack) = (self.word(), self.word(), self.word(), self.sized());
        let modules = (0..self.word())
            .map(|_| {
                let (bias, start, end) = (self.word(), self.word(), self.word());
                let build_id = Some(self.sized()).filter(|id| !id.is_empty());
                let path = PathBuf::from(String::from_utf8(self.sized()).unwrap());
                Module { path, bias, start, end, build_id }
            })
            .collect();
        Capture { ip, sp, bp, stack, modules }
    }
}

/// Options that look nowhere outside of `directory`.
pub(crate) fn options_in(directory: &Path) -> Options {
    Options { debug_directories: vec![directory.join("debug")] }
}

/// A symbolizer that warns of nothing.
pub(crate) fn symbolizer(capture: &Capture, options: Options) -> Symbolizer {
    let (symbolizer, warnings) = Symbolizer::new(capture.modules.clone(), options);
    assert_eq!(warnings, Vec::<Warning>::new());
    symbolizer
}

/// The frames of all addresses, innermost first, inlined ones included.
pub(crate) fn frames_of(symbolizer: &mut Symbolizer, unwound: &Unwound) -> Vec<Frame> {
    unwound
        .addresses
        .iter()
        .enumerate()
        .flat_map(|(depth, address)| symbolizer.frames(*address, depth > 0))
        .collect()
}

/// The names of frames; an unknown one gives its module in angle brackets.
pub(crate) fn names(frames: &[Frame]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| {
            let module = frame.module.as_deref().unwrap_or("?");
            frame.function.clone().unwrap_or_else(|| format!("<{module}>"))
        })
        .collect()
}

/// Whether `expected` comes in this order, though not necessarily without others between.
#[track_caller]
pub(crate) fn assert_in_order(names: &[String], expected: &[&str]) {
    let mut rest = names.iter();
    for wanted in expected {
        assert!(rest.any(|name| name == wanted), "{wanted} is missing, or out of order, in {names:?}");
    }
}

/// The line of a test program that holds this mark.
pub(crate) fn line_of(source: &str, mark: &str) -> u32 {
    let text = std::fs::read_to_string(programs().join(source)).unwrap();
    let line = text.lines().position(|line| line.contains(mark));
    u32::try_from(line.unwrap_or_else(|| panic!("no line of {source} holds {mark:?}"))).unwrap() + 1
}
