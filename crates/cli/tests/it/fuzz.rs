//! Recordings with right checksums and wrong contents, made of the stored ones and read by everything that reads recordings.
//!
//! `cargo xtask fuzz` runs this for as long as it is told to, half of the time with a fresh seed; as a test it reads the same few
//! inputs each time. What is wrong is kept in `target/tmp/fuzz/` before it is read, so that it is there whatever becomes of this process;
//! `HOLDUP_FUZZ_FILE` reads one of those again.

use std::collections::BTreeMap;
use std::fs;
use std::io::sink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use holdup_compare::{Against, Ledger, compare};
use holdup_criticality::{Depth, Diagnosis, ProcessTree, diagnose, predict_gains};
use holdup_export::Weight;
use holdup_feed::Prepared;
use holdup_imbalance::WhyOptions;
use holdup_model::{Nanos, Process, Run, Timeline};
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, Sources};
use holdup_replay::{Replayer, parse};
use holdup_report::{Look, PageOptions};
use holdup_scaling::{ScalePoint, scale};
use holdup_sim::{Machine, Options};
use serde_json::Value;

use super::bad_input::assert_harmless;
use crate::stage;
use crate::stage::forged::{Frame, Numbers, file_of, frames};

const WORDS: [u64; 14] = [
    0,
    1,
    2,
    7,
    u32::MAX as u64,
    1 << 32,
    1 << 40,
    1 << 53,
    (1 << 53) + 1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
    0x7fff_0000_1234_5678,
];

const TEXTS: [&str; 10] = [
    "",
    "\u{1b}[2J\u{1b}]0;x\u{7}",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\u{202e}abc\u{200b}\n\r\t",
    "%s%n{}{{0}}",
    "../../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "\"'`,;\\",
    "a::<T as B>::c::{{closure}}",
];

fn mutate_word(word: u64, numbers: &mut Numbers) -> u64 {
    match numbers.below(8) {
        0 | 1 => *numbers.of(&WORDS),
        2 => word ^ 1 << numbers.below(64),
        3 => word.wrapping_add(1 + numbers.below(3) as u64),
        4 => word.wrapping_sub(1 + numbers.below(3) as u64),
        5 => word.wrapping_mul(1 + numbers.below(1 << 20) as u64),
        6 => word >> numbers.below(64),
        _ => word.wrapping_add(numbers.next() % 10_000_000_000),
    }
}

/// Words: of records. Some are changed, and runs of them are left out, doubled, moved.
fn mutate_words(content: &mut Vec<u8>, from: usize, numbers: &mut Numbers) {
    let count = content.len().saturating_sub(from) / 8;
    if count == 0 {
        return;
    }
    let mut words: Vec<u64> = content[from..from + count * 8]
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight")))
        .collect();
    for _ in 0..1 + numbers.below(12) {
        let at = numbers.below(words.len());
        let length = 1 + numbers.below(24.min(words.len() - at));
        match numbers.below(9) {
            0..=3 => words[at] = mutate_word(words[at], numbers),
            4 => words[at] = *numbers.of(&words),
            5 if words.len() > 2 => _ = words.drain(at..at + length),
            6 => {
                let part = words[at..at + length].to_vec();
                let times = if numbers.one_in(20) { 200 } else { 1 };
                let to = numbers.below(words.len());
                for _ in 0..times {
                    words.splice(to..to, part.iter().copied());
                }
            }
            7 => {
                let other = numbers.below(words.len());
                words.swap(at, other);
            }
            _ => words[at] = words[at] & !0xffff | numbers.next() & 0xffff,
        }
        if words.is_empty() {
            break;
        }
    }
    content.truncate(from);
    content.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// Bytes: of entries of another form.
fn mutate_bytes(content: &mut Vec<u8>, from: usize, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(16) {
        if content.len() <= from {
            return;
        }
        let at = from + numbers.below(content.len() - from);
        match numbers.below(5) {
            0 => content[at] ^= 1 << numbers.below(8),
            1 => content[at] = *numbers.of(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => _ = content.remove(at),
            3 => content.insert(at, numbers.next() as u8),
            _ => content[at] = numbers.next() as u8,
        }
    }
}

/// A value of JSON, somewhere inside.
fn mutate_value(value: &mut Value, numbers: &mut Numbers) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = numbers.of(&keys).clone();
            if numbers.one_in(30) {
                fields.remove(&key);
            } else if let Some(inner) = fields.get_mut(&key) {
                mutate_value(inner, numbers);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            let at = numbers.below(values.len());
            match numbers.below(12) {
                0 => _ = values.remove(at),
                1 => {
                    let again = values[at].clone();
                    let times = if numbers.one_in(10) { 100 } else { 1 };
                    values.extend(std::iter::repeat_n(again, times));
                }
                2 => values.reverse(),
                3 => values.clear(),
                _ => mutate_value(&mut values[at], numbers),
            }
        }
        Value::Number(number) => {
            let word = number.as_u64().unwrap_or(0);
            *value = match numbers.below(12) {
                0 => Value::from(-1),
                1 => Value::from(f64::MAX),
                2 => Value::from(0.5),
                3 => Value::from(-1e300),
                _ => Value::from(mutate_word(word, numbers)),
            };
        }
        Value::String(text) => match numbers.below(4) {
            0 => *text = text.repeat(1 + numbers.below(50)),
            1 => text.push_str(numbers.of::<&str>(&TEXTS)),
            _ => *text = (*numbers.of(&TEXTS)).to_owned(),
        },
        Value::Bool(truth) => *truth = !*truth,
        other => *other = Value::from(*numbers.of(&WORDS)),
    }
}

fn mutate_frame(frame: &mut Frame, numbers: &mut Numbers) {
    match FrameKind::from_code(frame.kind) {
        Some(FrameKind::Chunk) => {
            if numbers.one_in(10) {
                let at = numbers.below(8.min(frame.content.len()));
                frame.content[at] = numbers.below(5) as u8;
            }
            mutate_words(&mut frame.content, 8, numbers);
        }
        Some(FrameKind::Kernel) => mutate_words(&mut frame.content, 0, numbers),
        Some(FrameKind::Instructions) => mutate_bytes(&mut frame.content, 8, numbers),
        _ => {
            let Ok(mut value) = serde_json::from_slice::<Value>(&frame.content) else { return };
            for _ in 0..1 + numbers.below(6) {
                mutate_value(&mut value, numbers);
            }
            frame.content = value.to_string().into_bytes();
        }
    }
}

/// A recording like one of these, with a few things changed.
fn generated(seeds: &[Vec<Frame>], numbers: &mut Numbers) -> Vec<u8> {
    let mut all = numbers.of(seeds).clone();
    for _ in 0..1 + numbers.below(5) {
        if all.is_empty() {
            break;
        }
        let at = numbers.below(all.len());
        match numbers.below(20) {
            0 => _ = all.remove(at),
            1 => all.insert(at, all[at].clone()),
            2 => {
                let other = numbers.below(all.len());
                all.swap(at, other);
            }
            3 => all[at].process = *numbers.of(&[0, 1, 2, 5, u32::MAX]),
            4 => {
                let other = numbers.of(seeds);
                if !other.is_empty() {
                    all.insert(at, numbers.of(other).clone());
                }
            }
            _ => mutate_frame(&mut all[at], numbers),
        }
    }
    file_of(&all)
}

const PLAIN: Look = Look::plain(80);

/// Numbers that cannot be.
fn assert_possible(run: &Run, diagnosis: &Diagnosis) {
    let criticality = &diagnosis.criticality;
    let sum = criticality.threads.iter().sum::<f64>() + criticality.nobody_total();
    let total = criticality.total.get() as f64;
    assert!((sum - total).abs() <= total * 1e-3 + 1.0, "criticality adds up to {sum} of {total} ns");
    let process: &Process = &run.processes[diagnosis.process];
    for finding in &diagnosis.findings {
        if let Some(gain) = &finding.gain {
            assert!(gain.low <= gain.high && gain.time <= gain.high.max(gain.time), "{gain:?}");
            assert!(
                gain.time <= process.wall().max(Nanos::new(1)),
                "gains {:?} of {:?}",
                gain.time,
                process.wall()
            );
        }
    }
}

/// No raw markup of a name in a page: the texts that mutations put in are escaped wherever they stand.
fn assert_escaped(page: &str) {
    for raw in ["<script>alert(1)", "<img src=x onerror"] {
        assert!(!page.contains(raw), "{raw} stands in the page");
    }
    assert!(!page.contains('\u{1b}'), "an escape character stands in the page");
}

/// A run beside one that is as it was recorded: what changed, and how it scales.
fn compare_with(other: &Run, run: &Run, diagnoses: &[Diagnosis]) {
    if let Some(first) = diagnoses.first() {
        let own = [Ledger::of(run, first)];
        let others = [Ledger::of(other, &diagnose(other, 0))];
        for (before, after) in [(&others, &own), (&own, &others), (&own, &own)] {
            for against in [Against::Change, Against::Threads] {
                let comparison = compare(before, after, against).expect("two sides");
                assert_harmless(&holdup_report::render_answer(&comparison.answer(), PLAIN));
                assert_harmless(&holdup_report::diff_json_text(&comparison));
            }
        }
    }
    let points = [(1, other), (4, run)];
    let points =
        points.map(|(threads, run)| ScalePoint { threads, runs: std::slice::from_ref(run), plain: &[] });
    let scaling = scale(&points);
    assert_harmless(&holdup_report::render_scale(&scaling, PLAIN));
    assert_harmless(&holdup_report::scale_json_text(&scaling));
}

/// How many times a simulation is looked at before it is broken off.
const LOOKS: u32 = 3;

/// The streams of a recording, simulated: whole, and by slices that stand for others.
fn simulate(recording: &Recording, run: &Run, machine: &Machine) {
    let Ok(prepared) = Prepared::new(recording, run) else { return };
    let options = Options { cores: 4, ..Options::default() };
    let mut looks = 0;
    let mut is_long = |_: &_| {
        looks += 1;
        looks % LOOKS != 0
    };
    prepared.simulated(true, machine, &options, &mut is_long);
    if let Some(plan) = prepared.plan(machine, options.cores) {
        prepared.sampled(machine, &options, &plan, &mut is_long);
    }
}

/// What recordings are read beside.
struct Beside {
    /// A recording as it was made.
    other: Run,
    machine: Machine,
}

impl Beside {
    fn new() -> Beside {
        let path = stage::golden::recordings().join("critical_section.holdup");
        let (recording, warnings) = Recording::open(&path).expect("a stored recording");
        let machine =
            fs::read_to_string(stage::workspace().join("machines/nehalem.toml")).expect("a machine");
        Beside { other: recording.run(&warnings), machine: Machine::parse(&machine).expect("a machine") }
    }
}

/// What all processes did is the run, no more and no less.
fn assert_possible_tree(run: &Run, tree: &ProcessTree) {
    let wall = run.end.since(run.start);
    assert_eq!(tree.at_once.iter().copied().sum::<Nanos>(), wall);
    assert_eq!(tree.path.iter().map(|step| step.length()).sum::<Nanos>(), wall);
    assert!(tree.path.windows(2).all(|pair| pair[0].to == pair[1].from), "{:?}", tree.path);
    assert!(tree.over_time.iter().all(|active| active.is_finite()));
}

/// Everything that reads a recording. True if it came to analyses.
fn read_all(bytes: &[u8], beside: &Beside) -> bool {
    let Ok((recording, warnings)) = Recording::parse(bytes, Path::new("fuzz.holdup")) else { return false };
    let run = recording.run_from(&warnings, Sources::ALL);
    let order = run.busiest_first();
    let mut diagnoses: Vec<Diagnosis> = order.iter().take(4).map(|&index| diagnose(&run, index)).collect();
    if let Some(first) = diagnoses.first_mut() {
        predict_gains(&run, first, Depth::default());
        first.tree = ProcessTree::of(&run);
        first.tree.iter().for_each(|tree| assert_possible_tree(&run, tree));
    }
    diagnoses.iter().for_each(|diagnosis| assert_possible(&run, diagnosis));
    assert_harmless(&holdup_report::render(&run, &diagnoses, PLAIN));
    assert_harmless(&holdup_report::json_text(&run, &diagnoses));
    let options = PageOptions { with_sources: false, sources: Default::default() };
    assert_escaped(&holdup_report::page(&run, &diagnoses, &options));
    let mut folded = Vec::new();
    holdup_export::folded(&run, Weight::Critical, &mut folded).expect("a text");
    assert_harmless(&String::from_utf8(folded).expect("UTF-8"));
    holdup_export::perfetto(&run, &mut sink()).expect("an export");
    holdup_export::firefox(&run, &mut sink()).expect("an export");
    holdup_export::speedscope(&run, &mut sink()).expect("an export");
    if let Some(&index) = order.first() {
        let process = &run.processes[index];
        let timeline = Timeline::build(process);
        if let Ok(replayer) = Replayer::of(process, &timeline, run.effective_cores_of(process))
            && let Ok(points) = parse("cores=3", process)
        {
            let results: Vec<_> = points
                .into_iter()
                .filter_map(|point| {
                    replayer.predict(&point.changes).ok().map(|prediction| (point, prediction))
                })
                .collect();
            assert_harmless(&holdup_report::render_answer(
                &holdup_whatif::answer(process, &replayer, &results),
                PLAIN,
            ));
        }
    }
    if let Ok(counts) = holdup_counts::counts(&recording, &run) {
        let search = WhyOptions { draws: 20, ..WhyOptions::default() };
        let why = holdup_imbalance::why(&counts, &search);
        assert_harmless(&holdup_report::render_why(&why, &Default::default(), PLAIN));
    }
    compare_with(&beside.other, &run, &diagnoses);
    simulate(&recording, &run, &beside.machine);
    !run.processes.is_empty()
}

/// The memory that this process has used most since the last call (bytes).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let _ = fs::write("/proc/self/clear_refs", "5");
    kib.unwrap_or(0) << 10
}

/// CPU time of this process.
fn cpu() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// No input may take longer (CPU time)...
const LONGEST: Duration = Duration::from_secs(10);
/// ...or more memory (bytes), besides so many times its own size.
const MOST_MEMORY: u64 = 512 << 20;
const TIMES_SIZE: u64 = 64;

/// What is read each time, and how many of them.
const SEED: u64 = 0x10_1d_0b;
const INPUTS: u64 = 40;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inputs: u64,
    /// How many came as far as they should.
    pub(crate) reached: u64,
    /// Both by kind of input.
    pub(crate) by_kind: BTreeMap<&'static str, (u64, u64)>,
    wrong: Vec<String>,
}

/// What a test of wrong inputs does.
pub(crate) struct Fuzz<'a> {
    /// How many inputs are read where nobody says for how long.
    pub(crate) inputs: u64,
    /// The kinds of inputs.
    pub(crate) kinds: &'a [&'static str],
    /// Makes an input; gives its kind too.
    pub(crate) make: &'a dyn Fn(&mut Numbers) -> (&'static str, Vec<u8>),
    /// Reads an input of a kind, and has a file's name to use; true if it came as far as it should.
    pub(crate) read: &'a dyn Fn(&str, &[u8], &Path) -> bool,
    /// At least one in so many inputs must come so far.
    pub(crate) one_in: u64,
}

impl Fuzz<'_> {
    /// Reads inputs: those of a file that the environment names, or generated ones for as long as it says, or a few.
    pub(crate) fn run(&self) {
        let keep = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        fs::create_dir_all(&keep).expect("a directory");
        if let Ok(files) = std::env::var("HOLDUP_FUZZ_FILE") {
            for file in files.split(':').map(Path::new) {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if let Some(kind) = self.kinds.iter().find(|kind| name.starts_with(**kind)) {
                    eprintln!("{}", file.display());
                    (self.read)(kind, &fs::read(file).expect("a kept input"), &keep.join("again"));
                }
            }
            return;
        }
        let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
        let Some(seconds) = number("HOLDUP_FUZZ_SECONDS") else {
            return self.demand(SEED, &self.outcome(SEED, |inputs| inputs == self.inputs, &keep));
        };
        let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        let seeds = match number("HOLDUP_FUZZ_SEED") {
            Some(seed) => vec![seed],
            None => vec![SEED, fresh],
        };
        for seed in &seeds {
            let end = Instant::now() + Duration::from_secs(seconds) / seeds.len() as u32;
            self.demand(*seed, &self.outcome(*seed, |_| Instant::now() >= end, &keep));
        }
    }

    fn demand(&self, seed: u64, outcome: &Outcome) {
        eprintln!(
            "seed {seed}: {} inputs, {} came as far as they should; by kind: {:?}",
            outcome.inputs, outcome.reached, outcome.by_kind
        );
        assert!(outcome.wrong.is_empty(), "seed {seed}: {:#?}", outcome.wrong);
        assert!(outcome.reached * self.one_in >= outcome.inputs, "seed {seed}: {outcome:?}");
    }

    /// Reads generated inputs until `is_over` says so, which is asked with how many they were.
    fn outcome(&self, seed: u64, is_over: impl Fn(u64) -> bool, keep: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        let mut numbers = Numbers(seed);
        peak();
        while !is_over(outcome.inputs) && outcome.wrong.len() < 20 {
            let own = numbers.next();
            let (kind, bytes) = (self.make)(&mut Numbers(own));
            let input = keep.join(format!("{kind}-now"));
            fs::write(&input, &bytes).expect("a file");
            peak();
            let begin = cpu();
            let file = keep.join("read");
            let read = catch_unwind(AssertUnwindSafe(|| (self.read)(kind, &bytes, &file)));
            let (took, used) = (cpu() - begin, peak());
            outcome.inputs += 1;
            let of_kind = outcome.by_kind.entry(kind).or_default();
            of_kind.0 += 1;
            let wrong = match read {
                Err(panic) => Some(words(panic.as_ref())),
                Ok(_) if took > LONGEST => Some(format!("{took:?} of CPU time")),
                Ok(_) if used > MOST_MEMORY + TIMES_SIZE * bytes.len() as u64 => {
                    Some(format!("{} MiB for {} bytes", used >> 20, bytes.len()))
                }
                Ok(reached) => {
                    outcome.reached += u64::from(reached);
                    of_kind.1 += u64::from(reached);
                    None
                }
            };
            if let Some(wrong) = wrong {
                let kept = keep.join(format!("{kind}-{own:016x}"));
                fs::rename(&input, &kept).expect("a name");
                outcome.wrong.push(format!("{}: {wrong}", kept.display()));
            }
        }
        outcome
    }
}

fn seeds() -> Vec<Vec<Frame>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(stage::golden::recordings())
        .expect("stored recordings")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "holdup"))
        .collect();
    paths.sort();
    let read = paths.iter().map(|path| fs::read(path).expect("a stored recording"));
    read.map(|bytes| frames(&bytes)).filter(|frames| !frames.is_empty()).collect()
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_default().chars().take(300).collect()
}

#[test]
fn recordings_with_wrong_contents() {
    let seeds = seeds();
    let beside = Beside::new();
    Fuzz {
        inputs: INPUTS,
        kinds: &["recording"],
        make: &|numbers| ("recording", generated(&seeds, numbers)),
        read: &|_, bytes, _| read_all(bytes, &beside),
        one_in: 2,
    }
    .run();
}
