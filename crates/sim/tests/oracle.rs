//! An independent oracle: the caches miss exactly when cachegrind's do.
//!
//! The addresses come from valgrind's tool lackey, `--trace-mem=yes`, which sees the accesses that cachegrind sees. Both
//! rules and figures are compared for instructions, loads and stores, in the first and in the last level. Cachegrind's
//! rules: an instruction that reads and writes the same place makes one access; an access that lies in two lines is one
//! access and misses once at most; the last level is shared by instructions and data, and sees what missed before.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holdup_sim::CacheModel;
use holdup_sim::machine::{CacheFacts, Replacement};

/// The size, ways and line of the first levels of instructions and of data, and of the last.
type Geometry = [(u64, u32, u32); 3];

/// From caches in which hardly anything stays to some that hold nearly all; one has a single way, one is a single set, and two have other lines.
const GEOMETRIES: [Geometry; 7] = [
    [(1 << 10, 2, 64), (1 << 10, 2, 64), (4 << 10, 4, 64)],
    [(4 << 10, 1, 64), (4 << 10, 1, 64), (32 << 10, 8, 64)],
    [(2 << 10, 4, 64), (8 << 10, 16, 64), (48 << 10, 12, 64)],
    [(1 << 10, 16, 64), (1 << 10, 16, 64), (8 << 10, 2, 64)],
    [(2 << 10, 2, 32), (2 << 10, 4, 32), (16 << 10, 4, 32)],
    [(8 << 10, 2, 128), (8 << 10, 4, 128), (64 << 10, 8, 128)],
    [(32 << 10, 8, 64), (32 << 10, 8, 64), (256 << 10, 16, 64)],
];

/// Of one kind of access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    accesses: u64,
    misses_first: u64,
    misses_last: u64,
}

/// Instructions, loads, stores.
type Misses = [Counted; 3];

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

fn is_installed(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

/// The program, without libraries: its addresses are the same under both tools.
fn program(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/touch.c");
    let program = folder.join("touch");
    run(Command::new("cc").args(["-std=gnu11", "-O1", "-static", "-no-pie", "-o"]).arg(&program).arg(source));
    program
}

/// What lackey writes: `I  address,size`, ` L address,size`, ` S …` and ` M …` for a load and a store in one.
fn trace(folder: &Path, program: &Path) -> String {
    let log = folder.join("lackey.log");
    let mut command = Command::new("valgrind");
    command.args(["--tool=lackey", "--trace-mem=yes"]).arg(format!("--log-file={}", log.display()));
    run(command.arg(program));
    std::fs::read_to_string(log).expect("lackey's log")
}

/// What cachegrind counts.
fn by_cachegrind(folder: &Path, program: &Path, geometry: &Geometry) -> Misses {
    let out = folder.join("cachegrind.out");
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=yes"]);
    for (name, (size, ways, line)) in ["I1", "D1", "LL"].iter().zip(geometry) {
        command.arg(format!("--{name}={size},{ways},{line}"));
    }
    run(command.arg(format!("--cachegrind-out-file={}", out.display())).arg(program));
    let text = std::fs::read_to_string(out).expect("cachegrind's file");
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).expect("its lines");
    assert_eq!(field("events: ").trim(), "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw");
    let sums: Vec<u64> =
        field("summary: ").split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let counted =
        |at: usize| Counted { accesses: sums[at], misses_first: sums[at + 1], misses_last: sums[at + 2] };
    [counted(0), counted(3), counted(6)]
}

fn cache((size, ways, line): (u64, u32, u32)) -> CacheFacts {
    CacheFacts {
        size,
        ways,
        line,
        latency: 1,
        tags: 0,
        shared_by: 1,
        replacement: Replacement::Lru,
        source: String::new(),
    }
}

/// What the simulator's caches make of the same accesses.
fn by_holdup(trace: &str, geometry: &Geometry) -> Misses {
    let [instructions, data, last] = geometry.map(cache);
    let mut model = CacheModel::new(&data, &last).with_instructions(&instructions);
    let mut misses = Misses::default();
    for line in trace.lines().filter(|line| !line.starts_with("==")) {
        let (kind, place) = line.split_at(3);
        let (address, size) = place.split_once(',').unwrap_or_else(|| panic!("{line}"));
        let address = u64::from_str_radix(address, 16).unwrap_or_else(|_| panic!("{line}"));
        let size: u32 = size.parse().unwrap_or_else(|_| panic!("{line}"));
        let (counted, (first, last)) = match kind.trim() {
            "I" => (&mut misses[0], model.fetch(address, size)),
            "L" | "M" => (&mut misses[1], model.access(address, size)),
            "S" => (&mut misses[2], model.access(address, size)),
            _ => panic!("{line}"),
        };
        counted.accesses += 1;
        counted.misses_first += first;
        counted.misses_last += last;
    }
    misses
}

#[test]
fn misses_are_exactly_those_of_cachegrind() {
    if !is_installed("valgrind") || !is_installed("cc") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = program(&folder);
    let trace = trace(&folder, &program);
    for geometry in GEOMETRIES {
        let theirs = by_cachegrind(&folder, &program, &geometry);
        assert!(theirs[0].accesses > 500_000 && theirs[2].misses_last > 100, "{theirs:?}");
        assert_eq!(by_holdup(&trace, &geometry), theirs, "{geometry:?}");
    }
}
