//! Random programs for replays, and what all these tests do with them.
//!
//! [`any_program`] has no ties: before each act a thread works for a length of its own, so that no two threads come to
//! one object in the same nanosecond. Whoever comes first there is then the first, whatever the rule for ties is; with
//! ties a script hands a lock to the thread that the player happened to look at first, and a replay to another.

// Each test file uses a part of it.

use holdup_model::{ObjectId, ObjectKind, Process, SiteId, ThreadId, Timeline};
use holdup_replay::{Behaviour, Machine, Program, Replayed, extract, replay};
use holdup_testkit::{Op, QueueId, Script};
use proptest::collection::vec;
use proptest::prelude::*;

/// Millisecond, in ns.
pub(crate) const MS: u64 = 1_000_000;

/// A machine on which nothing costs anything, with a core for each thread of the process.
pub(crate) fn ideal(process: &Process) -> Machine {
    on_ideal_cores(process.threads.len() as u32)
}

/// A machine of so many cores on which nothing costs anything.
pub(crate) fn on_ideal_cores(cores: u32) -> Machine {
    Machine { pull: 0, ..Machine::new(cores).without_costs() }
}

/// The program that a process ran.
pub(crate) fn program_of(process: &Process) -> Program {
    extract(process, &Timeline::build(process)).expect("a script has threads")
}

/// The unchanged program on the ideal machine.
pub(crate) fn unchanged(process: &Process) -> Replayed {
    replay(&program_of(process), &ideal(process), &Behaviour::default())
}

/// When each thread ended as recorded (ns from the start).
pub(crate) fn recorded_ends(process: &Process) -> Vec<Option<u64>> {
    let ends = process.threads.iter().map(|thread| thread.end);
    ends.map(|end| end.map(|end| end.since(process.start).get())).collect()
}

/// What one thread does between two meetings with all others.
#[derive(Clone, Debug)]
enum Part {
    Work,
    /// A mutex, or a spin lock, and maybe one more of a higher number in it.
    Locked(usize, Option<usize>),
    Write(usize),
    Read(usize),
    Semaphore(usize),
    Io,
    Sleep,
    /// A thread of its own, which it joins at once or at the end of the round.
    Child(Vec<Part>, bool),
}

fn part() -> impl Strategy<Value = Part> {
    let simple = prop_oneof![
        2 => Just(Part::Work),
        4 => (0..4usize, proptest::option::of(0..4usize)).prop_map(|(first, second)| Part::Locked(first, second)),
        1 => (0..2usize).prop_map(Part::Write),
        3 => (0..2usize).prop_map(Part::Read),
        2 => (0..2usize).prop_map(Part::Semaphore),
        1 => Just(Part::Io),
        1 => Just(Part::Sleep),
    ];
    simple.prop_recursive(2, 8, 3, |part| {
        (vec(part, 0..3), any::<bool>()).prop_map(|(parts, at_once)| Part::Child(parts, at_once))
    })
}

/// The shape of a program.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// By thread, by round.
    workers: Vec<Vec<Vec<Part>>>,
    /// Capacities of the queues of pipelines, and how many items go through each.
    pipelines: Vec<(Vec<usize>, usize)>,
    /// Whether all workers meet at the end of each round.
    meets: bool,
    seed: u64,
}

/// Random shapes: workers with rounds, and pipelines beside them.
pub(crate) fn any_shape() -> impl Strategy<Value = Shape> {
    let workers = (0..5usize, 1..4usize)
        .prop_flat_map(|(threads, rounds)| vec(vec(vec(part(), 0..5), rounds), threads));
    let pipelines = vec((vec(1..4usize, 1..3), 1..12usize), 0..2);
    (workers, pipelines, any::<bool>(), any::<u64>()).prop_map(|(workers, pipelines, meets, seed)| Shape {
        workers,
        pipelines,
        meets,
        seed,
    })
}

/// Random programs that end, without ties.
pub(crate) fn any_program() -> impl Strategy<Value = Script> {
    any_shape().prop_map(|shape| shape.script())
}

struct Maker {
    script: Script,
    mutexes: Vec<ObjectId>,
    shared: Vec<ObjectId>,
    semaphores: Vec<ObjectId>,
    seed: u64,
    place: SiteId,
}

impl Shape {
    /// The program of this shape.
    pub(crate) fn script(&self) -> Script {
        let mut script = Script::new();
        let kinds = [ObjectKind::Mutex, ObjectKind::Mutex, ObjectKind::SpinLock, ObjectKind::Mutex];
        let mutexes = kinds.iter().enumerate();
        let mutexes = mutexes.map(|(number, &kind)| script.object(kind, &format!("lock_{number}"))).collect();
        let shared = (0..2).map(|number| script.object(ObjectKind::RwLock, &format!("shared_{number}")));
        let shared = shared.collect();
        let semaphores = (1..3).map(|value| script.semaphore("places", value)).collect();
        let barrier = script.barrier("round_done", self.workers.len() as u32);
        let place = script.site("run", 10);
        let mut maker = Maker { script, mutexes, shared, semaphores, seed: self.seed, place };
        let mut threads = Vec::new();
        for rounds in &self.workers {
            let mut ops = Vec::new();
            for round in rounds {
                maker.parts(round, &mut ops);
                if self.meets {
                    ops.extend([maker.work(), Op::Meet(barrier, place)]);
                }
            }
            ops.push(maker.work());
            threads.push(maker.script.thread("worker", ops));
        }
        for (number, (capacities, items)) in self.pipelines.iter().enumerate() {
            threads.extend(maker.pipeline(number, capacities, *items));
        }
        for &thread in &threads {
            let work = maker.work();
            maker.script.main_does(&[work, Op::Start(thread)]);
        }
        for &thread in &threads {
            let work = maker.work();
            maker.script.main_does(&[work, Op::Join(thread, place)]);
        }
        maker.script
    }
}

impl Maker {
    /// A length that no other work has: splitmix64 (Steele, Lea, Flood, OOPSLA'14).
    fn length(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + (mixed ^ (mixed >> 31)) % MS
    }

    fn work(&mut self) -> Op {
        Op::Work(self.length())
    }

    fn parts(&mut self, parts: &[Part], ops: &mut Vec<Op>) {
        let mut children = Vec::new();
        for part in parts {
            let (before, inside) = (self.work(), self.work());
            ops.push(before);
            let place = self.place;
            match part {
                Part::Work => ops.push(inside),
                Part::Locked(first, second) => {
                    let lock = self.mutexes[*first];
                    ops.extend([Op::Lock(lock, place), inside]);
                    if let Some(second) = second.filter(|second| second > first) {
                        let (second, inside) = (self.mutexes[second], self.work());
                        ops.extend([Op::Lock(second, place), inside, Op::Unlock(second), self.work()]);
                    }
                    ops.push(Op::Unlock(lock));
                }
                Part::Write(lock) => {
                    let lock = self.shared[*lock];
                    ops.extend([Op::Lock(lock, place), inside, Op::Unlock(lock)]);
                }
                Part::Read(lock) => {
                    let lock = self.shared[*lock];
                    ops.extend([Op::Share(lock, place), inside, Op::Unlock(lock)]);
                }
                Part::Semaphore(semaphore) => {
                    let semaphore = self.semaphores[*semaphore];
                    ops.extend([Op::Take(semaphore, place), inside, Op::Post(semaphore, place)]);
                }
                Part::Io => ops.push(Op::Read(self.length(), place)),
                Part::Sleep => ops.push(Op::Sleep(self.length(), place)),
                Part::Child(parts, at_once) => {
                    let mut own = Vec::new();
                    self.parts(parts, &mut own);
                    own.push(self.work());
                    let child = self.script.thread("child", own);
                    ops.extend([Op::Start(child), self.work()]);
                    if *at_once {
                        ops.push(Op::Join(child, place));
                    } else {
                        children.push(child);
                    }
                }
            }
        }
        for child in children {
            ops.extend([self.work(), Op::Join(child, self.place)]);
        }
        ops.push(self.work());
    }

    fn pipeline(&mut self, number: usize, capacities: &[usize], items: usize) -> Vec<ThreadId> {
        let queues: Vec<QueueId> = (0..capacities.len())
            .map(|stage| self.script.guarded_queue(&format!("queue_{number}_{stage}"), capacities[stage]))
            .collect();
        (0..=queues.len())
            .map(|stage| {
                let name = format!("stage_{number}_{stage}");
                let get = self.script.site(&format!("get_{name}"), 20);
                let put = self.script.site(&format!("put_{name}"), 30);
                let mut ops = Vec::new();
                for _ in 0..items {
                    if let Some(from) = stage.checked_sub(1) {
                        ops.extend([self.work(), Op::Get(queues[from], get)]);
                    }
                    ops.push(self.work());
                    if let Some(&into) = queues.get(stage) {
                        ops.extend([Op::Put(into, put), self.work()]);
                    }
                }
                self.script.thread(&name, ops)
            })
            .collect()
    }
}
