//! Counts are exact: how often each instruction of the program's own code was executed, and each jump taken, by each of its
//! threads, is what callgrind, an independent counter, says.
//!
//! Code of the section `.text` only, without stubs and what the linker adds around it: the C library chooses among variants of its functions by what the processor can do, and an emulated
//! processor can do other things.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{HOLDUP, Stage, is_installed, run, workspace};
use holdup_recording::{Instructions, Recording, StreamEvent};
use holdup_trace::instructions::{CodeClass, Mark};
use object::{Object, ObjectSection};

/// Of one thread.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    /// By address, how often executed.
    instructions: BTreeMap<u64, u64>,
    /// By (address of the jump, of its target), how often taken.
    jumps: BTreeMap<(u64, u64), u64>,
    /// Instructions with a REP prefix.
    repeated: BTreeSet<u64>,
}

/// Threads in the order in which they began.
type Threads = Vec<Counted>;

/// A program whose addresses do not depend on where it is loaded, and whose functions are bound before it begins: the
/// first caller of a function would otherwise execute more.
const FLAGS: [&str; 4] = ["-std=gnu11", "-no-pie", "-Wl,-z,now", "-pthread"];

fn build(stage: &Stage, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let program = stage.path(name);
    let mut cc = Command::new("cc");
    cc.args(FLAGS).args(["-g", "-O2", "-o"]).arg(&program).arg(source).args(flags);
    let ended = run(&mut cc);
    assert_eq!(ended.status, 0, "{ended:?}");
    program
}

/// What callgrind counts in the program's own file.
fn by_callgrind(stage: &Stage, program: &Path, arguments: &[&str]) -> Threads {
    let out = stage.path("callgrind.out");
    let mut command = Command::new("valgrind");
    command.args([
        "--tool=callgrind",
        "--dump-instr=yes",
        "--dump-line=no",
        "--collect-jumps=yes",
        "--separate-threads=yes",
        // Otherwise what stubs execute is added to the instruction that calls them.
        "--skip-plt=no",
        "--compress-pos=no",
        "--compress-strings=no",
    ]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.status, 0, "{ended:?}");
    let part = |number: u32| std::fs::read_to_string(format!("{}-{number:02}", out.display())).ok();
    (1..).map_while(part).map(|text| callgrind_part(&text, program)).collect()
}

/// The file of one thread: lines `address count`, sorted into functions and files by lines that begin with letters. A line
/// `calls=` makes the next one the cost of what was called. `jump=N target` and `jcnd=N/of target` say how often the jump
/// in the next line was taken.
fn callgrind_part(text: &str, program: &Path) -> Counted {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let mut counted = Counted::default();
    let mut own = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        if let Some(object) = line.strip_prefix("ob=") {
            own = Path::new(object) == program;
        } else if line.starts_with("calls=") {
            lines.next();
        } else if let Some(jump) = line.strip_prefix("jump=").or_else(|| line.strip_prefix("jcnd=")) {
            let at = lines.next().and_then(|next| number(next.trim()));
            let mut words = jump.split_whitespace();
            let taken = words.next().and_then(|word| number(word.split('/').next()?));
            let target = words.next().and_then(number);
            let (Some(at), Some(taken), Some(target)) = (at, taken, target) else { panic!("{line}") };
            if own {
                *counted.jumps.entry((at, target)).or_default() += taken;
            }
        } else if own && line.starts_with("0x") {
            let (at, count) = (words.next().and_then(number), words.next().and_then(number));
            let (Some(at), Some(count)) = (at, count) else { panic!("{line}") };
            *counted.instructions.entry(at).or_default() += count;
        }
    }
    counted
}

/// What is recorded of it under emulation.
fn by_holdup(stage: &Stage, program: &Path, arguments: &[&str]) -> Threads {
    let file = stage.path("exact.holdup");
    let mut command = Command::new(HOLDUP);
    command.args(["why", "--roi", "all", "--no-native", "--no-intervals", "-o"]).arg(&file).arg("--");
    let ended = run(command.arg(program).args(arguments));
    assert_eq!(ended.status, 0, "{ended:?}");
    let (recording, warnings) = Recording::open(&file).expect("a recording");
    assert!(warnings.is_empty(), "{warnings:?}");
    let instructions = Instructions::of(&recording).expect("streams of instructions");
    let mut threads: BTreeMap<u64, Counted> = BTreeMap::new();
    for stream in instructions.streams() {
        let mut counted = Counted::default();
        let mut thread = None;
        let whole = instructions.each(stream, &mut |event| match event {
            StreamEvent::Mark(Mark::ThreadBegin { number, .. }) => thread = Some(u64::from(number)),
            StreamEvent::Counts(counts) => {
                for &(block, times) in &counts.executed {
                    let block = &instructions.blocks[block as usize];
                    if block.class == CodeClass::Own {
                        for (at, text) in holdup_code::listing(&block.bytes, block.address) {
                            // One instruction for us and for processors, one for each turn for callgrind.
                            if !text.starts_with("rep") {
                                *counted.instructions.entry(at).or_default() += times;
                            } else {
                                counted.repeated.insert(at);
                            }
                        }
                    }
                }
                for &(from, to, times) in &counts.edges {
                    let (from, to) = (&instructions.blocks[from as usize], &instructions.blocks[to as usize]);
                    let at = holdup_code::last_instruction(&from.bytes, from.address);
                    *counted.jumps.entry((at, to.address)).or_default() += times;
                }
            }
            StreamEvent::Lost(entries, why) => panic!("{entries} entries lost: {why:?}"),
            _ => {}
        });
        assert!(whole, "stream {stream} cannot be read");
        if !counted.instructions.is_empty() {
            threads.insert(thread.expect("a thread's number"), counted);
        }
    }
    threads.into_values().collect()
}

/// Demands that both say the same of every instruction and of every jump that callgrind knows.
fn compare(name: &str, ours: &Threads, theirs: &Threads) {
    assert_eq!(ours.len(), theirs.len(), "{name}: threads");
    for (thread, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let total = |counted: &Counted| counted.instructions.values().sum::<u64>();
        let all: Vec<u64> = ours.instructions.keys().chain(theirs.instructions.keys()).copied().collect();
        let at = |counted: &Counted, address| counted.instructions.get(&address).copied().unwrap_or(0);
        let differ: BTreeMap<u64, (u64, u64)> = all
            .into_iter()
            .map(|address| (address, (at(ours, address), at(theirs, address))))
            .filter(|(_, (ours, theirs))| ours != theirs)
            .collect();
        assert!(
            differ.is_empty(),
            "{name}, thread {thread}: {} and {} instructions in all; by address, ours and callgrind's: {differ:x?}",
            total(ours),
            total(theirs)
        );
        assert!(total(ours) > 0 && !theirs.jumps.is_empty(), "{name}, thread {thread} did nothing");
        for (jump, taken) in &theirs.jumps {
            let counted = ours.jumps.get(jump).copied().unwrap_or(0);
            assert_eq!(counted, *taken, "{name}, thread {thread}: the jump {jump:x?}");
        }
    }
}

fn text_section(program: &Path) -> Range<u64> {
    let bytes = std::fs::read(program).expect("the program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let section = file.section_by_name(".text").expect("a section .text");
    section.address()..section.address() + section.size()
}

fn check(name: &str, source: &Path, flags: &[&str], arguments: &[&str]) {
    if !is_installed("valgrind") {
        return;
    }
    let stage = Stage::new();
    let program = build(&stage, name, source, flags);
    let text = text_section(&program);
    let (mut theirs, mut ours) =
        (by_callgrind(&stage, &program, arguments), by_holdup(&stage, &program, arguments));
    for counted in theirs.iter_mut().chain(&mut ours) {
        counted.instructions.retain(|address, _| text.contains(address));
        counted.jumps.retain(|(from, to), _| text.contains(from) && text.contains(to));
    }
    let repeated: BTreeSet<u64> = ours.iter().flat_map(|counted| counted.repeated.clone()).collect();
    for counted in &mut theirs {
        counted.instructions.retain(|address, _| !repeated.contains(address));
        counted.jumps.retain(|(from, _), _| !repeated.contains(from));
    }
    compare(name, &ours, &theirs);
}

#[test]
fn counts_of_a_single_thread_are_those_of_callgrind() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/why/why_single.c");
    check("single", &source, &[], &[]);
}

#[test]
fn counts_of_threads_are_those_of_callgrind() {
    let folder = workspace().join("workloads");
    for name in ["lime_turns", "lime_switch", "lime_pointer", "lime_tree", "lime_sort", "lime_lu"] {
        check(name, &folder.join(name).join("main.c"), &[], &["3"]);
    }
}
