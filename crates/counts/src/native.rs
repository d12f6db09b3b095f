//! The times of the same sections in an ordinary recording of the same program.
//!
//! A thread's j-th arrival at a place, coming from the same place before, is the same as the j-th one under emulation. Time is
//! CPU time, so that threads that share cores, and locks that they wait for, do not enter it.
//!
//! Which thread is which is another question. Those that began in the same order are the same if that goes with what they
//! execute. Where threads draw their numbers at run time it does not: then those are the same that take long where the others
//! execute much, in all sections together (an assignment problem). So many ways to choose would find something in noise as
//! well, and so each half of the instances is matched by what the other half says. Where there is one instance alone nothing
//! can say so, and nothing is said ([`NativeMatch`]).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use holdup_model::counts::{Counts, Instance, NativeMatch, Section, SectionKind, SectionPlace};
use holdup_model::openmp::{Instance as TeamInstance, TaskRun};
use holdup_model::{Arrange, Frame, Nanos, ObjectKind, Process, Run, SiteId, ThreadId, Time};

use holdup_sections::main_of;

use crate::assignment::assignment;

/// A line of a file, or a function where there is none.
type Place = (Option<String>, Option<u32>, Option<String>);
/// Where a section ends and begins; `None` for where its threads begin.
type Key = (Place, Option<Place>);

/// For each thread of the native run its times in a section, in order; `None` where one is not known.
type Spans<'a> = Rc<Vec<&'a [Option<Nanos>]>>;

/// What executed instructions must explain of the native differences (a squared correlation) for a match to be believed.
const BELIEVED: f64 = 0.5;

/// Threads are matched by the order in which they began if another match explains at most this much more.
const AS_WELL: f64 = 0.05;

/// In sections whose threads execute more alike than this (shortest to longest) none can be told from another.
const ALIKE: f64 = 0.01;

/// Instructions of loops that only wait, as a share of work, up to which native times are those of work.
const LITTLE_WAITING: f64 = 0.05;

/// Adds native times to those instances all of whose threads are found again in the process of `native` that is looked at.
pub fn add_native_times(counts: &mut Counts, native: &Run) {
    if let Some(main) = main_of(native) {
        let cores = native.effective_cores_of(main.process);
        add(counts, &NativeTimes::of(main.process), cores, Some(main.process.threads.len()));
    }
}

/// Adds the times of the run that was counted itself, whose threads are the same.
pub fn add_own_times(counts: &mut Counts, run: &Run) {
    if let Some(process) = run.processes.first() {
        add(counts, &NativeTimes::of(process), run.effective_cores_of(process), None);
    }
}

/// See [`add_native_times`]; the native run had so many cores (0 where that is not known), and so many threads, if it was another
/// run.
fn add(counts: &mut Counts, times: &NativeTimes, cores: u32, threads: Option<usize>) {
    let mut met = Met::all(counts, times);
    // Of work that is dealt out at run time a thread without a core gets none, which says nothing of the work.
    met.retain(|met| {
        let instance = &counts.sections[met.section].instances[met.instance];
        cores == 0 || instance.units.is_empty() || instance.threads.len() <= cores as usize
    });
    let (found, who) = match threads {
        Some(threads) => Matching { counts, met: &met, threads }.found(),
        None => (NativeMatch::Order, in_order()),
    };
    let set: Vec<(usize, usize, Option<Vec<Nanos>>)> = met
        .iter()
        .zip(0..)
        .map(|(met, number)| {
            let rows = counts.sections[met.section].instances[met.instance].threads.iter().enumerate();
            let native = rows.map(|(row, thread)| met.time(row, who(number, thread.index())?));
            (met.section, met.instance, native.collect())
        })
        .collect();
    counts.native_match = found;
    for (section, instance, native) in set {
        counts.sections[section].instances[instance].native = native;
    }
}

/// An instance that natively was there too.
struct Met<'a> {
    section: usize,
    instance: usize,
    times: &'a NativeTimes,
    at: At<'a>,
}

/// Where its times are.
enum At<'a> {
    /// The time of each thread.
    Region(&'a BTreeMap<usize, Nanos>),
    /// What threads do last, after they have met there.
    Last(Option<Place>),
    /// What threads do between two places: for each thread of the native run its times, and for each row which of them it is.
    Span(Spans<'a>, Vec<usize>),
}

impl<'a> Met<'a> {
    fn all(counts: &Counts, times: &'a NativeTimes) -> Vec<Met<'a>> {
        let mut all = Vec::new();
        // Where threads meet, in either run. Others begin where their threads do.
        let ends = counts.sections.iter().filter(|section| section.kind != SectionKind::Join);
        let mut meetings = times.barriers.clone();
        meetings.extend(ends.filter_map(|section| place(&section.end)));
        let from = |section: &Section, instance: &Instance| {
            place(begin_of(section, instance)).filter(|begin| meetings.contains(begin))
        };
        for (number, section) in counts.sections.iter().enumerate().filter(|(_, section)| !spins(section)) {
            let mut add =
                |instance: usize, at: At<'a>| all.push(Met { section: number, instance, times, at });
            match section.kind {
                SectionKind::Region => {
                    for (instance, times) in times.of_region(section).enumerate() {
                        add(instance, At::Region(times));
                    }
                }
                SectionKind::Join => {
                    for (number, instance) in section.instances.iter().enumerate() {
                        add(number, At::Last(from(section, instance)));
                    }
                }
                _ => {
                    let Some(end) = place(&section.end) else { continue };
                    // For each place that threads come from their native times, and how often each has come from there.
                    let mut seen: BTreeMap<Option<Place>, (Spans<'_>, Vec<usize>)> = BTreeMap::new();
                    for (number, instance) in section.instances.iter().enumerate() {
                        let (spans, seen) = seen.entry(from(section, instance)).or_insert_with_key(|begin| {
                            let key = (end.clone(), begin.clone());
                            let of_thread = |spans: &'a BTreeMap<Key, Vec<Option<Nanos>>>| {
                                spans.get(&key).map_or(&[][..], Vec::as_slice)
                            };
                            let spans = times.spans.iter().map(of_thread).collect();
                            (Rc::new(spans), vec![0; counts.threads.len()])
                        });
                        let which = instance.threads.iter().map(|thread| {
                            let Some(times) = seen.get_mut(thread.index()) else { return usize::MAX };
                            *times += 1;
                            *times - 1
                        });
                        let which = which.collect();
                        add(number, At::Span(Rc::clone(spans), which));
                    }
                }
            }
        }
        all
    }

    /// The time of a thread of the native run, in the place of this row.
    fn time(&self, row: usize, thread: usize) -> Option<Nanos> {
        match &self.at {
            At::Region(times) => times.get(&thread).copied(),
            At::Last(begin) => {
                let (from, time) = self.times.last.get(&thread)?;
                (from == begin).then_some(*time)
            }
            At::Span(spans, which) => *spans.get(thread)?.get(*which.get(row)?)?,
        }
    }
}

/// Whether threads wait for each other in loops of their own: natively that is CPU time, and says nothing of work.
fn spins(section: &Section) -> bool {
    let waited: f64 = section.instances.iter().map(|instance| instance.waited as f64).sum();
    let work: f64 =
        section.instances.iter().flat_map(|instance| &instance.time).map(|time| *time as f64).sum();
    waited > LITTLE_WAITING * work
}

/// Where an instance begins.
fn begin_of<'a>(section: &'a Section, instance: &'a Instance) -> &'a SectionPlace {
    instance.begin.as_ref().unwrap_or(&section.begin)
}

/// For each instance that was met, by number, and each thread that was counted, which thread of the native run it is.
type Who = Box<dyn Fn(usize, usize) -> Option<usize>>;

/// Threads are those that began in the same order.
fn in_order() -> Who {
    Box::new(|_, thread| Some(thread))
}

/// Finds which thread is which.
struct Matching<'a> {
    counts: &'a Counts,
    met: &'a [Met<'a>],
    /// How many threads the native run had.
    threads: usize,
}

impl Matching<'_> {
    fn found(&self) -> (NativeMatch, Who) {
        let in_order = in_order();
        let informs: Vec<usize> = (0..self.met.len()).filter(|number| self.informs(*number)).collect();
        let by_order = self.explained(&informs, &in_order);
        if informs.is_empty() || by_order >= 1.0 - AS_WELL {
            return (NativeMatch::Order, in_order);
        }
        // Of those that inform, every second one is in the other half.
        let mut half = vec![false; self.met.len()];
        informs.iter().skip(1).step_by(2).for_each(|number| half[*number] = true);
        let of_half = |wanted: bool| -> Vec<usize> {
            informs.iter().copied().filter(|number| half[*number] == wanted).collect()
        };
        let halves = [false, true].map(|wanted| self.assigned(&of_half(!wanted)));
        let crossed: Who = Box::new(move |number, thread| {
            halves[usize::from(half[number])].as_ref()?.get(thread).copied()?
        });
        let by_behaviour = if informs.len() > 1 { self.explained(&informs, &crossed) } else { 0.0 };
        if by_order >= BELIEVED && by_order + AS_WELL >= by_behaviour {
            return (NativeMatch::Order, in_order);
        }
        if by_behaviour >= BELIEVED {
            return (NativeMatch::Behaviour, crossed);
        }
        // What no match explains is not for the threads' order.
        let Some(best) = self.assigned(&informs) else { return (NativeMatch::Order, in_order) };
        let best: Who = Box::new(move |_, thread| best.get(thread).copied()?);
        match self.explained(&informs, &best) >= BELIEVED {
            true => (NativeMatch::Unknown, in_order),
            false => (NativeMatch::Order, in_order),
        }
    }

    fn instance(&self, number: usize) -> &Instance {
        let met = &self.met[number];
        &self.counts.sections[met.section].instances[met.instance]
    }

    /// Whether threads execute so differently in an instance that it can tell which is which.
    fn informs(&self, number: usize) -> bool {
        let time = &self.instance(number).time;
        let (least, most) =
            (time.iter().min().copied().unwrap_or(0), time.iter().max().copied().unwrap_or(0));
        (most - least) as f64 > ALIKE * most as f64
    }

    /// What the rows of an instance execute, beside what they take natively: less their means. `None` if not all are found.
    fn pairs(&self, number: usize, who: &Who) -> Option<Vec<(f64, f64)>> {
        let instance = self.instance(number);
        let rows = instance.threads.iter().zip(&instance.time).enumerate().map(|(row, (thread, time))| {
            let native = self.met[number].time(row, who(number, thread.index())?)?;
            Some((*time as f64, native.get() as f64))
        });
        let mut rows: Vec<(f64, f64)> = rows.collect::<Option<_>>()?;
        let of = rows.len().max(1) as f64;
        let (executed, native) = rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        rows.iter_mut().for_each(|row| *row = (row.0 - executed / of, row.1 - native / of));
        Some(rows)
    }

    /// The share of the native differences within these instances that goes with what is executed: a squared correlation.
    fn explained(&self, numbers: &[usize], who: &Who) -> f64 {
        let (mut both, mut executed, mut native) = (0.0, 0.0, 0.0);
        for (x, y) in numbers.iter().filter_map(|number| self.pairs(*number, who)).flatten() {
            both += x * y;
            executed += x * x;
            native += y * y;
        }
        if both > 0.0 { both * both / (executed * native) } else { 0.0 }
    }

    /// Which thread is which, by these instances; `None` if they say nothing, or no thread can be any other.
    fn assigned(&self, numbers: &[usize]) -> Option<Vec<Option<usize>>> {
        let of_instance = |number: usize| self.instance(number).threads.iter().map(|thread| thread.index());
        let mut counted: Vec<usize> = (0..self.met.len()).flat_map(of_instance).collect();
        counted.sort_unstable();
        counted.dedup();
        if numbers.is_empty() || counted.len() > self.threads {
            return None;
        }
        let mut benefits = vec![vec![0.0; self.threads]; counted.len()];
        for number in numbers {
            let instance = self.instance(*number);
            let mean = instance.time.iter().sum::<u64>() as f64 / instance.rows().max(1) as f64;
            for (row, thread) in instance.threads.iter().enumerate() {
                let Ok(at) = counted.binary_search(&thread.index()) else { continue };
                let beyond = instance.time[row] as f64 - mean;
                for (native, benefit) in benefits[at].iter_mut().enumerate() {
                    match self.met[*number].time(row, native) {
                        Some(time) => *benefit += beyond * time.get() as f64,
                        // It did not take part.
                        None => *benefit -= IMPOSSIBLE,
                    }
                }
            }
        }
        let found = assignment(&benefits);
        let mut who = vec![None; self.counts.threads.len().max(counted.last().map_or(0, |last| last + 1))];
        counted.into_iter().zip(found).for_each(|(thread, native)| who[thread] = Some(native));
        Some(who)
    }
}

/// Beyond every product of instructions and nanoseconds that is real.
const IMPOSSIBLE: f64 = 1e40;

#[derive(Default)]
struct NativeTimes {
    /// Places of barriers.
    barriers: BTreeSet<Place>,
    /// For a thread, and each section, its times, in order.
    spans: Vec<BTreeMap<Key, Vec<Option<Nanos>>>>,
    /// For a thread its last barrier, and its time from there, or from its start, to its end; for one that joins others, from when it
    /// created the last of them, if that was later, until it waits for the first.
    last: BTreeMap<usize, (Option<Place>, Nanos)>,
    /// For a parallel region of OpenMP its executions, and the time of each thread in each.
    regions: BTreeMap<Place, BTreeMap<TeamInstance, BTreeMap<usize, Nanos>>>,
}

impl NativeTimes {
    fn of(process: &Process) -> NativeTimes {
        let mut times =
            NativeTimes { spans: vec![BTreeMap::new(); process.threads.len()], ..NativeTimes::default() };
        let cores = Cores::of(process);
        let mut tasks: BTreeMap<(TeamInstance, ThreadId), Vec<&TaskRun>> = BTreeMap::new();
        for run in &process.openmp.task_runs {
            if let Some(instance) = run.instance {
                tasks.entry((instance, run.thread)).or_default().push(run);
            }
        }
        for share in &process.openmp.shares {
            let region = process.openmp.regions.iter().find(|region| region.instance == share.instance);
            if let Some(cpu) = share.cpu
                && let Some(place) = region.and_then(|region| at(process, region.place))
            {
                let runs = tasks.get(&(share.instance, share.thread)).into_iter().flatten();
                // Who arrives at the end of the region executes tasks there.
                let later = runs.filter(|run| run.begin >= share.end).map(|run| cores.of_task(run));
                let executions = times.regions.entry(place).or_default();
                let time = later.fold(cpu, |sum, time| sum + time);
                executions.entry(share.instance).or_default().insert(share.thread.index(), time);
            }
        }
        let mut by_thread: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for wait in &process.waits {
            let kind = process.objects[wait.object.index()].kind;
            if matches!(kind, ObjectKind::Barrier | ObjectKind::ThreadEnd) {
                by_thread.entry(wait.thread.index()).or_default().push((wait, kind));
            }
        }
        let mut created: BTreeMap<usize, Vec<Time>> = BTreeMap::new();
        for thread in &process.threads {
            if let Some(parent) = thread.parent {
                created.entry(parent.index()).or_default().push(thread.start);
            }
        }
        created.values_mut().for_each(|times| times.sort_unstable());
        for (index, thread) in process.threads.iter().enumerate() {
            let created = created.get(&index).map_or(&[][..], Vec::as_slice);
            let mut joins = false;
            let mut before: Option<Place> = None;
            let mut since = Moment { time: thread.start, cpu: Some(Nanos::ZERO) };
            let mut waits = by_thread.remove(&index).unwrap_or_default();
            waits.sort_by_key(|(wait, _)| (wait.begin, wait.end));
            for (wait, kind) in waits {
                if kind == ObjectKind::Barrier
                    && let Some(here) = at(process, wait.site)
                {
                    times.barriers.insert(here.clone());
                    let arrival = Moment { time: wait.begin, cpu: wait.cpu_begin };
                    let time = cores.between(index, since, arrival);
                    times.spans[index].entry((here.clone(), before.take())).or_default().push(time);
                    before = Some(here);
                    joins = false;
                } else if !joins {
                    let last = created[..created.partition_point(|time| *time <= wait.begin)].last();
                    let begin = last.filter(|time| **time > since.time);
                    let begin = begin.map_or(since, |time| Moment { time: *time, cpu: None });
                    let arrival = Moment { time: wait.begin, cpu: wait.cpu_begin };
                    if let Some(time) = cores.between(index, begin, arrival) {
                        times.last.insert(index, (before.clone(), time));
                    }
                    joins = true;
                }
                since = Moment { time: wait.end, cpu: wait.cpu_end };
            }
            if joins {
                continue;
            }
            let end = Moment { time: thread.end.unwrap_or(process.end), cpu: thread.known_cpu() };
            if let Some(time) = cores.between(index, since, end) {
                times.last.insert(index, (before, time));
            }
        }
        times
    }

    /// The times of threads in each execution of a region. Natively some executions of a region are only counted: then it is not
    /// known which are these.
    fn of_region(&self, section: &Section) -> impl Iterator<Item = &BTreeMap<usize, Nanos>> {
        let end = place(&section.end).filter(|end| place(&section.begin).as_ref() == Some(end));
        let found = end.and_then(|end| self.regions.get(&end));
        found.filter(|found| found.len() == section.instances.len()).into_iter().flat_map(BTreeMap::values)
    }
}

/// A time, and the CPU time that a thread had then, where that was read.
#[derive(Clone, Copy)]
struct Moment {
    time: Time,
    cpu: Option<Nanos>,
}

/// When threads were on cores.
struct Cores<'a> {
    /// For each thread its spans, in order.
    spans: Vec<Vec<(Time, Time)>>,
    /// When they tell all.
    covered: &'a [(Time, Time)],
}

impl<'a> Cores<'a> {
    fn of(process: &'a Process) -> Cores<'a> {
        let mut spans = vec![Vec::new(); process.threads.len()];
        for span in &process.on_core {
            spans[span.thread.index()].push((span.begin, span.end));
        }
        spans.iter_mut().for_each(|spans| spans.arrange_by_key(|(begin, _)| *begin));
        Cores { spans, covered: &process.covered }
    }

    /// The CPU time that a piece of a task took; its length where that is not known.
    fn of_task(&self, run: &TaskRun) -> Nanos {
        let [begin, end] = [run.begin, run.end].map(|time| Moment { time, cpu: None });
        self.between(run.thread.index(), begin, end).unwrap_or_else(|| run.end.since(run.begin))
    }

    /// The CPU time of a thread between two moments. Who comes last to a barrier of a condition variable waits for nothing, so
    /// that nothing reads its CPU time: then the time that it was on cores, where the kernel's records tell all of that.
    fn between(&self, thread: usize, from: Moment, to: Moment) -> Option<Nanos> {
        if let (Some(from), Some(to)) = (from.cpu, to.cpu) {
            return Some(to.saturating_sub(from));
        }
        let covered =
            self.covered[..self.covered.partition_point(|(begin, _)| *begin <= from.time)].last()?;
        if covered.1 < to.time {
            return None;
        }
        let spans = &self.spans[thread];
        let first = spans.partition_point(|(_, end)| *end <= from.time);
        let within = spans[first..].iter().take_while(|(begin, _)| *begin < to.time);
        let on_core = within.map(|(begin, end)| (*end).min(to.time).since((*begin).max(from.time)));
        Some(on_core.fold(Nanos::ZERO, |sum, span| sum + span))
    }
}

fn at(process: &Process, site: Option<SiteId>) -> Option<Place> {
    process.sites.get(site?.index())?.place().map(place_of)
}

fn place(place: &SectionPlace) -> Option<Place> {
    place.frames.first().map(place_of)
}

fn place_of(frame: &Frame) -> Place {
    match frame.line {
        Some(_) => (frame.file.clone(), frame.line, None),
        None => (None, None, frame.function.clone()),
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::{CountedThread, ThreadLabel, Unit};
    use holdup_model::openmp::{Region, Share, Vendor};
    use holdup_model::{Left, OnCore, Site, Wait};

    use super::*;

    fn barrier(line: u32) -> SectionPlace {
        let frame = Frame { file: Some("body.c".to_owned()), line: Some(line), ..Frame::default() };
        SectionPlace { frames: vec![frame], name: None }
    }

    /// Counts of one section with these executed instructions of threads, by instance, and the native times of threads.
    fn matched(executed: &[Vec<u64>], native: &[Vec<u64>]) -> (Counts, NativeMatch) {
        let end = barrier(7);
        let key = (place(&end).expect("it has a line"), None);
        let threads = native.first().map_or(0, Vec::len);
        let mut times = NativeTimes { spans: vec![BTreeMap::new(); threads], ..NativeTimes::default() };
        for native in native {
            for (thread, time) in native.iter().enumerate() {
                times.spans[thread].entry(key.clone()).or_default().push(Some(Nanos::new(*time)));
            }
        }
        let instances = executed.iter().map(|time| Instance {
            threads: (0..time.len() as u32).map(CountedThread).collect(),
            time: time.clone(),
            ..Instance::default()
        });
        let section = Section { end, instances: instances.collect(), ..Section::default() };
        let labels = vec![ThreadLabel::default(); executed[0].len()];
        let mut counts = Counts { threads: labels, sections: vec![section], ..Counts::default() };
        add(&mut counts, &times, 0, Some(threads));
        let found = counts.native_match;
        (counts, found)
    }

    fn native(counts: &Counts, instance: usize) -> Vec<u64> {
        let native = counts.sections[0].instances[instance].native.as_ref();
        native.expect("it was found").iter().map(|time| time.get()).collect()
    }

    #[test]
    fn threads_in_order_stay_in_order() {
        // One instance alone, and times that go with instructions but for noise.
        let (counts, found) = matched(&[vec![10, 20, 30, 40]], &[vec![110, 190, 330, 380]]);
        assert_eq!((found, native(&counts, 0)), (NativeMatch::Order, vec![110, 190, 330, 380]));
    }

    #[test]
    fn threads_that_draw_their_numbers_are_matched_by_what_they_do() {
        let executed = vec![vec![10, 20, 30, 40], vec![40, 10, 20, 30], vec![10, 20, 30, 40]];
        // Natively the third thread is the first, the first is the last.
        let natively: Vec<Vec<u64>> = executed
            .iter()
            .map(|by| [3, 1, 0, 2].map(|as_counted| by[as_counted] * 100 + 7).to_vec())
            .collect();
        let (counts, found) = matched(&executed, &natively);
        assert_eq!(found, NativeMatch::Behaviour);
        assert_eq!(native(&counts, 0), [1007, 2007, 3007, 4007]);
        assert_eq!(native(&counts, 1), [4007, 1007, 2007, 3007]);
    }

    #[test]
    fn one_instance_alone_does_not_say_which_thread_is_which() {
        let (counts, found) = matched(&[vec![10, 20, 30, 40]], &[vec![400, 200, 300, 100]]);
        assert_eq!((found, native(&counts, 0)), (NativeMatch::Unknown, vec![400, 200, 300, 100]));
    }

    #[test]
    fn what_goes_with_nothing_is_matched_with_nobody() {
        // Each thread is slow in turn: no order of threads explains that.
        let executed = vec![vec![10, 20, 30, 40]; 4];
        let natively: Vec<Vec<u64>> = (0..4)
            .map(|slow| (0..4).map(|thread| if thread == slow { 900 } else { 100 }).collect())
            .collect();
        let (counts, found) = matched(&executed, &natively);
        assert_eq!(found, NativeMatch::Order);
        assert_eq!(native(&counts, 3), [100, 100, 100, 900]);
    }

    #[test]
    fn a_thread_that_natively_is_missing_is_matched_with_nobody() {
        let (counts, _) = matched(&[vec![10, 20, 30]], &[vec![100, 200]]);
        assert_eq!(counts.sections[0].instances[0].native, None);
    }

    #[test]
    fn where_threads_spin_cpu_times_are_not_those_of_work() {
        let with = |waited| {
            let executed = [vec![100, 200, 300, 400]];
            let (mut counts, _) = matched(&executed, &[vec![110, 190, 330, 380]]);
            let instance = &mut counts.sections[0].instances[0];
            (instance.waited, instance.native) = (waited, None);
            let key = (place(&barrier(7)).expect("it has a line"), None);
            let spans = [110, 190, 330, 380].map(|time| [(key.clone(), vec![Some(Nanos::new(time))])].into());
            add(&mut counts, &NativeTimes { spans: spans.into(), ..NativeTimes::default() }, 0, Some(4));
            counts.sections[0].instances[0].native.is_some()
        };
        // Of 1,000 instructions of work.
        assert!(with(50));
        assert!(!with(60));
    }

    #[test]
    fn of_work_that_is_dealt_out_threads_without_a_core_get_none() {
        let with = |units: usize, cores| {
            let (mut counts, _) = matched(&[vec![10, 20, 30]], &[vec![110, 190, 330]]);
            let instance = &mut counts.sections[0].instances[0];
            (instance.units, instance.native) = (vec![Unit::default(); units], None);
            let key = (place(&barrier(7)).expect("it has a line"), None);
            let spans = [110, 190, 330].map(|time| [(key.clone(), vec![Some(Nanos::new(time))])].into());
            let times = NativeTimes { spans: spans.into(), ..NativeTimes::default() };
            add(&mut counts, &times, cores, Some(3));
            counts.sections[0].instances[0].native.is_some()
        };
        assert!(!with(9, 2));
        assert!(with(9, 3) && with(9, 0) && with(0, 2));
    }

    #[test]
    fn tasks_that_are_executed_at_the_end_of_a_region_are_work() {
        let mut process = Process::new(at(0), at(1_000));
        let site = process.add_site(Site { frames: barrier(7).frames, ..Site::default() });
        let instance = TeamInstance::new(1);
        let threads = [0, 1].map(|_| process.add_thread("worker", at(0), None));
        process.openmp.regions.push(Region {
            thread: threads[0],
            begin: at(0),
            end: at(900),
            instance,
            place: Some(site),
            met_at: None,
            parent: None,
            size: 2,
            count: 1,
            timed: 1,
            time: Nanos::new(900),
            vendor: Vendor::Gnu,
            whole: true,
            league: false,
            open: false,
        });
        // The second thread arrives at 10, and executes three tasks from then on; for a part of the second it has no core. One of the first
        // thread's is in its time already.
        for (thread, index, end, cpu) in [(threads[0], 0, 400, 390), (threads[1], 1, 10, 8)] {
            let cpu = Some(Nanos::new(cpu));
            process.openmp.shares.push(Share {
                thread,
                instance,
                index,
                begin: at(0),
                end: at(end),
                cpu,
                cpu_begin: None,
            });
        }
        for (thread, begin, end) in
            [(threads[0], 300, 350), (threads[1], 20, 120), (threads[1], 150, 250), (threads[1], 900, 930)]
        {
            let instance = Some(instance);
            process.openmp.task_runs.push(TaskRun {
                thread,
                task: None,
                instance,
                begin: at(begin),
                end: at(end),
                complete: true,
            });
        }
        for (begin, end) in [(0, 200), (240, 260)] {
            let (thread, core, left) = (threads[1], 1, Left::Preempted);
            process.on_core.push(OnCore { thread, begin: at(begin), end: at(end), core, left });
        }
        process.covered = vec![(at(0), at(800))];
        let times = NativeTimes::of(&process);
        let here = place(&barrier(7)).expect("it has a line");
        // Of the last one the kernel says nothing.
        let second = 8 + 100 + (50 + 10) + 30;
        let expected = [(0, Nanos::new(390)), (1, Nanos::new(second))];
        assert_eq!(times.regions[&here][&instance], expected.into());
    }

    #[test]
    fn a_thread_that_joins_others_works_from_when_it_made_them_until_it_waits() {
        let mut process = Process::new(at(0), at(1_000));
        let main = process.add_thread("main", at(0), None);
        let workers = [100, 120].map(|start| {
            let worker = process.add_thread("worker", at(start), None);
            process.threads[worker.index()].parent = Some(main);
            worker
        });
        for (worker, from, end) in [(workers[0], 400, 500), (workers[1], 500, 600)] {
            let ends = process.add_object(ObjectKind::ThreadEnd, worker.index() as u64);
            process.waits.push(Wait::granted(main, ends, at(from), at(end)));
        }
        process.on_core.push(OnCore {
            thread: main,
            begin: at(0),
            end: at(400),
            core: 0,
            left: Left::Blocked,
        });
        process.on_core.push(OnCore {
            thread: main,
            begin: at(600),
            end: at(900),
            core: 0,
            left: Left::Blocked,
        });
        process.covered = vec![(at(0), at(1_000))];
        let times = NativeTimes::of(&process);
        assert_eq!(times.last.get(&main.index()), Some(&(None, Nanos::new(400 - 120))));
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// Two threads that meet once, at 30: the first waits from 10 on, the second comes last, and nothing reads its CPU time.
    fn met_once(covered_until: u64) -> NativeTimes {
        let mut process = Process::new(at(0), at(100));
        let barrier = process.add_object(ObjectKind::Barrier, 1);
        let site = process.add_site(Site { frames: self::barrier(7).frames, ..Site::default() });
        let threads = [0, 0].map(|start| process.add_thread("worker", at(start), None));
        for (thread, begin, cpu) in [(threads[0], 10, Some((10, 12))), (threads[1], 30, None)] {
            let wait = Wait::granted(thread, barrier, at(begin), at(30));
            let cpu = |which: fn((u64, u64)) -> u64| cpu.map(|both| Nanos::new(which(both)));
            let (cpu_begin, cpu_end) = (cpu(|both| both.0), cpu(|both| both.1));
            process.waits.push(Wait { site: Some(site), cpu_begin, cpu_end, ..wait });
        }
        for (begin, end) in [(20, 45), (0, 12)] {
            let core = 1;
            process.on_core.push(OnCore {
                thread: threads[1],
                begin: at(begin),
                end: at(end),
                core,
                left: Left::Blocked,
            });
        }
        process.covered = vec![(at(0), at(covered_until))];
        NativeTimes::of(&process)
    }

    #[test]
    fn who_comes_last_is_timed_by_its_cores() {
        let here = place(&barrier(7));
        let key = (here.clone().expect("it has a line"), None);
        let times = met_once(100);
        assert_eq!(times.spans[0][&key], [Some(Nanos::new(10))]);
        assert_eq!(times.spans[1][&key], [Some(Nanos::new(22))]);
        assert_eq!(times.last[&1], (here, Nanos::new(15)));
        // Where not all switches were recorded nothing is known, and the place is kept: later arrivals are not the first.
        assert_eq!(met_once(29).spans[1][&key], [None]);
    }

    #[test]
    fn what_threads_do_last_begins_at_the_same_place() {
        let section = |kind, end: SectionPlace, begin: SectionPlace| {
            let threads = vec![CountedThread(0), CountedThread(1)];
            let instances = vec![Instance { threads, time: vec![1, 1], ..Instance::default() }];
            Section { kind, end, begin, instances, ..Section::default() }
        };
        let counts = |met: u32| Counts {
            threads: vec![ThreadLabel::default(); 2],
            sections: vec![
                section(SectionKind::ConditionBarrier, barrier(met), SectionPlace::default()),
                section(SectionKind::Join, barrier(9), barrier(met)),
            ],
            ..Counts::default()
        };
        let times = met_once(100);
        let mut same = counts(7);
        add(&mut same, &times, 0, Some(2));
        assert!(same.sections[1].instances[0].native.is_some());
        // Natively they were not seen to meet at this line.
        let mut other = counts(8);
        add(&mut other, &times, 0, Some(2));
        assert_eq!(other.sections[1].instances[0].native, None);
    }
}
