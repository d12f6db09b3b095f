//! Writes recordings of invented programs, for `cargo xtask bench characterize`: `synthetic DIR COUNT`. Each has some hundred
//! events: rounds in which the first thread works alone, then all work and take a lock, and meet at a barrier. How long each
//! part takes differs from program to program. Prints how many events there are.

use std::error::Error;
use std::path::Path;

use holdup_recording::facts::{
    ClockSample, NamedFrame, NamedStack, Names, ProcessEnd, ProcessStart, Session, SessionEnd,
};
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, Writer};
use holdup_trace::wire::{self, NO_STACK, NO_THREAD, ObjectCode, OutcomeCode, WaitRecord};

const START: u64 = 1_000_000;
const LOCK: u64 = 0x60_0000;
const BARRIER: u64 = 0x60_0100;
const FRAME: u64 = 0x60_0200;
/// Where the lock is taken, and where the threads meet: numbers of stacks.
const AT_LOCK: u64 = 1;
const AT_BARRIER: u64 = 2;
/// Words of a copied stack.
const STACK: usize = 64;
/// Waits of a recording, about: each has a hold or a wake beside it.
const WAITS: u64 = 200;

/// From a wake to the next wait of who was woken, in ticks.
const RUNNING: u64 = 50;

/// What a program does in each round, in ticks (nanoseconds).
struct Plan {
    threads: usize,
    rounds: u64,
    serial: u64,
    work: u64,
    /// How much more the last thread works than the first.
    uneven: u64,
    locked: u64,
}

/// Thread by thread what it tells.
struct Told {
    words: Vec<Vec<u64>>,
    events: u64,
}

impl Told {
    fn add(&mut self, thread: usize, words: &[u64]) {
        self.words[thread].extend(words);
        self.events += 1;
    }

    fn wait(&mut self, thread: usize, (begin, end): (u64, u64), object: u64, kind: ObjectCode, stack: u64) {
        let record = WaitRecord {
            begin,
            end,
            object,
            kind,
            shared_mode: false,
            process_shared: false,
            outcome: OutcomeCode::Granted,
            owner_tid: 0,
            stack,
            mutex: 0,
            cpu_begin: begin - START,
            cpu_end: begin - START,
        };
        self.add(thread, &wire::wait(&record));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, count] = arguments.as_slice() else { return Err("usage: synthetic DIR COUNT".into()) };
    let mut events = 0;
    for number in 0..count.parse::<u64>()? {
        let path = Path::new(directory).join(format!("p{number:04}.holdup"));
        events += write(&path, number)?;
        if number == 0 {
            let (recording, warnings) = Recording::open(&path)?;
            let run = recording.run(&warnings);
            if !warnings.is_empty() || run.processes[0].waits.is_empty() {
                return Err(format!("{}: not as it was written", path.display()).into());
            }
        }
    }
    println!("events {events}");
    Ok(())
}

/// The plan of a program: four kinds in turn, each with sizes of its own.
fn plan(number: u64) -> Plan {
    // Weyl's sequence: spread evenly, and the same in each run.
    let share = |step: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(8 * step as u32) % 1_000;
    let threads = 2 + (share(0) % 7) as usize;
    let of =
        |wanted: u64, step: u64| if number % 4 == wanted { 20_000 + 80 * share(step) } else { share(step) };
    Plan {
        threads,
        rounds: WAITS / threads as u64,
        serial: of(0, 1),
        work: 50_000,
        uneven: of(1, 2),
        locked: of(2, 3),
    }
}

/// Writes one recording; gives its number of events.
fn write(path: &Path, number: u64) -> Result<u64, Box<dyn Error>> {
    let plan = plan(number);
    let (told, end) = run(&plan);
    let mut writer = Writer::create(path)?;
    let session = Session {
        clock: "monotonic".into(),
        start: START,
        ticks_per_second: 1e9,
        command: vec![format!("./p{number}"), plan.threads.to_string()],
        cores: plan.threads as u32,
        ..Session::default()
    };
    writer.facts(FrameKind::Session, 0, &session)?;
    writer.facts(FrameKind::Clock, 0, &ClockSample { ticks: START, monotonic_ns: START })?;
    writer.facts(FrameKind::ProcessStart, 0, &ProcessStart { pid: 7, start: START, ..Default::default() })?;
    for (thread, words) in told.words.iter().enumerate() {
        writer.chunk(0, thread as u32, 0, words)?;
    }
    let names =
        Names { stacks: [named(AT_LOCK, "update"), named(AT_BARRIER, "step")].into(), ..Names::default() };
    writer.facts(FrameKind::Names, 0, &names)?;
    writer.facts(FrameKind::ProcessEnd, 0, &ProcessEnd { end, events: told.events, ..Default::default() })?;
    writer.facts(FrameKind::SessionEnd, 0, &SessionEnd { end, code: Some(0), ..SessionEnd::default() })?;
    Ok(told.events)
}

fn named(stack: u64, function: &str) -> (u64, NamedStack) {
    let frame = |function: &str| NamedFrame {
        function: Some(function.to_owned()),
        file: Some("main.c".to_owned()),
        line: Some(10 * stack as u32),
        module: Some("p".to_owned()),
        address: 0x1000 + stack,
        ..Default::default()
    };
    (stack, NamedStack { frames: vec![frame(function), frame("worker")], broken: false })
}

/// What the threads tell, and when the program ends.
fn run(plan: &Plan) -> (Told, u64) {
    let mut told = Told { words: vec![Vec::new(); plan.threads], events: 0 };
    for thread in 0..plan.threads {
        let parent = if thread == 0 { NO_THREAD } else { 0 };
        told.add(thread, &wire::thread_start(START, parent, 0x40_0000, NO_STACK, 0, 100 + thread as u32));
    }
    for stack in [AT_LOCK, AT_BARRIER] {
        told.add(0, &wire::stack_head(stack, 0x40_1000 + stack, 0x7000_0000, 0, STACK));
        told.words[0].extend((0..STACK as u64).map(|word| 0x40_0000 + word));
    }
    let mut now = START;
    for _ in 0..plan.rounds {
        now = round(plan, &mut told, now);
    }
    for thread in 0..plan.threads {
        told.add(thread, &wire::thread_end(now, now - START));
    }
    (told, now)
}

/// One round from `begin` to where it ends.
fn round(plan: &Plan, told: &mut Told, begin: u64) -> u64 {
    let all = begin + RUNNING + plan.serial;
    for thread in 1..plan.threads {
        told.wait(thread, (begin + RUNNING, all), FRAME, ObjectCode::Condition, AT_BARRIER);
    }
    told.add(0, &wire::wake(all, FRAME, ObjectCode::Condition, u32::MAX, AT_BARRIER));
    // Threads come to the lock in their order, since each works longer than the one before.
    let asks: Vec<u64> = (0..plan.threads as u64)
        .map(|thread| all + plan.work + plan.uneven * thread / (plan.threads as u64 - 1) + thread)
        .collect();
    let mut done = Vec::with_capacity(plan.threads);
    let mut free = 0;
    for (thread, asked) in asks.iter().enumerate() {
        let got = free.max(*asked);
        if got > *asked {
            told.wait(thread, (*asked, got), LOCK, ObjectCode::Mutex, AT_LOCK);
        }
        free = got + plan.locked;
        let waited_for = asks.get(thread + 1).is_some_and(|next| *next < free);
        told.add(
            thread,
            &wire::hold(got, free, LOCK, ObjectCode::Mutex, false, waited_for, 0x40_1000, AT_LOCK),
        );
        done.push(free);
    }
    for (thread, done) in done.iter().enumerate().take(plan.threads - 1) {
        told.wait(thread, (*done, free), BARRIER, ObjectCode::Barrier, AT_BARRIER);
    }
    told.add(plan.threads - 1, &wire::wake(free, BARRIER, ObjectCode::Barrier, u32::MAX, AT_BARRIER));
    free
}
