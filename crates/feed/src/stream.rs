//! From one thread's stream to what it tells: one pass over it.
//!
//! Where pieces of its course end, [`Cut`] says, as for counts, so that a piece has the same number in both.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Mode;
use holdup_recording::{CodeModule, Cursor, Instructions, Step, Touched, is_of_runtime};
use holdup_sections::{Cut, Looks, is_barrier, is_dealt};
use holdup_trace::instructions::{Loss, Mark};
use holdup_trace::openmp::SyncCode;
use holdup_trace::wire::{CallCode, ObjectCode, OutcomeCode};

use crate::told::{AT_END, Called, Told, Wait, Woke};
use crate::units::{Unit, UnitWriter};
use crate::words::Survey;

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
    /// Locks that it took for which threads spin.
    pub spin_locks: BTreeSet<u64>,
    /// Units that it executed, in the order of [`Told::UnitBegin`].
    pub units: Vec<Unit>,
    /// Instructions of whole blocks.
    pub instructions: u64,
    pub has_counts: bool,
    pub has_tasks: bool,
    /// What it touched before it was of interest, list by list.
    pub touched: Vec<Touched>,
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
    survey: &mut Survey<'_>,
) -> Telling {
    let mut teller = Teller {
        telling: Telling { stream, ..Telling::default() },
        modules: &instructions.modules,
        units,
        step: 0,
        mark: 0,
        is_open: true,
        has_ended: false,
        held: BTreeMap::new(),
        waiting: None,
        looks: Looks::default(),
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
    survey.begin();
    let bit = 1 << (stream % 64);
    while let Some(step) = cursor.step() {
        match step {
            Step::Block(block) => {
                teller.step += 1;
                survey.block(bit, block, cursor.is_as_last_time(), cursor.addresses(block));
                teller.telling.instructions += u64::from(lengths[block as usize]);
                if teller.in_unit {
                    teller.units.block(block, first[block as usize], cursor.addresses(block));
                }
            }
            Step::Partial(block, instructions) => {
                teller.step += 1;
                survey.other();
                teller.telling.instructions += u64::from(instructions);
                if teller.in_unit {
                    let index = block as usize;
                    let in_table = first[index + 1] - first[index];
                    teller.units.partial(block, in_table, instructions, cursor.accesses());
                }
            }
            Step::Mark(mark) => teller.mark(&mark),
            Step::Counts => teller.telling.has_counts = true,
            Step::Lost(_, why) => teller.telling.lost = Some(why),
            Step::Leaves(_) => teller.telling.leaves = true,
            Step::Touched => touch(&mut teller.telling.touched, cursor.touched()),
        }
    }
    teller.telling.is_whole = cursor.is_whole();
    teller.end()
}

/// Adds a part to its list. One that belongs to none (of a damaged stream) is left out.
fn touch(lists: &mut Vec<Touched>, part: &Touched) {
    if part.part == 0 && part.list == lists.len() as u64 {
        lists.push(Touched::default());
    }
    if let Some(list) = usize::try_from(part.list).ok().and_then(|list| lists.get_mut(list)) {
        list.pages.extend(&part.pages);
        list.lines.extend(&part.lines);
    }
}

/// A wait that has begun.
struct Waiting {
    object: u64,
    kind: ObjectCode,
    mutex: u64,
    looks_again: bool,
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
    /// Blocks executed so far, whole or in part.
    step: u64,
    /// Marks so far.
    mark: u32,
    /// A piece of the course has begun.
    is_open: bool,
    /// The thread has said that it ends.
    has_ended: bool,
    /// Locks that the thread holds: how often each.
    held: BTreeMap<u64, u32>,
    /// A wait that has begun.
    waiting: Option<Waiting>,
    looks: Looks,
    /// The call that began last, and its descriptor.
    calling: (Option<CallCode>, u32),
    waits: BTreeMap<u64, u32>,
    wakes: BTreeMap<u64, u32>,
    works: Vec<Work>,
    in_unit: bool,
    /// Meetings of the team and waits for tasks that have begun: instance, sequence number, kind.
    meetings: Vec<(u64, u32, SyncCode)>,
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
        self.telling.units.push(Unit { first, mark: self.mark, step: self.step, ..Unit::default() });
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

    fn mark(&mut self, mark: &Mark) {
        self.mark += 1;
        let does_tasks =
            matches!(mark, Mark::TaskBegin { .. } | Mark::TaskEnd { .. } | Mark::TaskCreate { .. });
        if self.arrives.is_some() && self.tasks.len() == 1 && !does_tasks {
            self.arrive();
        }
        let looks_again = self.looks.again(mark);
        match Cut::at(mark) {
            Some(Cut::Stop(_)) if matches!(mark, Mark::ThreadEnd) => self.is_open = false,
            Some(Cut::Stop(_)) => self.stop(),
            Some(Cut::Pass(_)) => self.pass(),
            Some(Cut::GoOn) => self.is_open = true,
            Some(Cut::Retract) => self.retract(),
            None => {}
        }
        self.tell_of(mark, looks_again);
        // What ends here is not in the unit, what begins here is not before it.
        if self.in_unit && self.telling.units.last().is_some_and(|unit| unit.mark != self.mark) {
            self.units.mark();
        }
    }

    fn tell_of(&mut self, mark: &Mark, looks_again: bool) {
        match *mark {
            Mark::ThreadBegin { number, entry, tid, handle, .. } => {
                self.telling.number = Some(number);
                (self.telling.entry, self.telling.tid, self.telling.handle) = (entry, tid, handle);
            }
            Mark::ThreadEnd => self.has_ended = true,
            Mark::Created { number } => self.tell(Told::Created(number)),
            Mark::Initialized { object, kind: ObjectCode::Barrier, value, .. } => {
                self.telling.barriers.push((object, value.into()));
            }
            Mark::Initialized { object, kind: ObjectCode::Semaphore, value, .. } => {
                self.telling.semaphores.push((object, value.into()));
            }
            Mark::CallBegin { call, descriptor } => {
                self.calling = (Some(call), descriptor);
                let used = match call {
                    CallCode::Write | CallCode::Send => Some(&mut self.telling.writes),
                    CallCode::Read | CallCode::Receive => Some(&mut self.telling.reads),
                    _ => None,
                };
                used.map(|used| used.insert(descriptor));
            }
            Mark::CallEnd { nanos } if self.telling.lost.is_none() => {
                self.tell(Told::Call(self.telling.calls.len() as u32));
                let (call, descriptor) = self.calling;
                self.telling.calls.push(Called { nanos, call, descriptor });
            }
            Mark::WaitBegin { object, kind, mutex, .. } => {
                self.waiting = Some(Waiting { object, kind, mutex, looks_again });
            }
            Mark::WaitEnd { outcome, .. } => {
                if let Some(waiting) = self.waiting.take() {
                    self.waited(&waiting, outcome);
                }
            }
            Mark::Woke { object, kind: ObjectCode::Semaphore, .. } => self.tell(Told::Give(object)),
            Mark::Woke { object, kind, count } => {
                let number = next(&mut self.wakes, object);
                self.tell(Told::Woke(self.telling.wakes.len() as u32));
                let (is_condition, broadcasts) = (kind == ObjectCode::Condition, count == u32::MAX);
                self.telling.wakes.push(Woke { object, is_condition, number, broadcasts });
            }
            Mark::Acquired { object, kind, caller, shared } => self.acquired(object, kind, caller, shared),
            Mark::Released { object, .. } => self.released(object),
            Mark::WorkBegin { instance, sequence, kind, .. } => {
                // A unit is dealt out as a whole, with what is dealt out inside of it.
                let deals = is_dealt(kind) && !self.in_unit;
                let construct = instance << 16 ^ u64::from(sequence);
                self.works.push(Work { construct, deals, dealt: false });
            }
            Mark::WorkEnd { .. } => {
                if let Some(work) = self.works.pop().filter(|work| work.deals) {
                    self.end_unit();
                    if !work.dealt {
                        self.tell(Told::Deal(work.construct));
                    }
                }
            }
            Mark::Chunk { first, .. } => self.chunk(first),
            Mark::TaskCreate { .. } | Mark::TaskBegin { .. } | Mark::TaskEnd { .. } => self.task(mark),
            _ => self.team(mark),
        }
    }

    /// A wait has ended.
    fn waited(&mut self, waiting: &Waiting, outcome: OutcomeCode) {
        let Waiting { object, kind, mutex, looks_again } = *waiting;
        match kind {
            ObjectCode::Barrier if outcome == OutcomeCode::Granted => self.tell(Told::Arrive(object)),
            ObjectCode::ThreadEnd if outcome == OutcomeCode::Granted => self.tell(Told::Join(object)),
            ObjectCode::Condition | ObjectCode::Futex => {
                let is_condition = kind == ObjectCode::Condition;
                let number = next(&mut self.waits, object);
                self.tell(Told::Wait(self.telling.waits.len() as u32));
                self.telling.waits.push(Wait { object, is_condition, mutex, number, looks_again });
            }
            _ => {}
        }
    }

    fn acquired(&mut self, object: u64, kind: ObjectCode, caller: u64, shared: bool) {
        if self.telling.lost.is_some() {
            // What the thread does meanwhile is not known, and others need not wait for it.
        } else if kind == ObjectCode::Semaphore {
            self.tell(Told::Take(object));
        } else if !is_of_runtime(self.modules, caller) {
            let count = self.held.entry(object).or_default();
            *count += 1;
            if *count == 1 {
                if kind == ObjectCode::SpinLock {
                    self.telling.spin_locks.insert(object);
                }
                let mode = if shared { Mode::Shared } else { Mode::Exclusive };
                self.tell(Told::Acquire(object, mode));
            }
        }
    }

    fn released(&mut self, object: u64) {
        if let Some(count) = self.held.get_mut(&object) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(&object);
                self.tell(Told::Release(object));
            }
        }
    }

    fn chunk(&mut self, first: u64) {
        let Some(work) = self.works.last_mut().filter(|work| work.deals) else { return };
        let construct = work.construct;
        let is_first = !std::mem::replace(&mut work.dealt, true);
        self.end_unit();
        if is_first {
            self.tell(Told::Deal(construct));
        }
        self.begin_unit(first);
    }

    fn task(&mut self, mark: &Mark) {
        self.telling.has_tasks = true;
        match *mark {
            Mark::TaskCreate { task, .. } => {
                self.tell(Told::TaskCreate(task));
                if let Some(created) = self.tasks.last_mut() {
                    created.push(task);
                }
            }
            Mark::TaskBegin { task } => {
                self.tasks.push(Vec::new());
                if task != 0 {
                    self.tell(Told::TaskBegin(task));
                }
            }
            Mark::TaskEnd { task, is_complete } => {
                if self.tasks.len() > 1 {
                    self.tasks.pop();
                }
                if task != 0 && is_complete {
                    self.tell(Told::TaskDone(task));
                }
            }
            _ => {}
        }
    }

    fn team(&mut self, mark: &Mark) {
        match *mark {
            Mark::RegionBegin { instance, .. } => {
                self.begins_regions = true;
                self.tell(Told::RegionBegin(instance));
            }
            Mark::ShareBegin { instance, .. } => {
                self.in_pool = false;
                self.tell(Told::ShareBegin(instance));
            }
            Mark::ShareEnd { instance } => {
                self.in_pool = true;
                self.arrives = Some(instance);
            }
            Mark::SyncBegin { instance, sequence, kind, .. } => {
                self.meetings.push((instance, sequence, kind));
            }
            Mark::SyncEnd { is_none, .. } => match self.meetings.pop().filter(|_| !is_none) {
                Some((instance, sequence, kind)) if is_barrier(kind) => {
                    self.tell(Told::Meet(instance, sequence));
                }
                Some((_, _, kind)) if kind != SyncCode::Reduction => {
                    for task in self.tasks.last_mut().map(std::mem::take).unwrap_or_default() {
                        self.tell(Told::TaskAwaited(task));
                    }
                }
                _ => {}
            },
            _ => {}
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
