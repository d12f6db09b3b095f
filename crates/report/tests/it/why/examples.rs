//! Analyses of several shapes.

use std::collections::BTreeMap;

use holdup_imbalance::{
    Cause, CauseKind, Method, NativeImbalance, SectionWhy, Verdict, Why, WhyOptions, WorstInstance,
};
use holdup_model::counts::{
    BlockId, CountSource, NativeMatch, SectionKind, SectionPlace, ThreadLabel, TimeUnit,
};
use holdup_model::{Frame, Nanos};
use holdup_report::{SourceFile, WhyScene};

/// The source of the example: so that line numbers agree, what comes before is left empty.
const LU: [(u32, &str); 8] = [
    (58, "    return (i + j) % P; // P: number of threads"),
    (405, "    for (int j = k + 1; j < blocks; j++) {"),
    (406, "        for (int i = k + 1; i < blocks; i++) {"),
    (407, "            if (owner(i, j) == me) {  /* parcel out blocks */"),
    (408, "                double *c = block(a, i, j);"),
    (412, "\t\twhile (rows > 0) {"),
    (413, "\t\t\trows--;"),
    (420, "    pthread_barrier_wait(&step);"),
];

pub(crate) fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.to_owned()),
        file: Some(format!("src/{file}")),
        line: Some(line),
        module: Some("lu".to_owned()),
        address: 0x1234,
        ..Default::default()
    }
}

fn place(name: Option<&str>, frames: Vec<Frame>) -> SectionPlace {
    SectionPlace { frames, name: name.map(str::to_owned) }
}

pub(crate) fn cause(kind: CauseKind, line: u32, score: f64, charge: f64) -> Cause {
    Cause {
        kind,
        leader: Some(BlockId(3)),
        target: Some(BlockId(4)),
        at: vec![frame("lu", "lu.c", line)],
        to: vec![frame("lu", "lu.c", line + 1)],
        latch: None,
        score,
        charge,
        interval: Some((score - 0.07, score + 0.05)),
        stable: Some((0.6, 0.95)),
        instances: 32,
        counts: vec![240, 210, 180, 150, 120, 90, 60, 30],
        minor: false,
        listing: Vec::new(),
        misplaced: false,
        with_nest: false,
    }
}

pub(crate) fn section(causes: Vec<Cause>, verdict: Verdict) -> SectionWhy {
    SectionWhy {
        kind: SectionKind::Barrier,
        end: place(None, vec![frame("lu", "lu.c", 420)]),
        begin: place(None, vec![frame("lu", "lu.c", 390)]),
        instances: 32,
        threads: 8,
        imbalance: 0.355,
        spread: 0.62,
        native: Some(NativeImbalance {
            imbalance: 0.33,
            spread: 0.6,
            difference: Nanos::new(1_700_000),
            matched: NativeMatch::Order,
            time: (0..8).map(|thread| Nanos::new(90_000_000 - 9_000_000 * thread)).collect(),
            by_instructions: Some(0.91),
        }),
        idle: 4_200_000_000,
        worst: Some(WorstInstance {
            number: 1,
            share: 0.05,
            time: (0..8).map(|thread| 620_000 - 55_000 * thread).collect(),
        }),
        capacity: 11_800_000_000,
        share: 0.92,
        cost: 0.3275,
        thread_numbers: (0..8).collect(),
        time: (0..8).map(|thread| 12_400_000 - 1_100_000 * thread).collect(),
        explained: causes.iter().map(|cause| cause.charge).sum(),
        unexplained: 1.0 - causes.iter().map(|cause| cause.charge).sum::<f64>(),
        causes,
        verdict,
        depends_on_schedule: None,
        dealt_units: 0,
    }
}

pub(crate) fn why(sections: Vec<SectionWhy>) -> Why {
    Why {
        options: WhyOptions::default(),
        source: CountSource::Emulated,
        time_unit: TimeUnit::Instructions,
        sections,
        warnings: Vec::new(),
    }
}

pub(crate) fn scene() -> WhyScene {
    let mut lines = vec![String::new(); 430];
    for (line, text) in LU {
        lines[line as usize - 1] = text.to_owned();
    }
    WhyScene {
        command: vec!["./lu".to_owned(), "-n".to_owned(), "512".to_owned()],
        threads: (0..8).map(|number| ThreadLabel { number, name: Some("lu".to_owned()) }).collect(),
        wall: Some(Nanos::new(1_240_000_000)),
        sources: BTreeMap::from([("src/lu.c".to_owned(), SourceFile::whole(lines, false))]),
        removed: Vec::new(),
        all: false,
    }
}

/// The paper's LU: who owns a block is decided by a branch, and with it how often an inner loop turns. A minor cause goes
/// with it, and a second section is balanced.
pub(crate) fn lu() -> Why {
    let mut owner = cause(CauseKind::Branch, 407, 0.88, 0.85);
    let mut inlined = frame("owner", "lu.c", 407);
    inlined.inlined = true;
    owner.at.insert(0, inlined);
    let mut turns = cause(CauseKind::Loop, 412, 0.14, 0.09);
    turns.latch = Some(vec![frame("lu", "lu.c", 413)]);
    turns.stable = Some((0.85, 0.95));
    let mut root = cause(CauseKind::Branch, 413, 0.2, 0.01);
    root.minor = true;
    let mut barrier = section(Vec::new(), Verdict::Balanced);
    barrier.end = place(Some("start"), vec![frame("work", "main.c", 30)]);
    (barrier.imbalance, barrier.spread, barrier.share, barrier.native) = (0.004, 0.008, 0.01, None);
    let mut join = section(vec![cause(CauseKind::Call, 405, 0.71, 0.6)], Verdict::Found);
    join.kind = SectionKind::Join;
    join.end = place(None, vec![frame("main", "main.c", 61)]);
    join.begin = place(None, Vec::new());
    (join.instances, join.share, join.native) = (1, 0.07, None);
    join.causes[0].instances = 1;
    let sections = vec![section(vec![owner, turns, root], Verdict::Found), join, barrier];
    Why {
        warnings: vec!["The limit on instructions was reached: what came later was not counted.".to_owned()],
        ..why(sections)
    }
}

/// A section of each verdict, without causes.
pub(crate) fn of_verdict(verdict: Verdict) -> Why {
    why(vec![section(Vec::new(), verdict)])
}

/// Threads that execute equally, and take differently long natively.
pub(crate) fn caches() -> Why {
    let mut why = of_verdict(Verdict::ExecuteEqually);
    let section = &mut why.sections[0];
    (section.imbalance, section.spread, section.time) = (0.0, 0.0, vec![5_000_000; 8]);
    if let Some(native) = &mut section.native {
        (native.imbalance, native.spread, native.by_instructions) = (0.19, 0.38, None);
    }
    why
}

/// Optimised code of which the debug information says little that is right (the paper's volrend).
pub(crate) fn misplaced() -> Why {
    let mut root = cause(CauseKind::Branch, 38, 0.999, 0.97);
    root.misplaced = true;
    root.to = Vec::new();
    root.listing = vec![
        (0x40_68e0, "call 0x406100".to_owned()),
        (0x40_68e6, "test ebx, ebx".to_owned()),
        (0x40_68ec, "jne 0x4069f0".to_owned()),
    ];
    why(vec![section(vec![root], Verdict::Found)])
}

/// Two threads: nothing but the exact charge.
pub(crate) fn two_threads() -> Why {
    let mut one = cause(CauseKind::Recursion, 407, 0.0, 0.93);
    (one.interval, one.stable, one.counts) = (None, None, vec![40_000, 10]);
    let mut two = section(vec![one], Verdict::TooFewThreads);
    (two.threads, two.instances, two.native) = (2, 1, None);
    (two.thread_numbers, two.time) = (vec![1, 2], vec![9_000_000, 12_000]);
    why(vec![two])
}

/// Sixty-four threads, by the paper's method, on what another tool counted, with units that were dealt out.
pub(crate) fn many_threads() -> Why {
    let mut loops = cause(CauseKind::Loop, 412, 0.51, 0.4);
    loops.counts = (0..64).map(|thread| (thread * thread) % 97 + 3).collect();
    loops.instances = 7;
    let mut section = section(vec![loops], Verdict::Found);
    section.threads = 64;
    section.thread_numbers = (0..64).collect();
    section.time = (0..64).map(|thread| 1_000_000 + (thread * thread) % 97 * 20_000).collect();
    section.native = None;
    section.depends_on_schedule = Some("threads take their work from a queue behind a mutex".to_owned());
    section.dealt_units = 1_200;
    let options = WhyOptions { method: Method::Paper, ..WhyOptions::default() };
    Why { options, source: CountSource::Text, time_unit: TimeUnit::Nanos, ..why(vec![section]) }
}

/// Every kind of cause, numbers that are none, rows that are missing.
pub(crate) fn odd() -> Why {
    let kinds = [
        CauseKind::Branch,
        CauseKind::Loop,
        CauseKind::Call,
        CauseKind::Recursion,
        CauseKind::Library,
        CauseKind::CacheMiss,
        CauseKind::BranchMiss,
        CauseKind::Queueing,
    ];
    let causes = kinds.map(|kind| Cause {
        at: Vec::new(),
        to: Vec::new(),
        latch: Some(Vec::new()),
        score: f64::NAN,
        charge: f64::NEG_INFINITY,
        interval: Some((f64::NEG_INFINITY, f64::NAN)),
        stable: Some((f64::NAN, 2.0)),
        counts: vec![u64::MAX],
        ..cause(kind, 0, 0.0, 0.0)
    });
    let mut section = section(causes.into(), Verdict::Found);
    section.end = SectionPlace::default();
    section.kind = SectionKind::Other;
    (section.imbalance, section.spread, section.share) = (f64::NAN, f64::INFINITY, -1.0);
    (section.time, section.idle) = (vec![0; 3], u64::MAX);
    let sections = vec![section.clone(), SectionWhy { thread_numbers: Vec::new(), ..section }];
    Why { time_unit: TimeUnit::Cycles, source: CountSource::Simulated, ..why(sections) }
}

/// A stripped program, in which threads that do more of one thing do less of another, and recurse.
pub(crate) fn stripped() -> Why {
    let mut calls = cause(CauseKind::Recursion, 0, 0.99, 0.4);
    calls.at = vec![Frame { module: Some("python3".to_owned()), address: 0x1b2c, ..Frame::default() }];
    calls.latch =
        Some(vec![Frame { module: Some("python3".to_owned()), address: 0x1c00, ..Frame::default() }]);
    calls.to = Vec::new();
    calls.misplaced = true;
    calls.listing = vec![(0x1b2c, "jne 0x1b40".to_owned())];
    let other = cause(CauseKind::Branch, 407, 0.2, -0.5);
    let mut why = why(vec![section(vec![calls, other], Verdict::Found)]);
    (why.sections[0].explained, why.sections[0].unexplained) = (0.0, 1.0);
    why
}

/// All that goes with the imbalance is minor.
pub(crate) fn minor() -> Why {
    let mut one = cause(CauseKind::Branch, 407, 0.3, 0.01);
    one.minor = true;
    why(vec![section(vec![one], Verdict::Found)])
}

pub(crate) fn large() -> Why {
    let mut sections = Vec::new();
    for index in 0..300u32 {
        let causes = (1..=40).map(|line| cause(CauseKind::Branch, line + index, 0.3, 0.02)).collect();
        let mut one = section(causes, Verdict::Found);
        one.end.frames[0].line = Some(1000 + index);
        (one.share, one.native) = (1.0 / 300.0, None);
        sections.push(one);
    }
    why(sections)
}

/// Every name is this one.
pub(crate) fn hostile(name: &str) -> (Why, WhyScene) {
    let mut why = lu();
    let poison = |frames: &mut Vec<Frame>| {
        for frame in frames {
            frame.function = Some(name.to_owned());
            frame.file = Some(format!("dir/{name}"));
            frame.module = Some(name.to_owned());
            frame.line = Some(2);
        }
    };
    why.warnings.push(name.to_owned());
    for section in &mut why.sections {
        section.depends_on_schedule = Some(name.to_owned());
        for place in [&mut section.end, &mut section.begin] {
            poison(&mut place.frames);
            place.name = Some(name.to_owned());
        }
        for cause in &mut section.causes {
            poison(&mut cause.at);
            poison(&mut cause.to);
            cause.latch.iter_mut().for_each(poison);
            cause.misplaced = true;
            cause.listing = vec![(1, name.to_owned())];
        }
    }
    let lines = SourceFile::whole(vec![name.to_owned(); 9], true);
    let scene = WhyScene {
        command: vec![name.to_owned(), name.to_owned()],
        threads: (0..8).map(|number| ThreadLabel { number, name: Some(format!("{name}{number}")) }).collect(),
        sources: BTreeMap::from([(format!("dir/{name}"), lines)]),
        ..scene()
    };
    (why, scene)
}

/// All shapes with the scene of each.
pub(crate) fn all() -> Vec<(String, Why, WhyScene)> {
    let verdicts = [
        Verdict::Found,
        Verdict::Balanced,
        Verdict::ExecuteEqually,
        Verdict::Unexplained,
        Verdict::TooFewThreads,
        Verdict::OneThread,
        Verdict::GeneratedCode,
    ];
    let mut all = vec![
        ("lu".to_owned(), lu(), scene()),
        ("lu, everything".to_owned(), lu(), WhyScene { all: true, ..scene() }),
        ("nothing known beside it".to_owned(), lu(), WhyScene::default()),
        ("caches".to_owned(), caches(), scene()),
        ("misplaced".to_owned(), misplaced(), WhyScene::default()),
        ("minor".to_owned(), minor(), scene()),
        ("stripped".to_owned(), stripped(), scene()),
        ("two threads".to_owned(), two_threads(), scene()),
        ("many threads".to_owned(), many_threads(), scene()),
        ("nothing".to_owned(), why(Vec::new()), scene()),
        ("odd".to_owned(), odd(), scene()),
        ("large".to_owned(), large(), WhyScene::default()),
    ];
    all.extend(verdicts.map(|verdict| (format!("{verdict:?}"), of_verdict(verdict), scene())));
    let (hostile, poisoned) = hostile("\u{1b}[2J\n\u{202e}<b>'\"&`");
    all.push(("hostile".to_owned(), hostile, poisoned));
    all
}
