//! Simulations of several shapes.

use std::collections::{BTreeMap, BTreeSet};

use CycleComponent::{
    Branch, DependFp, DependInt, DispatchWidth, Ifetch, Imbalance, Io, MemDram, MemL1Neighbor, MemL1d, MemL2,
    MemL3, MemOffSocket, NoCore, SyncBarrier, SyncCond, SyncCritSect, SyncJoin,
};
use holdup_cycles::{CycleNames, SectionCycles, Variable};
use holdup_model::Frame;
use holdup_model::counts::{SectionKind, SectionPlace};
use holdup_model::cycles::{
    CycleComponent, CyclePlace, CycleStack, LineUser, Resource, SampledError, SharedLine, Simulated,
    SimulatedThread,
};
use holdup_report::{PaddedRun, SimRun, SimTold, SourceFile};
use holdup_speedup::{SpeedupStack, speedup_stack};

pub(crate) fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.to_owned()),
        file: Some(format!("src/{file}")),
        line: Some(line),
        module: Some("fft".to_owned()),
        address: 0x1234,
        ..Default::default()
    }
}

/// A stack of parts in shares of `cycles`; what is left is imbalance.
pub(crate) fn stack(cycles: u64, parts: &[(CycleComponent, f64)]) -> CycleStack {
    let mut stack = CycleStack::default();
    for (component, part) in parts {
        stack.book(*component, (part * cycles as f64) as u64);
    }
    stack.book(Imbalance, cycles - stack.total());
    stack
}

pub(crate) fn thread(number: u32, entry: u64, instructions: u64, stack: CycleStack) -> SimulatedThread {
    let away = stack.get(Imbalance);
    SimulatedThread {
        number,
        name: Some("fft".to_owned()),
        entry,
        begin: if number == 0 { 0 } else { away },
        end: stack.total(),
        instructions,
        stack,
        pieces: Vec::new(),
    }
}

pub(crate) fn simulated(cores: u32, cycles: u64, threads: Vec<SimulatedThread>) -> Simulated {
    Simulated {
        machine: "dunnington".to_owned(),
        cores,
        frequency: 2.667,
        cycles,
        instructions: threads.iter().map(|thread| thread.instructions).sum(),
        threads,
        ..Simulated::default()
    }
}

fn place(address: u64, parts: &[(CycleComponent, u64)], served: [u64; 7]) -> CyclePlace {
    let mut stack = CycleStack::default();
    parts.iter().for_each(|(component, cycles)| stack.book(*component, *cycles));
    CyclePlace { address, executions: served.iter().sum(), stack, served }
}

const ENTRY: u64 = 0x1000;

pub(crate) fn names() -> CycleNames {
    let mut inlined = frame("swap", "fft.c", 88);
    inlined.inlined = true;
    let variable = |name: &str, part: &str| Variable {
        name: name.to_owned(),
        part: part.to_owned(),
        size: 16,
        module: "fft".to_owned(),
        file: Some("src/fft.c".to_owned()),
        line: Some(20),
    };
    CycleNames {
        code: BTreeMap::from([
            (ENTRY, vec![frame("slave_start", "fft.c", 400)]),
            (0x1100, vec![frame("transpose", "fft.c", 120)]),
            (0x1104, vec![frame("transpose", "fft.c", 120)]),
            (0x1200, vec![inlined, frame("reverse", "fft.c", 210)]),
            (0x1300, vec![frame("twiddle", "fft.c", 240)]),
            (0x1400, vec![frame("count", "fft.c", 31)]),
        ]),
        data: (0..8u64)
            .map(|byte| (0x60_1000 + byte, variable("counters", "[0]")))
            .chain((8..16u64).map(|byte| (0x60_1000 + byte, variable("counters", "[1]"))))
            .collect(),
    }
}

/// fft on two sockets (paper 3, Fig. 3): the data is on the first one, whose threads wait for the others.
pub(crate) fn fft() -> SimTold {
    let cycles = 12_300_000;
    let near = [
        (DispatchWidth, 0.09),
        (DependInt, 0.06),
        (DependFp, 0.22),
        (Branch, 0.01),
        (Ifetch, 0.002),
        (MemL1d, 0.05),
        (MemL2, 0.03),
        (MemL3, 0.12),
        (MemOffSocket, 0.02),
        (MemDram, 0.08),
        (SyncBarrier, 0.308),
        (SyncCritSect, 0.003),
    ];
    let far = [
        (DispatchWidth, 0.09),
        (DependInt, 0.06),
        (DependFp, 0.22),
        (Branch, 0.01),
        (MemL1d, 0.05),
        (MemL2, 0.03),
        (MemL3, 0.015),
        (MemOffSocket, 0.41),
        (MemDram, 0.07),
        (SyncBarrier, 0.025),
        (SyncCritSect, 0.003),
    ];
    let threads = (0..8)
        .map(|number| {
            let parts: &[_] = if number < 4 { &near } else { &far };
            let entry = if number == 0 { 0 } else { ENTRY };
            thread(number, entry, 4_100_000 + u64::from(number) * 1_000, stack(cycles, parts))
        })
        .collect();
    let mut one = simulated(8, cycles, threads);
    one.places = vec![
        place(
            0x1100,
            &[(MemOffSocket, 14_000_000), (MemL3, 3_000_000), (DependInt, 800_000)],
            [90, 0, 4, 0, 3, 30, 1],
        ),
        place(0x1104, &[(DependInt, 900_000)], [0; 7]),
        place(0x1200, &[(MemDram, 4_000_000), (MemOffSocket, 3_000_000)], [10, 1, 0, 0, 0, 5, 8]),
        place(0x1300, &[(DependFp, 20_000_000), (DispatchWidth, 5_000_000)], [0; 7]),
        place(0x1400, &[(MemL1Neighbor, 1_600_000)], [3, 70, 0, 0, 0, 2, 0]),
        place(0x9999, &[(Branch, 900_000)], [0; 7]),
    ];
    one.shared_lines = vec![
        SharedLine {
            address: 0x60_1000,
            transfers: 12_345,
            cycles: 2_000_000,
            false_cycles: 1_900_000,
            users: vec![
                LineUser { thread: 0, reads: 0xff, writes: 0xff, instructions: vec![0x1400] },
                LineUser { thread: 5, reads: 0xff00, writes: 0xff00, instructions: vec![0x1400] },
                LineUser { thread: 6, reads: 0xff_0000, writes: 0, instructions: vec![0x1300] },
            ],
        },
        SharedLine {
            address: 0x60_2000,
            transfers: 400,
            cycles: 90_000,
            false_cycles: 0,
            users: vec![LineUser { thread: 1, reads: 1, writes: 1, instructions: vec![0x1100] }],
        },
    ];
    one.resources = vec![
        Resource {
            name: "memory of socket 0".to_owned(),
            requests: 160_000,
            bytes: 10_240_000,
            busy: 9_100_000,
            queueing: 5_000_000,
        },
        Resource {
            name: "link between sockets".to_owned(),
            requests: 10,
            bytes: 640,
            busy: 100,
            queueing: 0,
        },
    ];
    one.warnings = vec!["The recording has no addresses of 12 accesses.".to_owned()];
    one.doubts = vec!["9 % of the instructions wait for what is not understood.".to_owned()];
    let section = |line: u32, cycles: u64| SectionCycles {
        kind: SectionKind::Barrier,
        end: SectionPlace { frames: vec![frame("slave_start", "fft.c", line)], name: None },
        begin: SectionPlace::default(),
        instances: 3,
        instructions: 1000,
        stack: stack(cycles, &[(MemOffSocket, 0.6), (DependFp, 0.4)]),
    };
    let run = SimRun {
        mips: Some(142.3),
        padded: vec![PaddedRun { lines: BTreeSet::from([0x60_1000]), cycles: 11_900_000 }],
        sections: vec![section(420, 3_000_000), section(430, 60_000_000)],
        ..SimRun::from(one)
    };
    let mut lines = vec![String::new(); 430];
    lines[119] = "    dst[i * n + j] = src[j * n + i]; // every row of the others".to_owned();
    SimTold {
        command: vec!["./fft".to_owned(), "-p8".to_owned()],
        runs: vec![run],
        names: names(),
        sources: BTreeMap::from([("src/fft.c".to_owned(), SourceFile::whole(lines, false))]),
        warnings: vec!["No machine was named: dunnington was taken.".to_owned()],
        ..SimTold::default()
    }
}

/// A run like streamcluster (paper 3, Fig. 4): super-linear until the caches suffice, then synchronization.
fn cluster(cores: u32, cycles: u64, cache: f64, sync: f64) -> SimRun {
    let work = 1.0 - cache - sync;
    let parts = [
        (DispatchWidth, 0.1 * work),
        (DependFp, 0.7 * work),
        (DependInt, 0.2 * work),
        (MemL2, 0.2 * cache),
        (MemL3, 0.8 * cache),
        (SyncBarrier, 0.7 * sync),
        (SyncCritSect, 0.1 * sync),
    ];
    let threads = (0..cores)
        .map(|number| thread(number, 0, 64_000_000 / u64::from(cores), stack(cycles, &parts)))
        .collect();
    SimRun::from(simulated(cores, cycles, threads))
}

/// Core counts, with what-ifs of the largest.
pub(crate) fn streamcluster() -> SimTold {
    let mut runs = vec![
        cluster(2, 60_000_000, 0.55, 0.02),
        cluster(4, 26_000_000, 0.45, 0.03),
        cluster(8, 10_800_000, 0.2, 0.08),
        cluster(16, 8_300_000, 0.02, 0.52),
    ];
    for (change, cycles) in [("free locks", 8_100_000), ("perfect branches", 8_250_000)] {
        let mut run = cluster(16, cycles, 0.02, 0.5);
        run.simulated.changes = vec![change.to_owned()];
        runs.push(run);
    }
    SimTold {
        command: vec!["./streamcluster".to_owned()],
        runs,
        speedup_stacks: vec![speedup()],
        ..SimTold::default()
    }
}

/// Two inputs on two core counts (paper 3, Fig. 5), and another machine.
pub(crate) fn srad() -> SimTold {
    let mut runs = Vec::new();
    for (input, cache) in [("small", 0.1), ("large", 0.6)] {
        for cores in [8, 16] {
            runs.push(SimRun {
                input: input.to_owned(),
                ..cluster(cores, 40_000_000 / u64::from(cores), cache, 0.05)
            });
        }
    }
    let mut other = SimRun { input: "large".to_owned(), ..cluster(16, 1_500_000, 0.3, 0.05) };
    other.simulated.machine = "zen4".to_owned();
    other.simulated.frequency = 4.0;
    runs.push(other);
    SimTold { runs, ..SimTold::default() }
}

fn speedup() -> SpeedupStack {
    let run = |cores: u32, cycles: u64, work: f64| {
        let threads = (0..cores).map(|number| {
            thread(number, 0, 1000, stack(cycles, &[(DependFp, work), (SyncBarrier, (1.0 - work) / 2.0)]))
        });
        simulated(cores, cycles, threads.collect())
    };
    let cycles = [5_000_000, 6_000_000, 6_100_000, 7_000_000, 6_900_000, 8_300_000];
    speedup_stack(&run(1, 70_000_000, 1.0), &cycles.map(|cycles| run(16, cycles, 0.9))).expect("cycles")
}

/// A pipeline like dedup: groups of threads, of which one waits.
pub(crate) fn dedup() -> SimTold {
    let cycles = 2_000_000;
    let mut threads = vec![thread(0, 0, 1_000, stack(cycles, &[(SyncJoin, 0.95), (DependInt, 0.01)]))];
    for number in 1..10u32 {
        let (entry, parts): (u64, &[_]) = match number {
            1 => (0x10, &[(Io, 0.3), (MemDram, 0.4), (SyncCond, 0.2)]),
            2..=7 => (0x20, &[(DependInt, 0.6), (MemL1d, 0.2), (SyncCond, 0.1), (NoCore, 0.05)]),
            _ => (0x30, &[(DependInt, 0.2), (SyncCond, 0.7)]),
        };
        let mut one = thread(number, entry, 900_000, stack(cycles, parts));
        one.name = Some(format!("worker {number}"));
        threads.push(one);
    }
    let name = |function: &str| vec![frame(function, "encoder.c", 10)];
    let names = CycleNames {
        code: BTreeMap::from([(0x10, name("Fragment")), (0x20, name("Compress")), (0x30, name("Reorder"))]),
        ..CycleNames::default()
    };
    let mut one = simulated(4, cycles, threads);
    one.sampled = Some(SampledError { error: 0.013, simulated: 1_000_000 });
    SimTold { runs: vec![one.into()], names, ..SimTold::default() }
}

/// So many threads with different stacks.
pub(crate) fn many(count: u32) -> SimTold {
    let cycles = 3_000_000;
    let threads = (0..count).map(|number| {
        let off = f64::from((number / 4 * 7) % 13) / 20.0;
        let parts = [
            (DispatchWidth, 0.1),
            (DependInt, 0.1),
            (MemL1d, 0.1),
            (MemOffSocket, off),
            (SyncBarrier, 0.65 - off),
        ];
        let mut one = thread(number, ENTRY * u64::from(number > 0), 700_000, stack(cycles, &parts));
        one.name = Some(format!("w{}", number % 10));
        one
    });
    SimTold {
        runs: vec![simulated(count, cycles, threads.collect()).into()],
        names: names(),
        ..SimTold::default()
    }
}

/// Every component, with the same share.
pub(crate) fn every_component() -> SimTold {
    let mut all = CycleStack::default();
    CycleComponent::ALL.iter().for_each(|component| all.book(*component, 50_000));
    let threads = vec![thread(0, 0, 10, all), thread(1, 0, 10, all)];
    SimTold {
        runs: vec![simulated(2, 50_000 * CycleComponent::ALL.len() as u64, threads).into()],
        ..SimTold::default()
    }
}

/// Threads, and no cycles.
pub(crate) fn no_cycles() -> SimTold {
    let threads =
        vec![SimulatedThread::default(), SimulatedThread { number: 1, ..SimulatedThread::default() }];
    SimTold { runs: vec![simulated(4, 0, threads).into()], ..SimTold::default() }
}

/// Numbers that are none, rows that are missing.
pub(crate) fn odd() -> SimTold {
    let mut told = fft();
    let run = &mut told.runs[0];
    run.mips = Some(f64::NAN);
    run.padded[0].cycles = u64::MAX;
    let one = &mut run.simulated;
    one.frequency = f64::NAN;
    one.sampled = Some(SampledError { error: f64::INFINITY, simulated: u64::MAX });
    one.machine = String::new();
    one.shared_lines[0].users[0].thread = u32::MAX;
    one.shared_lines[0].address = u64::MAX;
    one.resources[0] = Resource { busy: u64::MAX, queueing: u64::MAX, ..Resource::default() };
    one.changes = vec![String::new()];
    told.speedup_stacks = vec![SpeedupStack { speedup: f64::NAN, losses: Vec::new(), ..speedup() }];
    told
}

/// Every name is this one.
pub(crate) fn hostile(name: &str) -> SimTold {
    let mut told = fft();
    let poison = |frame: &mut Frame| {
        frame.function = Some(name.to_owned());
        frame.file = Some(format!("dir/{name}"));
        frame.module = Some(name.to_owned());
        frame.line = Some(2);
    };
    told.command = vec![name.to_owned(), name.to_owned()];
    told.names.code.values_mut().flatten().for_each(poison);
    for variable in told.names.data.values_mut() {
        variable.name = name.to_owned();
        variable.part = name.to_owned();
        variable.module = name.to_owned();
        variable.file = Some(name.to_owned());
    }
    told.warnings = vec![name.to_owned()];
    told.sources =
        BTreeMap::from([(format!("dir/{name}"), SourceFile::whole(vec![name.to_owned(); 3], false))]);
    let run = &mut told.runs[0];
    run.input = name.to_owned();
    for section in &mut run.sections {
        section.end.name = Some(name.to_owned());
        section.end.frames.iter_mut().for_each(poison);
    }
    let one = &mut run.simulated;
    one.machine = name.to_owned();
    one.warnings = vec![name.to_owned()];
    one.doubts = vec![name.to_owned()];
    one.threads
        .iter_mut()
        .enumerate()
        .for_each(|(index, thread)| thread.name = Some(format!("{name}{index}")));
    one.resources.iter_mut().for_each(|resource| resource.name = name.to_owned());
    let mut changed = told.runs[0].clone();
    changed.simulated.changes = vec![name.to_owned()];
    told.runs.push(changed);
    told.speedup_stacks = vec![SpeedupStack { machine: name.to_owned(), ..speedup() }];
    told
}

/// All shapes.
pub(crate) fn all() -> Vec<(&'static str, SimTold)> {
    vec![
        ("fft", fft()),
        ("fft, everything", SimTold { all: true, ..fft() }),
        ("streamcluster", streamcluster()),
        ("srad", srad()),
        ("dedup", dedup()),
        ("one thread", many(1)),
        ("64 threads", many(64)),
        ("1000 threads", many(1000)),
        ("every component", every_component()),
        ("no cycles", no_cycles()),
        ("no threads", SimTold { runs: vec![simulated(4, 0, Vec::new()).into()], ..SimTold::default() }),
        ("nothing", SimTold::default()),
        ("odd", odd()),
        ("hostile", hostile("\u{1b}[2J\n\u{202e}<b>'\"&`,=")),
    ]
}
