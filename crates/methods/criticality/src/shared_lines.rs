//! Cache lines that several threads access at the same time, at least one of them to write.
//!
//! A processor core that writes to a cache line takes it from all others, and who accesses it next fetches it from there: some ten times as
//! long as an access to a line that the core has takes. A thread that waits for memory is found by samples right behind the
//! instruction that accesses it (`holdup_code::accessed_before`), and its registers say which data that was. So samples say which lines
//! threads pass to each other, and how much time passes at these accesses. How much of that is waiting for the line they do not
//! say: an access takes its time also where nobody else uses the line, and what else waits for it is found elsewhere.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use holdup_model::{
    Access, AccessKind, Arrange, CACHE_LINE, Doing, Nanos, Process, Site, SiteId, State, Thread, ThreadId,
    ThreadTimes, Time, Timeline,
};

use crate::hot::{Function, compiled_into};
use crate::losses::ByThread;
use crate::samples::Samples;
use crate::scarcity::part;

/// Accesses are at the same time if samples that find them are no further apart than this many sampling periods: a thread
/// that takes a twentieth of its time for a line is found at it that often.
const NEAR: u64 = 20;

/// A thread is found at regular times if it lives for so many sampling periods.
const LONG_LIFE: u64 = 4;

/// So many touches of a line, at most, are looked at before one and behind it: with few threads all that are near.
const NEIGHBOURS: usize = 64;

/// A touch is to the same bytes if one of so many touches by others is, those that are nearest in time: goroutines and tasks, whose data
/// it is, go from thread to thread, so that later on the same thread has other data.
const NEAREST: usize = 4;

/// Fewer samples than this say nothing.
const FEWEST_SAMPLES: u64 = 10;

/// What is so for this share of the time.
const MOSTLY: f64 = 0.5;

/// Where so many lines are found, each of them may be found too seldom to say who else was there at the time.
const MANY_LINES: usize = 4;

/// Each time that another thread takes the line, a thread waits for it once, about as long as that one did: so a thread counts for at
/// most so many times as long as all others were found at the line.
const MOST_OF_OTHERS: u64 = 2;

/// Lines that the same functions access.
#[derive(Debug)]
pub(crate) struct SharedLines {
    /// Where most of the time passes.
    pub(crate) place: SiteId,
    /// Active time at accesses to them while other threads accessed them.
    pub(crate) threads: ByThread,
    /// How many samples found threads there.
    pub(crate) samples: u64,
    /// How many they are.
    pub(crate) lines: usize,
    /// Threads access different bytes of them, for most of the time.
    pub(crate) is_false: bool,
    /// Most of the time passes at atomic instructions.
    pub(crate) is_atomic: bool,
    /// The variable that most accesses to the line with the most samples are to, where it has a name.
    pub(crate) variable: Option<String>,
    /// Of the line with the most samples: which bytes of it each thread (those that came one after the other: all of them) was found to
    /// access, and whether it was found to write.
    pub(crate) bytes: Vec<(Vec<ThreadId>, Range<u64>, bool)>,
}

/// Threads of a sort that come one after the other, as the first or the second of several that are there at a time, are one: each of
/// them may be too short to be found more than once.
struct Successions {
    /// By thread.
    of: Vec<usize>,
    /// By succession, in order: from when on there is which.
    lives: Vec<Vec<(Time, ThreadId)>>,
}

/// The successions of a sort: which have a thread until when, and which had one.
#[derive(Default)]
struct Taken {
    until: BinaryHeap<Reverse<(Time, usize)>>,
    free: BTreeSet<usize>,
}

impl Successions {
    fn of<S: Ord>(process: &Process, stages: &[S]) -> Self {
        let mut threads: Vec<ThreadId> = (0..process.threads.len() as u32).map(ThreadId::new).collect();
        threads.sort_by_key(|&thread| (process.thread(thread).start, thread));
        let mut found = Self { of: vec![0; threads.len()], lives: Vec::new() };
        let mut of_stage: BTreeMap<&S, Taken> = BTreeMap::new();
        for thread in threads {
            let facts = process.thread(thread);
            let taken = of_stage.entry(&stages[thread.index()]).or_default();
            while let Some(&Reverse((_, one))) =
                taken.until.peek().filter(|Reverse((end, _))| *end <= facts.start)
            {
                taken.free.insert(one);
                taken.until.pop();
            }
            let own = taken.free.pop_first().unwrap_or_else(|| {
                found.lives.push(Vec::new());
                found.lives.len() - 1
            });
            taken.until.extend(facts.end.map(|end| Reverse((end, own))));
            found.lives[own].push((facts.start, thread));
            found.of[thread.index()] = own;
        }
        found
    }

    /// True if the thread that is there at a time is active then: who waits for another thread takes no line from it.
    fn is_active(&self, timeline: &Timeline, succession: usize, at: Time) -> bool {
        let lives = &self.lives[succession];
        let begun = lives.partition_point(|(start, _)| *start <= at);
        lives[..begun].last().is_some_and(|&(_, thread)| {
            let row = timeline.row(thread);
            row.at(at).is_some_and(|index| row.segments[index].state == State::Active)
        })
    }
}

/// Which threads are there for several sampling periods, and so found at regular times.
fn that_live_long(process: &Process, period: Nanos) -> Vec<bool> {
    let lives_long = |thread: &Thread| {
        let life = thread.end.unwrap_or(process.end).since(thread.start);
        life.get() >= period.get().saturating_mul(LONG_LIFE)
    };
    process.threads.iter().map(lives_long).collect()
}

/// By how much the samples of the short threads of each thread's sort stand for less than these were active: few of them are found
/// at all. 1 for long ones, and where too few samples say so.
fn times_as_active<S: Ord>(
    stages: &[S],
    times: &[ThreadTimes],
    samples: &Samples,
    lives_long: &[bool],
) -> Vec<f64> {
    let mut of_stage: BTreeMap<&S, (Nanos, Nanos, u64)> = BTreeMap::new();
    for (thread, look) in samples.all().filter(|(thread, _)| !lives_long[thread.index()]) {
        let (_, seen, count) = of_stage.entry(&stages[thread.index()]).or_default();
        *seen += look.active;
        *count += 1;
    }
    let short = stages.iter().zip(times).zip(lives_long).filter(|(_, lives_long)| !**lives_long);
    for ((stage, times), _) in short {
        of_stage.entry(stage).or_default().0 += times.active.saturating_sub(times.delayed);
    }
    let times = |(stage, &lives_long): (&S, &bool)| match of_stage.get(stage) {
        Some(&(active, seen, FEWEST_SAMPLES..)) if !lives_long => active.share_of(seen).max(1.0),
        _ => 1.0,
    };
    stages.iter().zip(lives_long).map(times).collect()
}

/// An access to a line.
struct Touch {
    time: Time,
    thread: ThreadId,
    /// Its thread is there for several sampling periods, and so found at regular times.
    lives_long: bool,
    succession: usize,
    access: Access,
    active: Nanos,
    place: SiteId,
}

impl Touch {
    fn writes(&self) -> bool {
        self.access.kind != AccessKind::Read
    }

    fn apart(&self, other: &Touch) -> Nanos {
        self.time.max(other.time).since(self.time.min(other.time))
    }

    fn overlaps(&self, other: &Touch) -> bool {
        let end = |touch: &Touch| touch.access.address + u64::from(touch.access.bytes);
        self.access.address < end(other) && other.access.address < end(self)
    }
}

/// Whether threads use a line at once, or by turns: a thread that has it for itself for longer than a sampling period, such as the
/// holder of a lock, waits for it only once.
#[derive(Default)]
struct Meetings {
    /// How often others were found at the line within half a sampling period.
    seen: u64,
    /// How often they would be, as often as they are found there around, if it were nothing to one thread where another one is.
    expected: f64,
}

impl Meetings {
    /// Adds a touch and all that are around.
    fn add(&mut self, touch: &Touch, around: &[Touch], period: Nanos) {
        let others = || around.iter().filter(|other| other.succession != touch.succession);
        let span = around.last().zip(around.first()).map_or(Nanos::ZERO, |(last, first)| last.apart(first));
        self.seen += others().filter(|other| other.apart(touch).get() <= period.get() / 2).count() as u64;
        self.expected += others().count() as f64 * period.share_of(span.max(period));
    }

    /// The share of the touches at which others are at the line, too; 1 where fewer meetings than expected can be by chance.
    fn share_at_once(&self) -> f64 {
        ((self.seen as f64 + self.expected.sqrt() + 1.0) / (self.expected + 1.0)).min(1.0)
    }
}

/// How often two touches that are near in time, one of them to write, are to the same of many lines: by two threads, and by one. Where
/// threads go over the same lines at random, it is as often; where each has a part of them for a while, only the latter.
#[derive(Clone, Copy, Debug, Default)]
struct Together {
    pairs: [u64; 2],
    same: [u64; 2],
}

impl Together {
    /// Of touches in the order of time, with their lines.
    fn of(touches: &[(u64, &Touch)], period: Nanos) -> Self {
        let near = Nanos::new(period.get().saturating_mul(NEAR));
        let mut found = Self::default();
        for (at, (line, touch)) in touches.iter().enumerate() {
            let after = touches[at + 1..].iter().take(NEIGHBOURS);
            for (other_line, other) in after.take_while(|(_, other)| other.apart(touch) <= near) {
                if other.writes() || touch.writes() {
                    let by = usize::from(other.succession == touch.succession);
                    found.pairs[by] += 1;
                    found.same[by] += u64::from(other_line == line);
                }
            }
        }
        found
    }

    /// The share of the touches to lines that other threads touch at the time.
    fn share(&self) -> f64 {
        if self.same[0] < FEWEST_SAMPLES || self.same[1] == 0 {
            return 0.0;
        }
        let often = |by: usize| self.same[by] as f64 / self.pairs[by] as f64;
        (often(0) / often(1)).min(1.0)
    }
}

/// What was found of one line.
#[derive(Default)]
struct Line {
    number: u64,
    touches: Vec<Touch>,
    /// Which of them are near to those of others.
    are_near: Vec<bool>,
    /// By succession, then thread: the time of touches that others' are near to.
    contended: BTreeMap<usize, ByThread>,
    samples: u64,
    /// The time of touches that are near to those of others.
    near: Nanos,
    /// Of that time, what others touch the same bytes meanwhile.
    same_bytes: Nanos,
    atomic: Nanos,
    by_place: BTreeMap<SiteId, Nanos>,
}

fn sum(threads: &ByThread) -> Nanos {
    threads.values().copied().sum()
}

impl Line {
    fn time(&self) -> Nanos {
        self.contended.values().map(sum).sum()
    }

    /// Which touches are near to those of others, one of the two to write. `period` is that of sampling.
    fn find(&mut self, timeline: &Timeline, successions: &Successions, period: Nanos) {
        let near = Nanos::new(period.get().saturating_mul(NEAR));
        let mut meetings = Meetings::default();
        for (at, touch) in self.touches.iter().enumerate() {
            let around =
                &self.touches[at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS).min(self.touches.len())];
            let is_before = |other: &Touch| other.time < touch.time && other.apart(touch) > near;
            let around = &around[around.partition_point(is_before)..];
            let is_near = |other: &Touch| other.time <= touch.time || other.apart(touch) <= near;
            let around = &around[..around.partition_point(is_near)];
            let mut others: Vec<&Touch> = around
                .iter()
                .filter(|other| other.succession != touch.succession && (other.writes() || touch.writes()))
                .collect();
            others.sort_by_key(|other| other.apart(touch));
            let is_active = |other: &&&Touch| successions.is_active(timeline, other.succession, touch.time);
            let nearest: Vec<&&Touch> = others.iter().filter(is_active).take(NEAREST).collect();
            self.are_near.push(!nearest.is_empty());
            if nearest.is_empty() {
                continue;
            }
            if touch.lives_long {
                meetings.add(touch, around, period);
            }
            self.samples += 1;
            self.near += touch.active;
            *self.contended.entry(touch.succession).or_default().entry(touch.thread).or_default() +=
                touch.active;
            *self.by_place.entry(touch.place).or_default() += touch.active;
            if nearest.iter().any(|other| other.overlaps(touch)) {
                self.same_bytes += touch.active;
            }
            if touch.access.kind == AccessKind::Atomic {
                self.atomic += touch.active;
            }
        }
        let share = meetings.share_at_once();
        for time in self.contended.values_mut().flat_map(BTreeMap::values_mut) {
            *time = Nanos::new((time.get() as f64 * share) as u64);
        }
        let all = self.time();
        for threads in self.contended.values_mut() {
            let own = sum(threads);
            let most = Nanos::new(all.saturating_sub(own).get().saturating_mul(MOST_OF_OTHERS));
            if own > most {
                threads.values_mut().for_each(|time| *time = part(*time, most, own));
            }
        }
    }

    /// Counts this share of the touches that are not near to those of others, as far as was seen of this line.
    fn add_others(&mut self, share: f64) {
        let mut count = 0.0;
        for (touch, _) in self.touches.iter().zip(&self.are_near).filter(|(_, is_near)| !**is_near) {
            let time = Nanos::new((touch.active.get() as f64 * share) as u64);
            *self.contended.entry(touch.succession).or_default().entry(touch.thread).or_default() += time;
            *self.by_place.entry(touch.place).or_default() += time;
            count += share;
        }
        self.samples += count as u64;
    }

    /// Threads access the same bytes of it, for most of the time at which that was seen.
    fn has_same_bytes(&self) -> bool {
        self.same_bytes.share_of(self.near) >= MOSTLY
    }

    fn variable(&self, process: &Process) -> Option<String> {
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for touch in &self.touches {
            if let Some(name) = process.variables.get(&touch.access.address) {
                *found.entry(name).or_default() += 1;
            }
        }
        found.into_iter().max_by_key(|&(name, count)| (count, Reverse(name))).map(|(name, _)| name.to_owned())
    }

    fn bytes(&self) -> Vec<(Vec<ThreadId>, Range<u64>, bool)> {
        let mut found: BTreeMap<usize, (Range<u64>, bool)> = BTreeMap::new();
        for touch in self.touches.iter().filter(|touch| self.contended.contains_key(&touch.succession)) {
            let begin = touch.access.address % CACHE_LINE;
            let end = (begin + u64::from(touch.access.bytes)).min(CACHE_LINE);
            let (range, writes) = found.entry(touch.succession).or_insert((begin..end, false));
            *range = range.start.min(begin)..range.end.max(end);
            *writes |= touch.writes();
        }
        let threads = |succession| self.contended[&succession].keys().copied().collect();
        found.into_iter().map(|(succession, (range, writes))| (threads(succession), range, writes)).collect()
    }
}

/// The lines that threads share, those of the same functions together; the most time first. O(n log n).
///
/// `stages` says of each thread what it does, `times` how long it did what.
pub(crate) fn shared_lines<S: Ord>(
    process: &Process,
    timeline: &Timeline,
    samples: &Samples,
    stages: &[S],
    times: &[ThreadTimes],
) -> Vec<SharedLines> {
    let running = process.samples.iter().filter(|sample| sample.doing == Doing::Running);
    let Some(period) = running.map(|sample| sample.weight).max() else { return Vec::new() };
    let successions = Successions::of(process, stages);
    let lives_long = that_live_long(process, period);
    let as_active = times_as_active(stages, times, samples, &lives_long);
    // What their words cost is reported with the locks and other objects themselves.
    let objects = process.objects.iter().filter(|object| object.thread.is_none());
    let objects: BTreeSet<u64> = objects.map(|object| object.address).collect();
    let is_own = |site: &Site| site.frames.first().is_some_and(|frame| !frame.is_in_runtime());
    let is_own: Vec<bool> = process.sites.iter().map(is_own).collect();
    let accesses = || {
        samples.all().filter_map(|(thread, look)| {
            let (access, place, site) = (look.access?, look.place?, look.site?);
            let counts = is_own[site.index()] && !objects.contains(&access.address);
            counts.then_some((thread, look, access, place))
        })
    };
    let shared = of_several(
        accesses().map(|(thread, _, access, _)| (line_of(access), successions.of[thread.index()])).collect(),
    );
    let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
    for (thread, look, access, place) in accesses() {
        if shared.binary_search(&line_of(access)).is_err() {
            continue;
        }
        let succession = successions.of[thread.index()];
        let active = Nanos::new((look.active.get() as f64 * as_active[thread.index()]) as u64);
        let lives_long = lives_long[thread.index()];
        let touch = Touch { time: look.time, thread, lives_long, succession, access, active, place };
        lines.entry(line_of(access)).or_default().touches.push(touch);
    }
    let mut found: Vec<Line> = lines.into_iter().map(|(number, line)| Line { number, ..line }).collect();
    for line in &mut found {
        line.touches.sort_by_key(|touch| (touch.time, touch.thread));
        line.find(timeline, &successions, period);
    }
    let mut all: Vec<SharedLines> = of_the_same_functions(process, found)
        .into_iter()
        .map(|lines| with_all_of_many(lines, period))
        .filter_map(|lines| together(process, &lines))
        .collect();
    all.arrange_by_key(|lines| (Reverse(lines.threads.values().copied().sum::<Nanos>()), lines.place));
    all
}

fn line_of(access: Access) -> u64 {
    access.address / CACHE_LINE
}

/// The lines of those (line, succession) that have several successions, in order. Most lines of a program that goes through much
/// memory are found once.
fn of_several(mut touched: Vec<(u64, usize)>) -> Vec<u64> {
    touched.sort_unstable();
    touched.dedup();
    let several = touched.chunk_by(|a, b| a.0 == b.0).filter(|of_line| of_line.len() > 1);
    several.map(|of_line| of_line[0].0).collect()
}

/// Lines at which threads meet, and others that the same functions access, as they were compiled: those in which threads access the same
/// bytes, and those in which they do not.
fn of_the_same_functions(process: &Process, lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut groups: Vec<(bool, Vec<Function<'_>>, Vec<Line>)> = Vec::new();
    let (met, others): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| line.contended.len() > 1);
    for line in met {
        let is_same = line.has_same_bytes();
        let functions: Vec<Function<'_>> =
            line.by_place.keys().map(|&place| compiled_into(process, place)).collect();
        let (mut own, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(same, known, _)| {
            *same == is_same && known.iter().any(|function| functions.contains(function))
        });
        let mut one = (is_same, functions, vec![line]);
        for (_, functions, lines) in &mut own {
            one.1.append(functions);
            one.2.append(lines);
        }
        one.1.sort_unstable();
        one.1.dedup();
        groups = others;
        groups.push(one);
    }
    groups.sort_by_key(|(is_same, ..)| *is_same);
    for line in others {
        let place = line.touches.first().map(|touch| touch.place);
        let function = place.map(|place| compiled_into(process, place));
        let is_own = |group: &&mut (bool, Vec<Function<'_>>, Vec<Line>)| {
            function.is_some_and(|function| group.1.contains(&function))
        };
        if let Some((_, _, lines)) = groups.iter_mut().find(is_own) {
            lines.push(line);
        }
    }
    groups.into_iter().map(|(_, _, lines)| lines).collect()
}

/// Many lines are each found seldom: what two threads do with all of them says how much of the time is spent at lines that both use.
fn with_all_of_many(mut lines: Vec<Line>, period: Nanos) -> Vec<Line> {
    if lines.len() >= MANY_LINES {
        let touches = lines.iter().flat_map(|line| line.touches.iter().map(|touch| (line.number, touch)));
        let mut touches: Vec<(u64, &Touch)> = touches.collect();
        touches.sort_by_key(|(_, touch)| (touch.time, touch.thread));
        let share = Together::of(&touches, period).share();
        if share > 0.0 {
            lines.iter_mut().for_each(|line| line.add_others(share));
        }
    }
    lines.retain(|line| line.samples > 0);
    lines
}

fn together(process: &Process, lines: &[Line]) -> Option<SharedLines> {
    let samples: u64 = lines.iter().map(|line| line.samples).sum();
    let most = lines.iter().max_by_key(|line| line.samples)?;
    let mut threads = ByThread::new();
    let mut by_place: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    for line in lines {
        for (&thread, &time) in line.contended.values().flatten() {
            *threads.entry(thread).or_default() += time;
        }
        for (&place, &time) in &line.by_place {
            *by_place.entry(place).or_default() += time;
        }
    }
    let near: Nanos = lines.iter().map(|line| line.near).sum();
    let (&place, _) = by_place.iter().max_by_key(|&(&place, &time)| (time, Reverse(place)))?;
    let mostly = |time: fn(&Line) -> Nanos| lines.iter().map(time).sum::<Nanos>().share_of(near) >= MOSTLY;
    (samples >= FEWEST_SAMPLES && threads.len() > 1).then(|| SharedLines {
        place,
        threads,
        samples,
        lines: lines.len(),
        is_false: !mostly(|line| line.same_bytes),
        is_atomic: mostly(|line| line.atomic),
        variable: most.variable(process),
        bytes: most.bytes(),
    })
}
