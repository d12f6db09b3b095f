//! Which part of a thread's time was on a core: the kernel's records laid over what the preload saw.
//!
//! | what the preload saw | on a core | lost the core, could go on | lost the core, had to wait |
//! |---|---|---|---|
//! | active | active, with CPU time | descheduled | blocked, on nothing known |
//! | waking | active, with CPU time | waking | waking |
//! | spinning by the program's own marks | spinning | descheduled | spinning |
//! | in a call to the system | as it was | descheduled | as it was |
//! | anything else | as it was | as it was | as it was |
//!
//! While context switches are not recorded, CPU times that were read before and after tell of threads that were on a core
//! all the time, or none of it; for others it is not known when they were. Where the preload saw the thread too, its word
//! stands then.
//!
//! Then samples of running threads that were in a waiting loop or a spinning routine turn the CPU time that they
//! stand for from active to spinning.

mod preempted;
mod readings;

use readings::read;

use crate::sides::{Side, change_before, sides};
use crate::{
    CpuReading, Doing, Left, Nanos, OnCore, Process, Row, Sample, Segment, Site, SiteId, State, ThreadId,
    Time, Wait,
};

/// What refines the rows of a process.
pub(crate) struct Records {
    /// True if nothing but the kernel saw the process.
    alone: bool,
    /// When anything is known of cores.
    covered: Vec<(Time, Time)>,
    /// When that is from looks now and then, which do not say that a thread in a call had no core.
    estimated: Vec<(Time, Time)>,
    threads: Vec<OfThread>,
    /// By site: whether a thread that is on a core there waits.
    waits: Vec<bool>,
    /// True if any sample is at such a site.
    any_spins: bool,
    /// By site: whether calls there lose their core without waiting.
    only_preempted: Vec<bool>,
}

/// What is known of one thread, in order of time.
#[derive(Clone, Default)]
struct OfThread {
    on_core: Vec<OnCore>,
    readings: Vec<CpuReading>,
    running: Vec<Sample>,
    /// When it goes over from one [`Side`] to another: what it is from then on.
    sides: Vec<(Time, Side)>,
    /// From when until when it waited, for other than locks, as the library saw it.
    waits: Vec<(Time, Time)>,
}

impl Records {
    pub(crate) fn of(process: &Process) -> Self {
        let alone = process.seen_by.kernel && !process.seen_by.preload;
        let mut covered = [process.covered.as_slice(), process.estimated.as_slice()].concat();
        covered.sort_unstable();
        let mut threads = vec![OfThread::default(); process.threads.len()];
        if alone || !covered.is_empty() {
            for span in &process.on_core {
                threads[span.thread.index()].on_core.push(*span);
            }
            for reading in process.readings.iter().filter(|_| alone) {
                threads[reading.thread.index()].readings.push(*reading);
            }
        }
        let waits: Vec<bool> = process.sites.iter().map(Site::waits_on_a_core).collect();
        let mut any_spins = false;
        for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
            any_spins |= sample.site.is_some_and(|site| waits[site.index()]);
            threads[sample.thread.index()].running.push(*sample);
        }
        if any_spins {
            for (thread, sides) in threads.iter_mut().zip(sides(process)) {
                thread.sides = sides;
            }
            // Of locks that are wanted very often not each wait is recorded: who is found in a loop behind one may be at the next.
            let is_recorded = |wait: &&Wait| !process.object(wait.object).kind.is_lock();
            for wait in process.waits.iter().filter(is_recorded) {
                threads[wait.thread.index()].waits.push((wait.begin, wait.end));
            }
        }
        for thread in &mut threads {
            thread.on_core.sort_unstable();
            thread.readings.sort_unstable_by_key(|reading| (reading.time, reading.cpu, reading.delay));
            thread.running.sort_unstable_by_key(|sample| (sample.time, sample.site, sample.weight));
            thread.waits.sort_unstable();
        }
        let (estimated, only_preempted) = (process.estimated.clone(), preempted::only_preempted(process));
        Self { alone, covered, estimated, threads, waits, any_spins, only_preempted }
    }

    fn is_estimated(&self, time: Time) -> bool {
        let before = self.estimated.partition_point(|span| span.0 <= time);
        self.estimated[..before].last().is_some_and(|span| time < span.1)
    }

    /// For the row of a thread, from `start` to `end`, of about so many segments.
    pub(crate) fn refine(&self, thread: ThreadId, start: Time, end: Time, segments: usize) -> Refined<'_> {
        let known = &self.threads[thread.index()];
        let changes = (self.alone || !self.covered.is_empty()).then(|| {
            let mut changes = changes(start, end, &known.on_core, &self.covered);
            if self.alone {
                changes.extend(read(&known.readings, &self.covered));
                changes.sort_by_key(|change| change.0);
            }
            changes
        });
        let more = changes.as_ref().map_or(0, Vec::len);
        Refined {
            records: self,
            thread,
            row: Row { start, end, segments: Vec::new() },
            segments: Rows::of(segments + more),
            changes,
            next: 0,
            kernel: Kernel::Unknown,
            pieces: Vec::new(),
        }
    }
}

/// A row that is being refined.
pub(crate) struct Refined<'a> {
    records: &'a Records,
    thread: ThreadId,
    /// Without segments yet.
    row: Row,
    segments: Rows,
    /// `None` where nothing is known of cores.
    changes: Option<Vec<(Time, Kernel)>>,
    /// The first change that is still to come.
    next: usize,
    kernel: Kernel,
    /// The parts of a segment, of which the kernel says different things.
    pieces: Vec<(Time, Time, Kernel)>,
}

/// What is left of the CPU time that was read at both ends of work, for those parts of it in which it is not known when
/// the thread had a core.
struct Untold {
    cpu: Nanos,
    length: Nanos,
}

impl Untold {
    fn of(segment: &Segment, pieces: &[(Time, Time, Kernel)]) -> Option<Untold> {
        let all = segment.cpu.filter(|_| pieces.len() > 1)?;
        let sum = |of: Kernel| -> Nanos {
            pieces.iter().filter(|piece| piece.2 == of).map(|(from, until, _)| until.since(*from)).sum()
        };
        Some(Untold { cpu: all.saturating_sub(sum(Kernel::On)), length: sum(Kernel::Unknown) })
    }

    fn part(&self, length: Nanos) -> Nanos {
        share(self.cpu.min(self.length), length, self.length)
    }
}

impl Refined<'_> {
    /// Takes the next segment of the row, as the preload saw it.
    pub(crate) fn push(&mut self, segment: Segment) {
        let Some(changes) = &self.changes else {
            self.segments.all.push(segment);
            return;
        };
        // What an active thread is where the kernel's view has a gap.
        let unknown = if self.records.alone { State::NotRecorded } else { State::Active };
        let mut at = segment.start;
        self.pieces.clear();
        while at < segment.end {
            while let Some(&(time, now)) = changes.get(self.next).filter(|change| change.0 <= at) {
                debug_assert!(time <= at);
                self.kernel = now;
                self.next += 1;
            }
            let until = changes.get(self.next).map_or(segment.end, |change| change.0.min(segment.end));
            self.pieces.push((at, until, self.kernel));
            at = until;
        }
        let share = Untold::of(&segment, &self.pieces);
        // Two waits for the same barrier that follow each other are two.
        self.segments.goes_on = segment.object.is_none();
        let never_waits = segment.state == State::Io
            && segment.site.is_some_and(|site| self.records.only_preempted[site.index()]);
        for &(from, until, kernel) in &self.pieces {
            let kernel = if never_waits && kernel == Kernel::Unknown { Kernel::Preempted } else { kernel };
            let is_estimated = self.records.is_estimated(from);
            let mut piece = piece(&segment, from, until, kernel, unknown, is_estimated);
            if kernel == Kernel::Unknown && piece.state == State::Active {
                piece.cpu = piece.cpu.or_else(|| share.as_ref().map(|untold| untold.part(until.since(from))));
            }
            self.segments.push(piece);
            self.segments.goes_on = true;
        }
    }

    pub(crate) fn finish(self) -> Row {
        let mut row = Row { segments: self.segments.all, ..self.row };
        if self.records.any_spins {
            let spans = spinning(&row, &self.records.threads[self.thread.index()], &self.records.waits);
            row.segments = with_spinning(&row.segments, &spans);
        }
        row
    }
}

/// What the kernel says of one thread from one moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kernel {
    /// Nothing was recorded.
    Unknown,
    On,
    Preempted,
    Off,
    /// It had left its core, nobody knows why: it may have ended.
    Gone,
}

fn without_core(left: Left) -> Kernel {
    match left {
        Left::Preempted => Kernel::Preempted,
        Left::Blocked => Kernel::Off,
        Left::Unknown => Kernel::Gone,
    }
}

/// The moments at which the kernel's view of a thread changes, in order of time.
fn changes(start: Time, end: Time, spans: &[OnCore], covered: &[(Time, Time)]) -> Vec<(Time, Kernel)> {
    let mut changes = Vec::with_capacity(spans.len() * 2 + covered.len() * 2);
    let mut next = spans.iter().peekable();
    for &(from, until) in covered {
        // Before its first span a thread that began meanwhile waits for its first core; one that was there waits for
        // something else.
        let is_new = start > from;
        let (from, until) = (from.max(start), until.min(end));
        if from >= until {
            continue;
        }
        let mut state = if is_new { Kernel::Preempted } else { Kernel::Off };
        while let Some(span) = next.next_if(|span| span.end <= from) {
            if span.end == from {
                state = without_core(span.left);
            }
        }
        changes.push((from, state));
        while let Some(span) = next.next_if(|span| span.begin < until) {
            let (begin, end) = (span.begin.max(from), span.end.min(until));
            if end <= from {
                continue;
            }
            changes.push((begin, Kernel::On));
            state = without_core(span.left);
            changes.push((end, state));
        }
        changes.push((until, Kernel::Unknown));
    }
    changes
}

fn piece(
    segment: &Segment,
    start: Time,
    end: Time,
    kernel: Kernel,
    unknown: State,
    is_estimated: bool,
) -> Segment {
    let length = end.since(start);
    let whole = start == segment.start && end == segment.end;
    let same = Segment { start, end, cpu: segment.cpu.filter(|_| whole), ..segment.clone() };
    let without_object = |state, cpu| Segment { state, object: None, by: None, cpu, ..same.clone() };
    match (segment.state, kernel) {
        (State::Active | State::Waking, Kernel::On) => without_object(State::Active, Some(length)),
        (State::Active, Kernel::Unknown | Kernel::Gone) if unknown != State::Active => {
            Segment { site: None, ..without_object(unknown, None) }
        }
        (State::Active, Kernel::Preempted) => without_object(State::Descheduled, Some(Nanos::ZERO)),
        (State::Io, Kernel::Preempted) if !is_estimated => {
            without_object(State::Descheduled, Some(Nanos::ZERO))
        }
        (State::Active, Kernel::Off) => {
            Segment { site: None, ..without_object(State::Blocked, Some(Nanos::ZERO)) }
        }
        (State::Spinning, Kernel::Preempted) if segment.object.is_none() => {
            without_object(State::Descheduled, Some(Nanos::ZERO))
        }
        _ => same,
    }
}

/// Segments, of which neighbours of the same kind become one.
struct Rows {
    all: Vec<Segment>,
    /// Whether the next one may be a part of the last.
    goes_on: bool,
}

impl Rows {
    /// With room for so many.
    fn of(segments: usize) -> Rows {
        Rows { all: Vec::with_capacity(segments), goes_on: true }
    }

    fn push(&mut self, segment: Segment) {
        if segment.start == segment.end {
            return;
        }
        if self.goes_on
            && let Some(last) = self.all.last_mut()
            && last.end == segment.start
            && (last.state, last.object, last.site, last.by)
                == (segment.state, segment.object, segment.site, segment.by)
            && last.state != State::Waking
            && (last.state != State::Active || last.is_on_core() == segment.is_on_core())
        {
            last.end = segment.end;
            last.cpu = last.cpu.zip(segment.cpu).map(|(a, b)| a + b);
            return;
        }
        self.all.push(segment);
    }
}

impl Segment {
    /// Whether it had a core all the time; `None` where that is not known.
    fn is_on_core(&self) -> Option<bool> {
        self.cpu.map(|cpu| cpu == self.length())
    }
}

impl OfThread {
    /// Whether what the thread does at `time` is a part of a wait that is known: it waits, or it was released just now (its wait
    /// is over in the timeline, which is that of who released it) and has not come back from the call. Who executes a task
    /// meanwhile does something else.
    fn is_in_wait(&self, segments: &[Segment], time: Time, side: Side) -> bool {
        let is_blocked = segments.last().is_some_and(|segment| {
            segment.end >= time && segment.state == State::Blocked && segment.object.is_some()
        });
        let begun = self.waits.partition_point(|wait| wait.0 <= time);
        is_blocked || side != Side::Task && self.waits[..begun].last().is_some_and(|wait| wait.1 >= time)
    }
}

/// The spans that samples in waiting loops stand for: back from each sample over active time on its [`Side`] to the sample
/// before on that, but not further than [`Sample::reach`].
fn spinning(row: &Row, thread: &OfThread, waits: &[bool]) -> Vec<(Time, Time, SiteId)> {
    let OfThread { running: samples, sides, .. } = thread;
    let side = |time: Time| change_before(sides, time).map_or(Side::Outside, |change| change.1);
    let mut spans: Vec<(Time, Time, SiteId)> = Vec::new();
    let mut before = [row.start; Side::Task as usize + 1];
    for sample in samples {
        let own = side(sample.time);
        let before = &mut before[own as usize];
        if let Some(site) = sample.site.filter(|site| waits[site.index()]) {
            let after = row.segments.partition_point(|segment| segment.start < sample.time);
            // A loop within a wait that is known is that wait's, and says nothing of what came before.
            let is_of_wait = thread.is_in_wait(&row.segments[..after], sample.time, own);
            let mut left = if is_of_wait { Nanos::ZERO } else { sample.reach() };
            let mut found = Vec::new();
            'back: for segment in row.segments[..after].iter().rev() {
                if segment.state != State::Active {
                    continue;
                }
                let (start, mut end) = (segment.start.max(*before), segment.end.min(sample.time));
                while end > start {
                    if left == Nanos::ZERO {
                        break 'back;
                    }
                    let edge = change_before(sides, end).map_or(start, |change| change.0.max(start));
                    if side(end) == own {
                        let length = end.since(edge).min(left);
                        left -= length;
                        found.push((Time::from_nanos(end.nanos() - length.get()), end, site));
                    }
                    end = edge;
                }
                if segment.start <= *before {
                    break;
                }
            }
            spans.extend(found.into_iter().rev());
        }
        *before = sample.time.max(*before);
    }
    // What is painted of one side lies between that of the other.
    spans.sort_unstable();
    spans
}

fn with_spinning(segments: &[Segment], spans: &[(Time, Time, SiteId)]) -> Vec<Segment> {
    let mut result = Rows::of(segments.len() + spans.len() * 2);
    let mut next = 0;
    for segment in segments {
        let mut at = segment.start;
        result.goes_on = segment.object.is_none();
        let part = |start: Time, end: Time| {
            let cpu = segment.cpu.map(|cpu| share(cpu, end.since(start), segment.length()));
            Segment { start, end, cpu, ..segment.clone() }
        };
        while let Some(&(start, end, site)) = spans.get(next).filter(|span| span.0 < segment.end) {
            if segment.state == State::Active && end > at {
                let (start, end) = (start.max(at), end.min(segment.end));
                result.push(part(at, start));
                let spin = Segment { state: State::Spinning, site: Some(site), ..part(start, end) };
                result.push(spin);
                at = end;
            }
            if spans[next].1 > segment.end {
                break;
            }
            next += 1;
        }
        result.push(part(at, segment.end));
    }
    result.all
}

/// `cpu` × `part` / `whole`.
fn share(cpu: Nanos, part: Nanos, whole: Nanos) -> Nanos {
    if part == whole {
        return cpu;
    }
    Nanos::new((u128::from(cpu.get()) * u128::from(part.get()) / u128::from(whole.get().max(1))) as u64)
}

#[cfg(test)]
mod tests {
    use crate::openmp::{Instance, Region, Share, TaskId, TaskRun, Vendor};
    use crate::{
        Block, Call, CpuReading, Doing, Left, Nanos, ObjectKind, OnCore, Process, Sample, Site, State,
        ThreadId, Time, Timeline, Wait,
    };

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn on_core(begin: u64, end: u64, left: Left) -> OnCore {
        OnCore { thread: ThreadId::new(0), begin: at(begin), end: at(end), core: 0, left }
    }

    fn states(process: &Process) -> Vec<(u64, u64, State)> {
        let timeline = Timeline::build(process);
        assert_eq!(timeline.check(), Ok(()));
        timeline.threads[0]
            .segments
            .iter()
            .map(|segment| (segment.start.nanos(), segment.end.nanos(), segment.state))
            .collect()
    }

    fn process() -> Process {
        let mut process = Process::new(at(0), at(100));
        process.add_thread("main", at(0), None);
        process.covered = vec![(at(0), at(100))];
        process
    }

    #[test]
    fn what_is_not_on_a_core_is_not_active() {
        let mut process = process();
        process.on_core = vec![
            on_core(50, 100, Left::Unknown),
            on_core(5, 20, Left::Preempted),
            on_core(30, 40, Left::Blocked),
        ];
        let expected = [
            (0, 5, State::Blocked),
            (5, 20, State::Active),
            (20, 30, State::Descheduled),
            (30, 40, State::Active),
            (40, 50, State::Blocked),
            (50, 100, State::Active),
        ];
        assert_eq!(states(&process), expected);
    }

    #[test]
    fn who_loses_the_core_in_a_call_has_no_core() {
        let mut process = process();
        process.blocks.push(Block {
            thread: ThreadId::new(0),
            begin: at(10),
            end: at(80),
            call: Call::Write,
            timed_out: false,
            site: None,
            cpu_begin: None,
            cpu_end: None,
        });
        process.on_core = vec![
            on_core(0, 30, Left::Blocked),
            on_core(40, 50, Left::Preempted),
            on_core(60, 90, Left::Preempted),
        ];
        let expected = [
            (0, 10, State::Active),
            (10, 50, State::Io),
            (50, 60, State::Descheduled),
            (60, 80, State::Io),
            (80, 90, State::Active),
            (90, 100, State::Descheduled),
        ];
        assert_eq!(states(&process), expected);
        // What looks now and then say of cores is not enough for it.
        process.estimated = std::mem::take(&mut process.covered);
        let in_call: Vec<_> =
            states(&process).into_iter().filter(|&(.., state)| state == State::Io).collect();
        assert_eq!(in_call, [(10, 80, State::Io)]);
    }

    #[test]
    fn where_records_are_missing_all_stays_as_it_was() {
        let mut process = process();
        process.covered = vec![(at(0), at(30)), (at(60), at(100))];
        process.on_core = vec![on_core(0, 10, Left::Preempted), on_core(70, 100, Left::Unknown)];
        let expected = [
            (0, 10, State::Active),
            (10, 30, State::Descheduled),
            (30, 60, State::Active),
            (60, 70, State::Blocked),
            (70, 100, State::Active),
        ];
        assert_eq!(states(&process), expected);
    }

    #[test]
    fn readings_tell_what_is_sure_and_no_more() {
        let mut process = process();
        process.seen_by.kernel = true;
        process.covered = vec![(at(0), at(20))];
        process.on_core = vec![on_core(0, 20, Left::Unknown)];
        let reading = |time, cpu, delay| CpuReading {
            thread: ThreadId::new(0),
            time: at(time),
            cpu: Nanos::new(cpu),
            delay: Nanos::new(delay),
        };
        process.readings =
            vec![reading(30, 500, 0), reading(50, 520, 0), reading(70, 530, 5), reading(90, 530, 5)];
        let expected = [
            (0, 20, State::Active),
            (20, 30, State::NotRecorded),
            (30, 50, State::Active),
            (50, 70, State::NotRecorded),
            (70, 90, State::Blocked),
            (90, 100, State::NotRecorded),
        ];
        assert_eq!(states(&process), expected);
    }

    #[test]
    fn samples_in_a_waiting_loop_are_spinning() {
        let mut process = process();
        process.covered.clear();
        let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
        let work = process.add_site(Site::default());
        let sample = |time, site| Sample {
            thread: ThreadId::new(0),
            time: at(time),
            doing: Doing::Running,
            site: Some(site),
            weight: Nanos::new(20),
            access: None,
            in_kernel: None,
        };
        process.samples = vec![sample(60, spin), sample(20, work), sample(40, spin), sample(90, spin)];
        let expected = [(0, 20, State::Active), (20, 90, State::Spinning), (90, 100, State::Active)];
        assert_eq!(states(&process), expected);
    }

    #[test]
    fn a_loop_within_a_known_wait_says_nothing_of_the_work_before_it() {
        let mut process = process();
        process.covered.clear();
        let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
        let lock = process.add_object(ObjectKind::Mutex, 0x10);
        process.waits.push(Wait::granted(ThreadId::new(0), lock, at(50), at(70)));
        process.samples = vec![Sample {
            thread: ThreadId::new(0),
            time: at(60),
            doing: Doing::Running,
            site: Some(spin),
            weight: Nanos::new(40),
            access: None,
            in_kernel: None,
        }];
        let spinning: Vec<_> =
            states(&process).into_iter().filter(|&(.., state)| state == State::Spinning).collect();
        assert_eq!(spinning, []);
    }

    /// Who was released a moment ago may still be in the loop: a sample there is no reason to take the work before the wait for spinning.
    #[test]
    fn a_loop_just_after_the_release_is_a_part_of_the_wait() {
        let spinning = |time, returned| {
            let mut process = process();
            process.add_thread("other", at(0), None);
            let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
            let barrier = process.add_object(ObjectKind::Barrier, 0x10);
            let on_core = |thread| OnCore { thread, ..on_core(0, 100, Left::Unknown) };
            process.on_core = vec![on_core(ThreadId::new(0)), on_core(ThreadId::new(1))];
            for (thread, begin, end) in [(0, 50, returned), (1, 60, 60)] {
                let wait = Wait::granted(ThreadId::new(thread), barrier, at(begin), at(end));
                process.waits.push(Wait { round: Some(1), ..wait });
            }
            process.samples = vec![Sample {
                thread: ThreadId::new(0),
                time: at(time),
                doing: Doing::Running,
                site: Some(spin),
                weight: Nanos::new(40),
                access: None,
                in_kernel: None,
            }];
            states(&process).into_iter().filter(|&(.., state)| state == State::Spinning).collect::<Vec<_>>()
        };
        assert_eq!(spinning(70, 80), [], "the other has come at 60, and the call returns at 80");
        assert_eq!(
            spinning(90, 80),
            [(0, 50, State::Spinning), (60, 90, State::Spinning)],
            "it has returned"
        );
    }

    fn share(begin: u64, end: u64, cpu: Option<u64>) -> Share {
        Share {
            thread: ThreadId::new(0),
            instance: Instance::new(1),
            index: 0,
            begin: at(begin),
            end: at(end),
            cpu: None,
            cpu_begin: cpu.map(Nanos::new),
        }
    }

    /// With samples of a loop of the runtime's at these times.
    fn spinning_at(times: &[u64]) -> Process {
        let mut process = process();
        process.covered.clear();
        let spin = process.add_site(Site { in_waiting_loop: true, ..Site::default() });
        let sample = |&time| Sample {
            thread: ThreadId::new(0),
            time: at(time),
            doing: Doing::Running,
            site: Some(spin),
            weight: Nanos::new(100),
            access: None,
            in_kernel: None,
        };
        process.samples = times.iter().map(sample).collect();
        process
    }

    #[test]
    fn spinning_between_regions_says_nothing_of_the_work_in_them() {
        let mut process = spinning_at(&[80]);
        process.openmp.shares = vec![share(20, 60, None), share(30, 40, None)];
        let expected = [
            (0, 20, State::Spinning),
            (20, 60, State::Active),
            (60, 80, State::Spinning),
            (80, 100, State::Active),
        ];
        assert_eq!(states(&process), expected);
    }

    /// A thread that starts the others of its team was found in the runtime: it was so in no region before, nor in what it did alone.
    #[test]
    fn what_the_runtime_does_to_start_a_region_says_nothing_of_what_comes_before_it() {
        let mut process = spinning_at(&[64]);
        process.openmp.regions = vec![Region {
            thread: ThreadId::new(0),
            begin: at(60),
            end: at(90),
            place: None,
            met_at: None,
            instance: Instance::new(1),
            parent: None,
            size: 2,
            count: 1,
            timed: 1,
            time: Nanos::new(30),
            whole: true,
            open: false,
            league: false,
            vendor: Vendor::Gnu,
        }];
        process.openmp.shares = vec![share(70, 90, None)];
        let expected = [(0, 60, State::Active), (60, 64, State::Spinning), (64, 100, State::Active)];
        assert_eq!(states(&process), expected);
    }

    #[test]
    fn spinning_between_tasks_at_a_barrier_says_nothing_of_the_tasks() {
        let mut process = spinning_at(&[90]);
        process.openmp.shares = vec![share(0, 20, None)];
        for (begin, end) in [(30, 50), (50, 60)] {
            process.openmp.task_runs.push(TaskRun {
                thread: ThreadId::new(0),
                task: Some(TaskId::new(begin)),
                instance: Some(Instance::new(1)),
                begin: at(begin),
                end: at(end),
                complete: true,
            });
        }
        let expected = [
            (0, 20, State::Active),
            (20, 30, State::Spinning),
            (30, 60, State::Active),
            (60, 90, State::Spinning),
            (90, 100, State::Active),
        ];
        assert_eq!(states(&process), expected);
    }

    fn active(process: &Process) -> Vec<(u64, u64, Option<u64>)> {
        let timeline = Timeline::build(process);
        let active = timeline.threads[0].segments.iter().filter(|segment| segment.state == State::Active);
        active.map(|part| (part.start.nanos(), part.end.nanos(), part.cpu.map(Nanos::get))).collect()
    }

    /// Of work whose CPU time is known, that within the records is taken off; the rest is that of the gaps.
    #[test]
    fn what_is_no_cpu_time_in_a_gap_of_the_records_is_a_lack_of_a_core() {
        let mut process = process();
        process.covered = vec![(at(0), at(20)), (at(60), at(100))];
        process.on_core = vec![on_core(0, 20, Left::Unknown), on_core(60, 80, Left::Preempted)];
        let lock = process.add_object(ObjectKind::Mutex, 0x10);
        let mut wait = Wait::granted(ThreadId::new(0), lock, at(80), at(100));
        wait.cpu_begin = Some(Nanos::new(50));
        process.waits.push(wait);
        assert_eq!(active(&process), [(0, 20, Some(20)), (20, 60, Some(10)), (60, 80, Some(20))]);
        process.waits[0].cpu_begin = None;
        assert_eq!(active(&process), [(0, 20, Some(20)), (20, 60, None), (60, 80, Some(20))]);
    }

    /// Each round of a barrier has its own waits, though nothing lies between.
    #[test]
    fn waits_that_follow_each_other_stay_two() {
        let mut process = process();
        let barrier = process.add_object(ObjectKind::Barrier, 0x10);
        for (begin, end) in [(10, 40), (40, 90)] {
            process.waits.push(Wait::granted(ThreadId::new(0), barrier, at(begin), at(end)));
        }
        process.on_core = vec![on_core(0, 10, Left::Blocked), on_core(90, 100, Left::Unknown)];
        let waits = states(&process).into_iter().filter(|part| part.2 != State::Active);
        assert_eq!(waits.map(|part| (part.0, part.1)).collect::<Vec<_>>(), [(10, 40), (40, 90)]);
    }

    /// A process that ends may take long to; that is no lack of a core.
    #[test]
    fn a_thread_that_left_its_core_for_good_lacks_none() {
        let mut process = process();
        process.threads[0].cpu = Some(Nanos::new(40));
        process.on_core = vec![on_core(0, 40, Left::Unknown)];
        assert_eq!(active(&process), [(0, 40, Some(40)), (40, 100, None)]);
    }

    /// What a thread lacked a core for before its share is not that of the work in it.
    #[test]
    fn cpu_time_that_is_read_where_a_share_begins_parts_the_work() {
        let mut process = process();
        process.covered.clear();
        let lock = process.add_object(ObjectKind::Mutex, 0x10);
        let mut wait = Wait::granted(ThreadId::new(0), lock, at(80), at(90));
        wait.cpu_begin = Some(Nanos::new(50));
        process.waits.push(wait);
        process.openmp.shares = vec![share(40, 80, Some(10))];
        let timeline = Timeline::build(&process);
        let work: Vec<_> = timeline.threads[0]
            .segments
            .iter()
            .filter(|segment| segment.state == State::Active && segment.end <= at(80))
            .map(|segment| (segment.start.nanos(), segment.end.nanos(), segment.cpu.map(Nanos::get)))
            .collect();
        assert_eq!(work, [(0, 40, Some(10)), (40, 80, Some(40))]);
    }
}
