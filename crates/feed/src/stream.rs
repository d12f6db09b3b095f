//! From one thread's stream to what it tells: one pass over it.
//!
//! Where pieces of its course end is decided by the same rules as for counts (`course` of `holdup-counts`), so that a piece
//! has the same number in both.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Mode;
use holdup_recording::{CodeModule, Cursor, Instructions, Step};
use holdup_trace::instructions::{CodeClass, Loss, MARK_FIELDS, MarkCode};
use holdup_trace::openmp::{SyncCode, WorkCode};
use holdup_trace::wire::{CallCode, ObjectCode, OutcomeCode};

use crate::told::{AT_END, Called, Told, Wait, Woke};
use crate::units::{Unit, UnitWriter};

/// A thread that was woken, looks again and waits on does no more than this in between (instructions).
const LOOKS_AGAIN: u64 = 200;

/// What a thread's stream tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telling {
    pub stream: u32,
    /// Its number in the recorded process; `None` if it never told.
    pub number: Option<u32>,
    pub handle: u64,
    /// Its start function.
    pub entry: u64,
    /// Its kernel id.
    pub tid: u32,
    /// What it tells at which mark, from 1.
    pub told: Vec<(u32, Told)>,
    pub waits: Vec<Wait>,
    pub wakes: Vec<Woke>,
    /// Calls that blocked.
    pub calls: Vec<Called>,
    /// Descriptors that it wrote to, and read from.
    pub writes: BTreeSet<u32>,
    pub reads: BTreeSet<u32>,
    /// What it initialized: barriers with their parties, semaphores with their value.
    pub barriers: Vec<(u64, u64)>,
    pub semaphores: Vec<(u64, u64)>,
    /// Units that it executed, in the order of [`Told::UnitBegin`].
    pub units: Vec<Unit>,
    /// Instructions of whole blocks.
    pub instructions: u64,
    pub has_counts: bool,
    pub has_tasks: bool,
    pub lost: Option<Option<Loss>>,
    pub leaves: bool,
    /// The stream could be read to its end.
    pub is_whole: bool,
    /// The thread was at work when it was last heard of: it has not said that it ends, and does not wait.
    pub is_at_work: bool,
}

/// Reads a stream to its end. `lengths` and `first` have for each block its instructions and the number of its first access.
pub(crate) fn tell(
    instructions: &Instructions<'_>,
    stream: u32,
    lengths: &[u32],
    first: &[usize],
    units: &mut UnitWriter,
) -> Telling {
    let mut teller = Teller {
        telling: Telling { stream, ..Telling::default() },
        modules: &instructions.modules,
        units,
        mark: 0,
        is_open: true,
        has_ended: false,
        held: BTreeMap::new(),
        waiting: None,
        waited: None,
        calling: (None, u32::MAX),
        waits: BTreeMap::new(),
        wakes: BTreeMap::new(),
        works: Vec::new(),
        in_unit: false,
        meetings: Vec::new(),
        in_pool: false,
        begins_regions: false,
        arrives: None,
        tasks: vec![Vec::new()],
    };
    let mut cursor: Cursor<'_> = instructions.cursor(stream);
    while let Some(step) = cursor.step() {
        match step {
            Step::Block(block) => {
                teller.telling.instructions += u64::from(lengths[block as usize]);
                if teller.in_unit {
                    teller.units.block(block, first[block as usize], cursor.addresses(block));
                }
            }
            Step::Partial(block, instructions) => {
                teller.telling.instructions += u64::from(instructions);
                if teller.in_unit {
                    let index = block as usize;
                    let in_table = first[index + 1] - first[index];
                    teller.units.partial(block, in_table, instructions, cursor.accesses());
                }
            }
            Step::Mark(code, fields) => teller.mark(code, fields),
            Step::Counts => teller.telling.has_counts = true,
            Step::Lost(_, why) => teller.telling.lost = Some(why),
            Step::Leaves(_) => teller.telling.leaves = true,
        }
    }
    teller.telling.is_whole = cursor.is_whole();
    teller.end()
}

/// A worksharing construct that the thread is in.
struct Work {
    construct: u64,
    /// Its chunks are units.
    deals: bool,
    /// It has been told that they are dealt here.
    dealt: bool,
}

struct Teller<'a> {
    telling: Telling,
    modules: &'a [CodeModule],
    units: &'a mut UnitWriter,
    /// Marks so far.
    mark: u32,
    /// A piece of the course has begun.
    is_open: bool,
    /// The thread has said that it ends.
    has_ended: bool,
    /// Locks that the thread holds: how often each.
    held: BTreeMap<u64, u32>,
    /// A wait that has begun: object, kind, mutex.
    waiting: Option<(u64, u64, u64)>,
    /// The condition that was waited for at the last boundary, and the instructions until then.
    waited: Option<(u64, u64)>,
    /// The call that began last, and its descriptor.
    calling: (Option<CallCode>, u32),
    waits: BTreeMap<u64, u32>,
    wakes: BTreeMap<u64, u32>,
    works: Vec<Work>,
    in_unit: bool,
    /// Meetings of the team and waits for tasks that have begun: instance, sequence number, [`SyncCode`].
    meetings: Vec<(u64, u64, u64)>,
    /// It has ended its last share of a region, and began none itself: it is kept for the next.
    in_pool: bool,
    begins_regions: bool,
    /// A share has ended: its instance. The thread arrives at the join when it has no tasks to do any more.
    arrives: Option<u64>,
    /// Tasks that the thread is in, the implicit one first: those that each has created and not waited for.
    tasks: Vec<Vec<u64>>,
}

impl Teller<'_> {
    fn tell(&mut self, told: Told) {
        self.telling.told.push((self.mark, told));
    }

    fn end(mut self) -> Telling {
        self.end_unit();
        self.mark = AT_END;
        // A thread of a team that has done its part waits for the next region.
        let is_kept = self.arrives.is_some() || self.in_pool && !self.begins_regions;
        self.telling.is_at_work = !self.has_ended && self.is_open && !is_kept;
        self.arrive();
        for lock in std::mem::take(&mut self.held).into_keys() {
            self.tell(Told::Release(lock));
        }
        self.telling
    }

    /// A piece of the course ends, and the thread waits.
    fn stop(&mut self) {
        self.waited = None;
        if std::mem::take(&mut self.is_open) {
            self.tell(Told::Cut);
        }
    }

    /// A piece of the course ends, and the next begins.
    fn pass(&mut self) {
        self.stop();
        self.is_open = true;
    }

    /// The last piece has not ended after all.
    fn retract(&mut self) {
        if let Some(at) = self.telling.told.iter().rposition(|(_, told)| *told == Told::Cut) {
            self.telling.told.remove(at);
            self.is_open = true;
        }
    }

    /// The thread arrives at the join of the region whose share it has ended.
    fn arrive(&mut self) {
        if let Some(instance) = self.arrives.take() {
            self.tell(Told::Meet(instance, JOIN));
        }
    }

    fn begin_unit(&mut self, first: u64) {
        self.tell(Told::UnitBegin);
        self.telling.units.push(Unit { first, mark: self.mark, ..Unit::default() });
        self.units.begin();
        self.in_unit = true;
    }

    fn end_unit(&mut self) {
        if !std::mem::take(&mut self.in_unit) {
            return;
        }
        if let Some(unit) = self.telling.units.last_mut() {
            (unit.entries, unit.blocks) = self.units.end();
        }
        self.tell(Told::UnitEnd);
    }

    /// True for addresses in a runtime: it takes locks of its own.
    fn is_runtime(&self, address: u64) -> bool {
        let within = |module: &&CodeModule| (module.start..module.end).contains(&address);
        self.modules.iter().find(within).is_some_and(|module| module.class == CodeClass::Runtime)
    }

    fn mark(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        self.mark += 1;
        let does_tasks = matches!(code, MarkCode::TaskBegin | MarkCode::TaskEnd | MarkCode::TaskCreate);
        if self.arrives.is_some() && self.tasks.len() == 1 && !does_tasks {
            self.arrive();
        }
        match code {
            MarkCode::WaitBegin | MarkCode::WaitEnd | MarkCode::Woke => self.waits(code, fields),
            MarkCode::Acquired | MarkCode::Released => self.locks(code, fields),
            MarkCode::WorkBegin | MarkCode::WorkEnd | MarkCode::Chunk => self.works(code, fields),
            MarkCode::TaskCreate | MarkCode::TaskBegin | MarkCode::TaskEnd => self.task(code, fields),
            MarkCode::RegionBegin
            | MarkCode::RegionEnd
            | MarkCode::ShareBegin
            | MarkCode::ShareEnd
            | MarkCode::SyncBegin
            | MarkCode::SyncEnd => self.team(code, fields),
            _ => self.thread(code, fields),
        }
        // What ends here is not in the unit, what begins here is not before it.
        if self.in_unit && self.telling.units.last().is_some_and(|unit| unit.mark != self.mark) {
            self.units.mark();
        }
    }

    fn thread(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [first, second, third, ..] = fields;
        match code {
            MarkCode::ThreadBegin => {
                self.telling.number = Some(first as u32);
                self.telling.entry = third;
                self.telling.tid = fields[3] as u32;
                self.telling.handle = fields[4];
            }
            MarkCode::ThreadEnd => {
                self.has_ended = true;
                self.is_open = false;
            }
            MarkCode::Created => {
                self.pass();
                self.tell(Told::Created(first as u32));
            }
            MarkCode::Initialized if second == ObjectCode::Barrier as u64 => {
                self.telling.barriers.push((first, third));
            }
            MarkCode::Initialized if second == ObjectCode::Semaphore as u64 => {
                self.telling.semaphores.push((first, third));
            }
            MarkCode::CallBegin => {
                let call = u8::try_from(first).ok().and_then(CallCode::from_code);
                self.calling = (call, second as u32);
                let used = match call {
                    Some(CallCode::Write | CallCode::Send) => Some(&mut self.telling.writes),
                    Some(CallCode::Read | CallCode::Receive) => Some(&mut self.telling.reads),
                    _ => None,
                };
                used.map(|used| used.insert(second as u32));
            }
            MarkCode::CallEnd if self.telling.lost.is_none() => {
                self.tell(Told::Call(self.telling.calls.len() as u32));
                let (call, descriptor) = self.calling;
                self.telling.calls.push(Called { nanos: first, call, descriptor });
            }
            MarkCode::UnitBegin => self.is_open = true,
            MarkCode::InterestBegin | MarkCode::InterestEnd => self.pass(),
            _ => {}
        }
    }

    fn waits(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [first, second, third, ..] = fields;
        let is_condition = second == ObjectCode::Condition as u64;
        match code {
            MarkCode::WaitBegin => {
                let waited = self.waited;
                if is_condition {
                    self.stop();
                    self.waited = waited;
                } else if second == ObjectCode::Barrier as u64 || second == ObjectCode::ThreadEnd as u64 {
                    self.stop();
                }
                self.waiting = Some((first, second, fields[3]));
            }
            MarkCode::WaitEnd => {
                self.is_open = true;
                if let Some((object, kind, mutex)) = self.waiting.take() {
                    let outcome = OutcomeCode::from_code(first as u8).unwrap_or(OutcomeCode::Granted);
                    self.waited(object, kind, mutex, outcome);
                }
            }
            _ => {
                let broadcasts = third >= u64::from(u32::MAX);
                if second == ObjectCode::Semaphore as u64 {
                    self.tell(Told::Give(first));
                    return;
                }
                if is_condition && broadcasts {
                    self.pass();
                }
                let number = next(&mut self.wakes, first);
                self.tell(Told::Woke(self.telling.wakes.len() as u32));
                self.telling.wakes.push(Woke { object: first, is_condition, number, broadcasts });
            }
        }
    }

    /// A wait has ended.
    fn waited(&mut self, object: u64, kind: u64, mutex: u64, outcome: OutcomeCode) {
        let is = |code: ObjectCode| kind == code as u64;
        if is(ObjectCode::Barrier) {
            if outcome == OutcomeCode::Granted {
                self.tell(Told::Arrive(object));
            }
        } else if is(ObjectCode::ThreadEnd) {
            if outcome == OutcomeCode::Granted {
                self.tell(Told::Join(object));
            }
        } else if is(ObjectCode::Condition) || is(ObjectCode::Futex) {
            let now = self.telling.instructions;
            let is_condition = is(ObjectCode::Condition);
            let looks_again = is_condition
                && self.waited.is_some_and(|(last, then)| last == object && now - then <= LOOKS_AGAIN);
            let number = next(&mut self.waits, object);
            self.tell(Told::Wait(self.telling.waits.len() as u32));
            self.telling.waits.push(Wait { object, is_condition, mutex, number, looks_again });
            if is_condition {
                self.waited = Some((object, now));
            }
        }
    }

    fn locks(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [object, kind, caller, shared, _] = fields;
        if code == MarkCode::Released {
            if let Some(count) = self.held.get_mut(&object) {
                *count -= 1;
                if *count == 0 {
                    self.held.remove(&object);
                    self.tell(Told::Release(object));
                }
            }
        } else if self.telling.lost.is_some() {
            // What the thread does meanwhile is not known, and others need not wait for it.
        } else if kind == ObjectCode::Semaphore as u64 {
            self.tell(Told::Take(object));
        } else if !self.is_runtime(caller) {
            let count = self.held.entry(object).or_default();
            *count += 1;
            if *count == 1 {
                let mode = if shared == 1 { Mode::Shared } else { Mode::Exclusive };
                self.tell(Told::Acquire(object, mode));
            }
        }
    }

    fn works(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [first, second, third, ..] = fields;
        match code {
            MarkCode::WorkBegin => {
                // A unit is dealt out as a whole, with what is dealt out inside of it.
                let deals = is_dealt(third) && !self.in_unit;
                self.works.push(Work { construct: first << 16 ^ second, deals, dealt: false });
            }
            MarkCode::WorkEnd => {
                if let Some(work) = self.works.pop().filter(|work| work.deals) {
                    self.end_unit();
                    if !work.dealt {
                        self.tell(Told::Deal(work.construct));
                    }
                }
            }
            _ => {
                let Some(work) = self.works.last_mut().filter(|work| work.deals) else { return };
                let construct = work.construct;
                let is_first = !std::mem::replace(&mut work.dealt, true);
                self.end_unit();
                if is_first {
                    self.tell(Told::Deal(construct));
                }
                self.begin_unit(first);
            }
        }
    }

    fn task(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [task, complete, ..] = fields;
        self.telling.has_tasks = true;
        match code {
            MarkCode::TaskCreate => {
                self.tell(Told::TaskCreate(task));
                if let Some(created) = self.tasks.last_mut() {
                    created.push(task);
                }
            }
            MarkCode::TaskBegin => {
                self.is_open = true;
                self.tasks.push(Vec::new());
                if task != 0 {
                    self.tell(Told::TaskBegin(task));
                }
            }
            _ => {
                if self.tasks.len() > 1 {
                    self.tasks.pop();
                }
                if task != 0 && complete == 1 {
                    self.tell(Told::TaskDone(task));
                }
            }
        }
    }

    fn team(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [first, second, third, ..] = fields;
        match code {
            MarkCode::RegionBegin => {
                self.begins_regions = true;
                self.pass();
                self.tell(Told::RegionBegin(first));
            }
            MarkCode::RegionEnd => self.pass(),
            MarkCode::ShareBegin => {
                self.in_pool = false;
                self.pass();
                self.tell(Told::ShareBegin(first));
            }
            MarkCode::ShareEnd => {
                self.in_pool = true;
                self.pass();
                self.arrives = Some(first);
            }
            MarkCode::SyncBegin => {
                if is_barrier(third) {
                    self.stop();
                }
                self.meetings.push((first, second, third));
            }
            _ => {
                let meeting = self.meetings.pop();
                if second == 1 {
                    return self.retract();
                }
                self.is_open = true;
                match meeting {
                    Some((instance, sequence, kind)) if is_barrier(kind) => {
                        self.tell(Told::Meet(instance, sequence as u32));
                    }
                    Some((_, _, kind)) if kind != SyncCode::Reduction as u64 => {
                        for task in self.tasks.last_mut().map(std::mem::take).unwrap_or_default() {
                            self.tell(Told::TaskAwaited(task));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The sequence number of the join at the end of a region.
pub(crate) const JOIN: u32 = u32::MAX;

/// Which one it is of those with this object.
fn next(numbers: &mut BTreeMap<u64, u32>, object: u64) -> u32 {
    let count = numbers.entry(object).or_default();
    *count += 1;
    *count - 1
}

/// True for meetings of the whole team; `kind` is a [`SyncCode`].
fn is_barrier(kind: u64) -> bool {
    kind < SyncCode::Taskwait as u64
}

/// True for worksharing constructs whose chunks are dealt out at run time; the low 8 bits are a [`WorkCode`].
fn is_dealt(kind: u64) -> bool {
    let kind = kind & 0xff;
    [WorkCode::DynamicLoop, WorkCode::GuidedLoop, WorkCode::OtherLoop, WorkCode::Sections]
        .into_iter()
        .any(|dealt| kind == dealt as u64)
}
