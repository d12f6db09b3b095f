//! Recording instructions under emulation: the program does and says what it does otherwise, every mark is told, and what
//! was recorded before an end by force is kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::stage;
use crate::stage::{
    Ended, HOLDUP, Stage, assert_refused, child_of, is_installed, record, report_json, run, start, text,
    workspace,
};
use holdup_recording::{Instructions, Recording, StreamEvent};
use rustix::process::{Signal, kill_process};

const SIGKILL: i32 = 9;

/// `holdup record --instructions -o RECORDING -- PROGRAM`.
fn record_instructions(recording: &Path, program: &Path) -> Command {
    let mut command = Command::new(HOLDUP);
    command.args(["record", "--instructions", "-o"]).arg(recording).arg("--").arg(program);
    command
}

/// The marks of a recording: of each thread's, by name and fields.
fn marks(recording: &Path) -> Vec<Vec<(String, [u64; 5])>> {
    let (recording, _) = Recording::open(recording).expect("a recording");
    let read = Instructions::of(&recording).expect("instructions");
    let mut threads = Vec::new();
    for stream in read.streams() {
        let mut told = Vec::new();
        let whole = read.each(stream, &mut |event| {
            if let StreamEvent::Mark(mark) = event {
                let (code, fields) = mark.encode();
                told.push((format!("{code:?}"), fields));
            }
        });
        assert!(whole, "stream {stream} can be understood");
        threads.push(told);
    }
    threads
}

fn count(marks: &[(String, [u64; 5])], name: &str) -> usize {
    marks.iter().filter(|(code, _)| code == name).count()
}

/// Demands that each thread begins before it does anything, and ends what it begins.
fn assert_balanced(threads: &[Vec<(String, [u64; 5])>]) {
    for marks in threads {
        assert_eq!(marks[0].0, "ThreadBegin", "{marks:?}");
        for (begin, end) in [
            ("WaitBegin", "WaitEnd"),
            ("CallBegin", "CallEnd"),
            ("UnitBegin", "UnitEnd"),
            ("RegionBegin", "RegionEnd"),
            ("ShareBegin", "ShareEnd"),
            ("SyncBegin", "SyncEnd"),
            ("WorkBegin", "WorkEnd"),
            ("TaskBegin", "TaskEnd"),
        ] {
            let mut open = 0;
            for (code, _) in marks {
                open += i32::from(code == begin) - i32::from(code == end);
                assert!(open >= 0, "{end} without {begin}: {marks:?}");
            }
            assert_eq!(open, 0, "{begin} without {end}: {marks:?}");
        }
    }
}

#[test]
fn every_use_of_every_object_is_told() {
    const ROUNDS: usize = 10;
    let stage = Stage::new();
    let include = format!("-I{}", workspace().join("include").display());
    let program = stage.program("marks", &[&include]);
    let recording = stage.path("run.holdup");
    let ended = run(&mut record_instructions(&recording, &program));
    assert_eq!((ended.status, text(&ended.stdout)), (7, "done\n".to_owned()), "{ended:?}");
    assert!(text(&ended.stderr).starts_with("words\n"), "{ended:?}");
    let threads = marks(&recording);
    assert_eq!(threads.len(), 3);
    assert_balanced(&threads);
    let main = &threads[0];
    // Nine mutexes, the semaphore and the barrier: the initialization of spin locks is not interposed.
    for (name, expected) in
        [("Created", 2), ("WaitBegin", 2), ("Initialized", 11), ("InterestBegin", 1), ("InterestEnd", 1)]
    {
        assert_eq!(count(main, name), expected, "{name} in {main:?}");
    }
    let created: Vec<u64> = main.iter().filter(|(code, _)| code == "Created").map(|(_, f)| f[0]).collect();
    for (marks, number) in threads[1..].iter().zip(created) {
        let (_, begin) = &marks[0];
        assert_eq!((begin[0], begin[1]), (number, 0), "{marks:?}");
        assert_eq!(count(marks, "ThreadEnd"), 1);
        assert_eq!(count(marks, "UnitBegin"), ROUNDS);
        // Nine and one mutexes, twice the read-write lock, the spin lock, the semaphore, which is not released.
        assert_eq!(count(marks, "Acquired"), ROUNDS * 14, "{marks:?}");
        assert_eq!(count(marks, "Released"), ROUNDS * 13, "{marks:?}");
        let readers = marks.iter().filter(|(code, fields)| code == "Acquired" && fields[3] == 1).count();
        assert_eq!(readers, ROUNDS);
        // A signal and a broadcast that nobody waits for, and the semaphore's.
        assert_eq!(count(marks, "Woke"), ROUNDS * 3);
        assert_eq!(count(marks, "CallBegin"), ROUNDS * 2);
        let barriers = marks.iter().filter(|(code, fields)| code == "WaitBegin" && fields[1] == 4).count();
        assert_eq!(barriers, ROUNDS);
    }
    // The joins name the threads as these named themselves.
    let joined = main.iter().filter(|(code, _)| code == "WaitBegin").map(|(_, fields)| fields[0]);
    let handles = threads[1..].iter().map(|marks| marks[0].1[4]);
    assert_eq!(joined.collect::<Vec<_>>(), handles.collect::<Vec<_>>());
    assert_blocks_are_named(&recording, "work", "marks.c");
    // The ordinary recording is there too, with its names.
    let json = report_json(&recording);
    let objects = json["objects"].as_array().expect("objects");
    let names: Vec<_> = objects.iter().filter_map(|object| object["name"].as_str()).collect();
    assert!(names.contains(&"barrier"), "{names:?}");
}

/// Demands a name for each block of the program's own code, and this function and file among them.
fn assert_blocks_are_named(recording: &Path, function: &str, file: &str) {
    let (recording, _) = Recording::open(recording).expect("a recording");
    let names = recording.block_names.as_ref().expect("names of blocks");
    let read = Instructions::of(&recording).expect("instructions");
    let own = read.blocks.iter().filter(|block| format!("{:?}", block.class) == "Own");
    for block in own {
        assert!(names.places.contains_key(&block.address), "{:#x} is named", block.address);
    }
    let text = |index: Option<u32>| index.map_or("", |index| names.texts[index as usize].as_str());
    let found = names.frames.iter().any(|frame| {
        text(frame.function) == function && text(frame.file).ends_with(file) && frame.line.is_some()
    });
    assert!(found, "{function} in {file}: {names:?}");
}

fn regions_are_told_whole(compiler: &str) {
    const REGIONS: usize = 200;
    const THREADS: usize = 3;
    if !is_installed(compiler) {
        return;
    }
    let stage = Stage::new();
    let source = workspace().join("crates/cli/tests/programs/team_marks.c");
    let program = stage.path("team");
    let mut command = Command::new(compiler);
    let built = run(command.args(["-O1", "-g", "-fopenmp", "-o"]).arg(&program).arg(source));
    assert_eq!(built.status, 0, "{built:?}");
    let plain = run(&mut Command::new(&program));
    let recording = stage.path("run.holdup");
    let ended = run(&mut record_instructions(&recording, &program));
    assert_eq!((ended.status, &ended.stdout), (plain.status, &plain.stdout), "{ended:?}");
    let threads = marks(&recording);
    assert_eq!(threads.len(), THREADS);
    assert_balanced(&threads);
    let sum = |name: &str| threads.iter().map(|marks| count(marks, name)).sum::<usize>();
    assert_eq!(count(&threads[0], "RegionBegin"), REGIONS);
    for marks in &threads {
        assert_eq!(count(marks, "ShareBegin"), REGIONS);
    }
    assert_eq!(sum("Chunk"), REGIONS * 300 / 20, "every chunk");
    assert_eq!(sum("TaskCreate"), REGIONS * 5);
    assert_eq!(sum("TaskBegin"), REGIONS * 5);
    // All threads of a team count its barriers alike.
    let meetings = |marks: &[(String, [u64; 5])]| {
        let all = marks.iter().filter(|(code, _)| code == "SyncBegin");
        all.map(|(_, fields)| (fields[0], fields[1])).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(meetings(&threads[0]).len(), REGIONS * 2);
    assert!(threads.iter().all(|marks| meetings(marks) == meetings(&threads[0])));
    let mut uses = BTreeMap::<u64, usize>::new();
    for (code, fields) in threads.iter().flatten() {
        if code == "Acquired" {
            *uses.entry(fields[1]).or_default() += 1;
        }
    }
    // Critical sections and locks of OpenMP.
    assert_eq!((uses[&9], uses[&10]), (REGIONS * THREADS, REGIONS * THREADS), "{uses:?}");
}

#[test]
fn regions_of_gcc_are_told_whole() {
    regions_are_told_whole("gcc");
}

#[test]
fn regions_of_llvm_are_told_whole() {
    regions_are_told_whole("clang-19");
}

#[test]
fn what_was_executed_before_a_kill_is_kept() {
    let stage = Stage::new();
    let program = stage.program("meets_forever", &[]);
    let recording = stage.path("run.holdup");
    let mut running = start(&mut record_instructions(&recording, &program));
    assert_eq!(running.first_line(), "met\n");
    kill_process(child_of(running.pid()), Signal::KILL).expect("kill");
    let ended = running.end();
    assert_eq!(ended.status, 128 + SIGKILL, "{ended:?}");
    let threads = marks(&recording);
    assert_eq!(threads.len(), 2);
    for marks in &threads {
        assert!(count(marks, "WaitBegin") >= 100, "{} marks", marks.len());
    }
}

#[test]
fn the_program_survives_the_end_of_holdup() {
    let stage = Stage::new();
    let program = stage.program("meets_forever", &[]);
    let recording = stage.path("run.holdup");
    let mut running = start(&mut record_instructions(&recording, &program));
    assert_eq!(running.first_line(), "met\n");
    let emulator = child_of(running.pid());
    kill_process(running.pid(), Signal::KILL).expect("kill");
    running.wait();
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", emulator.as_raw_pid())).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse::<u64>().ok()
    };
    let before = ticks().expect("the program runs on");
    stage::eventually("progress of the program", || ticks().filter(|now| *now > before + 5));
    kill_process(emulator, Signal::KILL).expect("kill");
    assert!(Recording::open(&recording).is_ok());
}

#[test]
fn of_a_script_the_interpreter_is_emulated() {
    let stage = Stage::new();
    let include = format!("-I{}", workspace().join("include").display());
    let program = stage.program("marks", &[&include]);
    let script = stage.write_executable("script", format!("#!{}\n", program.display()));
    let recording = stage.path("run.holdup");
    let ended = run(&mut record_instructions(&recording, &script));
    assert_eq!((ended.status, text(&ended.stdout)), (7, "done\n".to_owned()), "{ended:?}");
    assert_eq!(marks(&recording).len(), 3);
}

/// The lines of `env`, without those that recording needs, and by which the shell differs.
fn environment(ended: &Ended) -> Vec<String> {
    let ours = ["LD_PRELOAD=", "HOLDUP_SESSION=", "INTEL_", "OMP_WAIT_POLICY="];
    let said = text(&ended.stdout);
    let mut lines: Vec<String> = said
        .lines()
        .filter(|line| !ours.iter().any(|name| line.starts_with(name)))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

#[test]
fn the_program_finds_its_environment() {
    let stage = Stage::new();
    let variables = [("LD_LIBRARY_PATH", "/one,two:/three"), ("LD_BIND_NOW", "1"), ("WITH_COMMA", "a,b=c")];
    let plain = run(Command::new("env").envs(variables));
    let recorded = run(record(&stage.path("native.holdup"), "env").envs(variables));
    let emulated = run(record_instructions(&stage.path("run.holdup"), Path::new("env")).envs(variables));
    assert_eq!(environment(&recorded), environment(&plain));
    assert_eq!(environment(&emulated), environment(&plain), "{emulated:?}");
}

#[test]
fn a_static_program_is_told_of_without_marks() {
    let stage = Stage::new();
    let include = format!("-I{}", workspace().join("include").display());
    let Ok(program) = stage.try_compile(
        "static",
        workspace().join("crates/cli/tests/programs/marks.c"),
        &[&include, "-static"],
    ) else {
        return stage::skip("no static C library");
    };
    let recording = stage.path("run.holdup");
    let ended = run(&mut record_instructions(&recording, &program));
    assert_eq!(ended.status, 7, "{ended:?}");
    assert!(text(&ended.stderr).contains("statically linked"), "{ended:?}");
    assert!(marks(&recording).iter().all(Vec::is_empty));
}

#[test]
fn without_an_emulator_the_way_to_one_is_told() {
    let stage = Stage::new();
    let recording = stage.path("run.holdup");
    let refused = |qemu: &Path, names: &[&str]| {
        let ended = run(record_instructions(&recording, Path::new("true")).env("HOLDUP_QEMU", qemu));
        assert_refused(&ended, 3, names);
        assert!(!recording.exists());
    };
    refused(&stage.path("none"), &["HOLDUP_QEMU", "--enable-plugins"]);
    let version = "echo 'qemu-x86_64 version 10.0.8 (Debian 1:10.0.8)'";
    let without = stage.write_executable("without", format!("#!/bin/sh\n{version}\n"));
    refused(&without, &["10.0.8", "without plugins"]);
    let newer = format!(
        "#!/bin/sh\n[ $1 = --version ] && {version} && exit\n[ $1 = --help ] && echo '-plugin' && exit\n"
    );
    let newer = stage.write_executable("newer", newer + "echo 'only API 2-4 supported' >&2; exit 1\n");
    refused(&newer, &["10.0.8", "only API 2-4 supported"]);
    let mut command = record_instructions(&recording, Path::new("true"));
    let ended = run(command.env_remove("HOLDUP_QEMU").env("PATH", stage.directory()));
    assert_refused(&ended, 3, &["qemu-x86_64", "apt install qemu-user"]);
}
