//! Texts with wrong contents, read by what reads them: counts, machines, plans, expressions, budgets, tables and JSON of other
//! runs. Nothing panics, takes long, or much memory.
//!
//! `cargo xtask fuzz` runs this as it runs [`crate::fuzz`]; what is kept and read again is described there. ELF files and DWARF
//! are damaged by the tests of `holdup-symbols` (`hostile`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdup_counts::text;
use holdup_feed::Prepared;
use holdup_imbalance::WhyOptions;
use holdup_model::{Run, Timeline};
use holdup_recording::Recording;
use holdup_replay::{Replayer, parse};
use holdup_report::Look;
use holdup_sim::{Machine, Options};

use super::bad_input::assert_harmless;
use crate::fuzz::Fuzz;
use crate::stage;
use crate::stage::forged::Numbers;
use crate::stage::{HOLDUP, run, workspace};

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "0.5",
];

/// What stands in texts beside their own words.
const PIECES: &[&str] = &[
    "",
    " ",
    "\n",
    "\t",
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    "..",
    ":",
    ",",
    ";",
    "#",
    "*",
    "%",
    "<",
    ">",
    "\u{1b}[2J",
    "<script>alert(1)</script>",
    "\u{202e}",
    "\u{0}",
    "../../etc/passwd",
    "é",
    "{threads}",
    "{input}",
];

const PLAIN: Look = Look::plain(80);

/// A text as words, numbers and what stands between: what is exchanged.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let class = |character: char| match character {
        _ if character.is_alphabetic() || "_-".contains(character) => 0,
        _ if character.is_ascii_digit() || character == '.' => 1,
        _ if character == ' ' => 2,
        _ => 3,
    };
    let mut last = None;
    for character in text.chars() {
        let own = class(character);
        match tokens.last_mut().filter(|_| last == Some(own) && own != 3) {
            Some(token) => token.push(character),
            None => tokens.push(character.to_string()),
        }
        last = Some(own);
    }
    tokens
}

/// A text like one of these, with a few things changed.
fn generated(seeds: &[Vec<String>], numbers: &mut Numbers) -> String {
    let mut tokens = numbers.of(seeds).clone();
    let is_number = |token: &String| token.parse::<f64>().is_ok();
    let changes = if numbers.one_in(4) { 1 + numbers.below(4) } else { 1 };
    for _ in 0..changes {
        let of_numbers: Vec<usize> = (0..tokens.len()).filter(|at| is_number(&tokens[*at])).collect();
        if !of_numbers.is_empty() && !numbers.one_in(3) {
            let at = *numbers.of(&of_numbers);
            tokens[at] = match numbers.below(9) {
                0 => (*numbers.of(NUMBERS)).to_owned(),
                1 => (numbers.next() >> numbers.below(64)).to_string(),
                2 | 6..9 => tokens[*numbers.of(&of_numbers)].clone(),
                3 => format!("{}0", tokens[at]),
                4 => numbers.below(10).to_string(),
                _ => format!("{}.{}", numbers.below(3), numbers.below(1000)),
            };
            continue;
        }
        if tokens.is_empty() {
            break;
        }
        let at = numbers.below(tokens.len());
        let length = 1 + numbers.below(40.min(tokens.len() - at));
        match numbers.below(7) {
            0 => tokens[at] = (*numbers.of(PIECES)).to_owned(),
            1 => tokens[at] = numbers.of(&tokens).clone(),
            2 => tokens.insert(at, (*numbers.of(PIECES)).to_owned()),
            3 => _ = tokens.drain(at..at + length),
            4 => {
                let part = tokens[at..at + length].to_vec();
                let times = if numbers.one_in(20) { 300 } else { 1 };
                for _ in 0..times {
                    tokens.splice(at..at, part.iter().cloned());
                }
            }
            5 => {
                let other = numbers.of(seeds);
                let from = numbers.below(other.len());
                let part = &other[from..other.len().min(from + 30)];
                tokens.splice(at..at, part.iter().cloned());
            }
            _ => tokens[at] = tokens[at].repeat(1 + numbers.below(4)),
        }
    }
    tokens.concat()
}

/// Reads a text, and has a file's name to use; true if it was taken.
type Read = dyn Fn(&str, &Path) -> bool;

/// A kind of input: texts that are right, and what reads such ones.
struct Kind {
    name: &'static str,
    seeds: Vec<Vec<String>>,
    /// Out of so many inputs one is of this kind.
    one_in: usize,
    read: Box<Read>,
}

fn golden(name: &str) -> (Recording, Run) {
    let path = stage::golden::recordings().join(format!("{name}.holdup"));
    let (recording, warnings) = Recording::open(&path).expect("a stored recording");
    let run = recording.run(&warnings);
    (recording, run)
}

/// Files of a directory that end so, as tokens.
fn files(folder: &str, ending: &str) -> Vec<Vec<String>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(workspace().join(folder))
        .expect("a directory")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    paths.sort();
    paths.iter().map(|path| tokens(&fs::read_to_string(path).expect("a text"))).collect()
}

fn of_texts(texts: &[&str]) -> Vec<Vec<String>> {
    texts.iter().map(|text| tokens(text)).collect()
}

fn counts() -> Kind {
    let mut seeds = of_texts(&["\
holdup counts 1
thread 0
thread 1
block 1 file=lu.c line=407 function=lu instructions=4 exit=branch
block 2 file=lu.c line=408 function=lu instructions=90
section barrier file=lu.c line=604
instance
edge 1 2 0 500
edge 1 2 1 100
"]);
    for name in ["lime_tree_counts", "lime_poll_counts"] {
        let (recording, run) = golden(name);
        let found = holdup_counts::counts(&recording, &run).expect("counts");
        seeds.push(tokens(&text::write(&found)));
    }
    let read = |text: &str, _: &Path| {
        let Ok(counts) = text::parse(text) else { return false };
        let search = WhyOptions { draws: 10, ..WhyOptions::default() };
        let why = holdup_imbalance::why(&counts, &search);
        assert_harmless(&holdup_report::render_why(&why, &Default::default(), PLAIN));
        assert_harmless(&holdup_report::why_json_text(&why, &Default::default()));
        true
    };
    Kind { name: "counts", seeds, one_in: 3, read: Box::new(read) }
}

/// Machines, with a recorded program that runs on those that can be.
fn machines() -> Kind {
    let (recording, run) = golden("sim_lock_stream");
    let read = move |text: &str, _: &Path| {
        let Ok(machine) = Machine::parse(text) else { return false };
        assert_eq!(Machine::parse(&machine.to_toml()).as_ref(), Ok(&machine), "what it writes it reads");
        let prepared = Prepared::new(&recording, &run).expect("streams");
        let options = Options { cores: machine.cores().min(16), ..Options::default() };
        // No longer than a user who looks at what comes.
        let mut rounds = 0;
        let simulated = prepared.simulated(false, &machine, &options, &mut |_| {
            rounds += 1;
            rounds < 20
        });
        assert!(!simulated.threads.is_empty());
        true
    };
    Kind { name: "machines", seeds: files("machines", "toml"), one_in: 8, read: Box::new(read) }
}

fn plans() -> Kind {
    let read = |text: &str, file: &Path| {
        fs::write(file, text).expect("a file");
        match holdup_sweep::Plan::read(file) {
            Ok(_) => true,
            Err(error) => {
                let said = error.to_string();
                assert!(said.lines().count() == 1, "{said}");
                false
            }
        }
    };
    Kind { name: "plans", seeds: files("bench/study", "toml"), one_in: 3, read: Box::new(read) }
}

fn expressions() -> Kind {
    let (_, run) = golden("critical_section");
    let seeds = of_texts(&[
        "cores=3",
        "cores=1..8, wakeup=0",
        "lock:table_lock=0, threads=4",
        "lock:table_lock/4, io=0",
        "lock:table_lock split 8",
        "threads=1..16",
        "thread:worker/2, sleep=0",
        "threads:worker=balanced",
        "cores=4, threads=8",
        "io/2, sleep/4",
        "thread:worker/1.5, cores=2",
        "lock:table_lock/3, cores=16",
        "lock:table_lock split 2..16",
        "cores=1..64, io/3",
        "threads=2, lock:table_lock/2",
    ]);
    let read = move |text: &str, _: &Path| {
        let process = &run.processes[0];
        let Ok(points) = parse(text, process) else { return false };
        let timeline = Timeline::build(process);
        let Ok(replayer) = Replayer::of(process, &timeline, 2) else { return true };
        for point in points.iter().take(2) {
            if let Ok(prediction) = replayer.predict(&point.changes) {
                assert!(prediction.low <= prediction.high, "{text}: {prediction:?}");
            }
        }
        true
    };
    Kind { name: "expressions", seeds, one_in: 2, read: Box::new(read) }
}

fn budgets() -> Kind {
    let seeds = of_texts(&[
        "wall<=1s",
        "efficiency>=0.7",
        "finding:lock<=5%",
        "object:the_*<2ms",
        "lock:table_lock<=5%",
    ]);
    let read = |text: &str, _: &Path| holdup_compare::parse_budget(text).is_ok();
    Kind { name: "budgets", seeds, one_in: 2, read: Box::new(read) }
}

/// What `holdup characterize` reads, as commands: a process for each.
fn tables() -> Kind {
    let json = {
        let path = stage::golden::recordings().join("uneven.holdup");
        let ended = run(Command::new(HOLDUP).arg("report").arg(path).arg("--json"));
        stage::text(&ended.stdout)
    };
    let seeds = of_texts(&[
        "program,threads,depend-int,mem-dram\na,1,0.2,0.3\na,4,0.1,0.6\nb,1,0.4,0.1\nb,4,0.2,0.2\n",
        "name;x;y;z\none;1;2;3\ntwo;2,5;4;1\nthree;7;8;9\n",
        "suite\tprogram\tinput\tthreads\tx\ty\ns\tp\tsmall\t1\t0.1\t5\ns\tp\tlarge\t1\t0.4\t6\n",
        &json,
    ]);
    let read = |text: &str, file: &Path| {
        let file = file.with_extension(if text.trim_start().starts_with('{') { "json" } else { "csv" });
        fs::write(&file, text).expect("a file");
        let ended = run(Command::new(HOLDUP).arg("characterize").arg(&file));
        let said = stage::text(&ended.stderr);
        assert!([0, 2].contains(&ended.status), "{ended:?}");
        assert!(ended.status == 0 || said.starts_with("holdup: ") && said.lines().count() == 1, "{said}");
        assert_harmless(&stage::text(&ended.stdout));
        ended.status == 0
    };
    Kind { name: "tables", seeds, one_in: 60, read: Box::new(read) }
}

/// The texts that a test reads.
const INPUTS: u64 = 400;

#[test]
fn texts_with_wrong_contents() {
    let kinds = [counts(), machines(), plans(), expressions(), budgets(), tables()];
    let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name).collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-seed");
    for kind in &kinds {
        let refused: Vec<String> =
            kind.seeds.iter().map(|seed| seed.concat()).filter(|seed| !(kind.read)(seed, &file)).collect();
        assert_eq!(refused, Vec::<String>::new(), "{}: what is changed is right before", kind.name);
    }
    Fuzz {
        inputs: INPUTS,
        kinds: &names,
        make: &|numbers| loop {
            let kind = numbers.of(&kinds);
            if numbers.one_in(kind.one_in) {
                return (kind.name, generated(&kind.seeds, numbers).into_bytes());
            }
        },
        read: &|name, bytes, file| {
            let kind = kinds.iter().find(|kind| kind.name == name).expect("a kind of text");
            (kind.read)(&String::from_utf8_lossy(bytes), file)
        },
        // Changes are few, so that much is still a text of its kind.
        one_in: 2,
    }
    .run();
}
