//! Which threads do work, and how many of them there are at once.

use std::collections::BTreeMap;

use holdup_model::openmp::Instance;
use holdup_model::{
    Call, Nanos, ObjectId, ObjectKind, Places, PolledJoins, Process, Row, Segment, State, Stop, ThreadId,
    ThreadTimes, Time, Timeline, stops,
};

use crate::late_looks::LateLooks;
use crate::outside::{is_outside, is_server};

/// A thread works if it is active, able to run, spinning (it would work if there was work for it), or in I/O for at
/// least this share of its life. A thread that only waits for a timer, a signal or a connection is below it.
const LEAST_OWN_SHARE: f64 = 0.005;

/// Those whose CPU times say that they were active for less than that are at work only if all of them together were for this share of
/// what all threads did: who looks after something for a moment, now and then, waits for a core each time for longer than that moment.
const LEAST_TOGETHER_OF_ALL: f64 = 0.05;

/// A thread that sleeps for this share of its life, and gives those at work nothing that they wait for, only looks after something.
const ASLEEP: f64 = 0.9;

/// A thread that searches for work for a smaller share of its life has slept for most of it.
const MOST_OF_ITS_LIFE: f64 = 0.5;

/// A runtime's own helper has nothing to do there for this share of the time in which it is blocked.
const MOSTLY_SERVES: f64 = 0.5;

/// A thread that starts others works if it does that for at least this share of the run, and, less what it stood without
/// a core, for at least this share of what any thread did: it must do more than start and join, for which it may have
/// had to wait long where cores are scarce.
const LEAST_PARENT_SHARE: f64 = 0.02;

/// A thread works if it is a member of OpenMP's teams for at least this share of the run, whatever it does there: its place is
/// lost if that is nothing.
const LEAST_IN_TEAMS: f64 = 0.02;

/// So many working threads count as at once if there are that many for at least this share of the run: a main
/// thread that goes on for a moment after it has started the last worker makes no additional one.
const LEAST_TOGETHER: f64 = 0.02;

/// The working threads: what costs are divided by.
///
/// At each moment there are `at_once` places for working threads (more where there are more threads for a
/// moment). A place is taken by a working thread that does not wait for another thread's end; a place that is
/// not taken is lost, like the time of a thread that waits. So all places' time together is what the run used
/// and lost, and costs and useful time add up to the wall time when divided by the number of places.
#[derive(Clone, Debug)]
pub struct Working {
    /// By id.
    pub threads: Vec<ThreadId>,
    /// By thread: whether it is one of `threads`.
    pub is: Vec<bool>,
    /// The number of places, at least 1.
    pub at_once: u32,
    /// True if never two of them are at work at once, though several have a part in the work and there are cores for two: there are
    /// two places all the same.
    pub one_by_one: bool,
    /// The time of all places together (ns).
    pub thread_time: u64,
    /// How many of them can run at a time on the CPUs that they may use; 0 where that is not known.
    pub cores: u32,
    /// The same while a quota is used up: what keeps threads waiting.
    pub fewest_cores: u32,
    /// True for threads that go on with what others of them have begun, as those do that run goroutines.
    pub take_turns: bool,
    /// Sleeps that are waits for other threads.
    pub polled_joins: PolledJoins,
    /// Sleeps that others wait for.
    pub late_looks: LateLooks,
    /// By thread: whether it sleeps nearly always, and has nothing else to do.
    pub looks_after: Vec<bool>,
    /// By thread, pauses in which it waits to be stopped.
    pub stops: Vec<Option<Stop>>,
    wall: Nanos,
}

impl Working {
    /// Those of `process`, of which `times` tells what each thread did, on so many `cores` (0: not known).
    pub fn of(process: &Process, timeline: &Timeline, times: &[ThreadTimes], cores: u32) -> Self {
        let stops = stops(process, timeline);
        let is = who_works(process, timeline, times, &stops);
        let threads: Vec<ThreadId> =
            (0..is.len()).filter(|&index| is[index]).map(|index| ThreadId::new(index as u32)).collect();
        let polled_joins = PolledJoins::of(process, timeline);
        let late_looks = LateLooks::of(timeline, &polled_joins);
        let looks_after = looks_after(timeline, times, &is);
        let (fewest_cores, take_turns, wall) = (cores, runs_goroutines(process), timeline.wall());
        let could_work_together = cores != 1 && !take_turns && share_the_work(times, &threads, wall);
        let taken = Taken::of(process, timeline, &polled_joins, &threads);
        let most = taken.at_once(wall);
        let one_by_one = most == 1 && could_work_together;
        let at_once = if one_by_one { 2 } else { most };
        let thread_time = taken.time_of(at_once);
        Self {
            threads,
            is,
            at_once,
            one_by_one,
            thread_time,
            cores,
            fewest_cores,
            take_turns,
            polled_joins,
            late_looks,
            looks_after,
            stops,
            wall,
        }
    }

    /// The wall time of the process.
    pub fn wall(&self) -> Nanos {
        self.wall
    }

    /// What `lost` nanoseconds of working threads' time cost: divided by the number of places.
    pub fn cost(&self, lost: u64) -> Nanos {
        let places = u128::from(self.thread_time.max(1));
        Nanos::new((u128::from(lost) * u128::from(self.wall.get()) / places) as u64)
    }
}

/// True while the thread waits for another's end or that of what it gave to others, or sleeps until these are done: it then
/// takes no place.
pub fn is_joining(
    process: &Process,
    places: &Places,
    polled: &PolledJoins,
    thread: ThreadId,
    segment: &Segment,
) -> bool {
    let is_end = |object| process.object(object).kind == ObjectKind::ThreadEnd;
    let joins = || segment.object.is_some_and(is_end) || places.only_joins(segment.site);
    segment.state == State::Blocked && joins() || polled.has(thread, segment)
}

fn who_works(
    process: &Process,
    timeline: &Timeline,
    times: &[ThreadTimes],
    stops: &[Option<Stop>],
) -> Vec<bool> {
    let mut starts_others = vec![false; process.threads.len()];
    for thread in &process.threads {
        if let Some(parent) = thread.parent.and_then(|parent| starts_others.get_mut(parent.index())) {
            *parent = true;
        }
    }
    let mut idle = vec![Nanos::ZERO; process.threads.len()];
    let is_server = is_server(process);
    for block in &process.blocks {
        let is_stopped = stops[block.thread.index()].as_ref().is_some_and(|stop| stop.has_call(block));
        // Libraries are read from the disk before the program begins: that is none of its work.
        let is_loading = block.site.is_some_and(|site| process.site(site).is_in_loader());
        if is_outside(block, is_server) || block.call == Call::WaitChild || is_stopped || is_loading {
            idle[block.thread.index()] += block.end.since(block.begin);
        }
    }
    // Who searches for work now and then, and sleeps for most of its life, was never given any.
    let seeks = |segment: &&Segment| {
        let is_spinning = segment.state == State::Spinning && segment.object.is_none();
        is_spinning && timeline.places.seeks_work(segment.site)
    };
    let seeking: Vec<Nanos> = (timeline.threads.iter())
        .map(|row| {
            let sought: Nanos = row.segments.iter().filter(seeks).map(Segment::length).sum();
            if sought.share_of(row.end.since(row.start)) < MOST_OF_ITS_LIFE { sought } else { Nanos::ZERO }
        })
        .collect();
    let own = |index: usize| {
        let times = &times[index];
        let in_io = times.io.saturating_sub(idle[index]);
        let spinning = times.spinning.saturating_sub(seeking[index]);
        (times.active + times.descheduled + spinning + in_io).get() as f64
    };
    let done = |index: usize| own(index) - (times[index].delayed + times[index].descheduled).get() as f64;
    let serves: Vec<bool> = timeline.threads.iter().map(|row| serves(timeline, row)).collect();
    let in_teams = in_teams(process);
    let most_done = (0..times.len()).map(done).fold(0.0, f64::max);
    let life = |index: usize| timeline.wall().saturating_sub(times[index].not_existing).get() as f64;
    let awake = |index: usize| own(index) - times[index].delayed.get() as f64;
    let is_doubtful = |index: usize| !starts_others[index] && awake(index) < LEAST_OWN_SHARE * life(index);
    let all = || 0..times.len();
    let of_doubtful: f64 = all().filter(|&index| is_doubtful(index)).map(awake).sum();
    let work_together = of_doubtful >= LEAST_TOGETHER_OF_ALL * all().map(awake).sum::<f64>();
    let mut works: Vec<bool> = all()
        .map(|index| {
            let is_enough = if starts_others[index] {
                own(index) >= LEAST_PARENT_SHARE * timeline.wall().get() as f64
                    && done(index) >= LEAST_PARENT_SHARE * most_done
            } else {
                own(index) >= LEAST_OWN_SHARE * life(index) && (work_together || !is_doubtful(index))
            };
            let is_member = in_teams[index] as f64 >= LEAST_IN_TEAMS * timeline.wall().get() as f64;
            own(index) > 0.0 && (is_enough || is_member) && (index == 0 || !serves[index])
        })
        .collect();
    if !works.contains(&true)
        && let Some(main) = works.first_mut()
    {
        *main = true;
    }
    works
}

/// True for a runtime's own helper, such as a virtual machine's compiler: whoever gives it something to do does not hold it up.
fn serves(timeline: &Timeline, row: &Row) -> bool {
    let blocked = || row.segments.iter().filter(|segment| segment.state == State::Blocked);
    let serving: Nanos =
        blocked().filter(|segment| timeline.places.serves(segment.site)).map(Segment::length).sum();
    serving > Nanos::ZERO && serving.share_of(blocked().map(Segment::length).sum()) >= MOSTLY_SERVES
}

/// By thread, but the first: whether it sleeps nearly always, and never ended what a thread at work waited for, but for a lock.
fn looks_after(timeline: &Timeline, times: &[ThreadTimes], works: &[bool]) -> Vec<bool> {
    let mut gives = vec![false; times.len()];
    let is_lock = |object: ObjectId| timeline.roles.kinds[object.index()].is_lock();
    let gifts =
        timeline.edges.iter().filter(|edge| works[edge.to.index()] && !edge.object.is_some_and(is_lock));
    gifts.for_each(|edge| gives[edge.from.index()] = true);
    let sleeps = |times: &ThreadTimes| {
        let life = timeline.wall().saturating_sub(times.not_existing);
        times.asleep.share_of(life) >= ASLEEP
    };
    (0..times.len()).map(|index| index > 0 && !gives[index] && sleeps(&times[index])).collect()
}

/// By thread, how long it was a member of teams of several (ns): until the region ends, as one that arrives at its end may
/// execute tasks there.
fn in_teams(process: &Process) -> Vec<u64> {
    let mut times = vec![0u64; process.threads.len()];
    let openmp = &process.openmp;
    let teams = openmp.regions.iter().filter(|region| region.whole && region.size > 1);
    let ends: BTreeMap<Instance, Time> = teams.map(|region| (region.instance, region.end)).collect();
    for share in &openmp.shares {
        if let Some(&end) = ends.get(&share.instance) {
            times[share.thread.index()] += end.max(share.end).since(share.begin).get();
        }
    }
    times
}

/// Functions at the outer ends of the stacks of Go's threads and goroutines, by the start of their name.
const GO: &[&str] = &["runtime.goexit", "runtime.main", "runtime.mstart"];

fn runs_goroutines(process: &Process) -> bool {
    process.sites.iter().any(|site| {
        let outermost = site.frames.last().and_then(|frame| frame.function.as_deref());
        outermost.is_some_and(|name| GO.iter().any(|go| name.starts_with(go)))
    })
}

/// True if threads beside the one that did most had a part in the work, so that they might have done it at the same time. Who would have gone
/// on and had no core did nothing meanwhile.
fn share_the_work(times: &[ThreadTimes], threads: &[ThreadId], wall: Nanos) -> bool {
    let on_core = |times: &ThreadTimes| times.active.saturating_sub(times.delayed);
    let active = || threads.iter().map(|thread| on_core(&times[thread.index()]));
    let most = active().max().unwrap_or_default();
    (active().sum::<Nanos>() - most).share_of(wall) >= LEAST_TOGETHER
}

/// By their number, how long (ns) so many working threads were there that did not wait for others' ends.
struct Taken {
    all: Vec<u64>,
    /// Who has nothing to do while others work makes no additional place.
    at_work: Vec<u64>,
}

impl Taken {
    fn of(process: &Process, timeline: &Timeline, polled: &PolledJoins, threads: &[ThreadId]) -> Self {
        let places = &timeline.places;
        let all = time_by_number(timeline, threads, |thread, segment| {
            is_joining(process, places, polled, thread, segment)
        });
        let at_work = time_by_number(timeline, threads, |thread, segment| match segment.state {
            State::Blocked if places.idles(segment.site) => true,
            State::Spinning if segment.object.is_none() && places.seeks_work(segment.site) => true,
            _ => is_joining(process, places, polled, thread, segment),
        });
        Self { all, at_work }
    }

    /// The most that were at work at once for more than a moment, at least 1.
    fn at_once(&self, wall: Nanos) -> u32 {
        let least = LEAST_TOGETHER * wall.get() as f64;
        let mut at_least = 0u64;
        for (taken, &time) in self.at_work.iter().enumerate().skip(1).rev() {
            at_least += time;
            if at_least > 0 && at_least as f64 >= least {
                return taken as u32;
            }
        }
        1
    }

    /// The time (ns) of so many places, and of those beyond them while there are more threads.
    fn time_of(&self, places: u32) -> u64 {
        let of_all = |(taken, &time): (usize, &u64)| u64::from(places).max(taken as u64).saturating_mul(time);
        self.all.iter().enumerate().map(of_all).fold(0, u64::saturating_add)
    }
}

/// How long (ns) so many of these threads were there at a time, without those that were `away`, by their number.
fn time_by_number(
    timeline: &Timeline,
    threads: &[ThreadId],
    away: impl Fn(ThreadId, &Segment) -> bool,
) -> Vec<u64> {
    let mut steps: Vec<(Time, i32)> = Vec::new();
    for &thread in threads {
        let row = timeline.row(thread);
        steps.push((row.start, 1));
        steps.push((row.end, -1));
        for segment in row.segments.iter().filter(|segment| away(thread, segment)) {
            steps.push((segment.start, -1));
            steps.push((segment.end, 1));
        }
    }
    steps.sort_unstable();
    let mut time_with = vec![0u64; threads.len() + 1];
    let mut there = 0i32;
    let mut at = timeline.start;
    for (time, step) in steps.into_iter().chain([(timeline.end, 0)]) {
        time_with[there.max(0) as usize] += time.since(at).get();
        at = at.max(time);
        there += step;
    }
    time_with
}

#[cfg(test)]
mod tests {
    use holdup_model::{Frame, Site, Wait, Wake, WakeCount};

    use super::*;

    #[test]
    fn who_looks_after_something_now_and_then_does_not_work() {
        let ms = |ms: u64| Nanos::new(ms * 1_000_000);
        let [start, end] = [0, 9_000].map(|at| Time::from_nanos(at * 1_000_000));
        let mut process = Process::new(start, end);
        for name in ["connection", "housekeeper", "starved"] {
            process.add_thread(name, start, None);
        }
        let timeline = Timeline { start, end, ..Timeline::build(&process) };
        let times = |active: u64, delayed: u64| ThreadTimes {
            active: ms(active),
            delayed: ms(delayed),
            ..ThreadTimes::default()
        };
        let works =
            |times: &[ThreadTimes]| who_works(&process, &timeline, times, &vec![None; process.threads.len()]);
        // Both were able to run for 1.6 % of their lives: of the second's that is 0.2 % on a core.
        let busy = times(1_500, 10);
        assert_eq!(works(&[busy, times(143, 122), times(143, 20)]), [true, false, true]);
        // Where none has more than a little of the cores, that is no measure.
        assert_eq!(works(&[times(1_500, 1_300), times(143, 122), times(143, 132)]), [true, true, true]);
    }

    #[test]
    fn who_lacked_a_core_had_no_part_in_the_work() {
        let ms = |ms: u64| Nanos::new(ms * 1_000_000);
        let times = |active: u64, delayed: u64| ThreadTimes {
            active: ms(active),
            delayed: ms(delayed),
            ..ThreadTimes::default()
        };
        let threads = [0, 1].map(ThreadId::new);
        let share = |main| share_the_work(&[main, times(180, 0)], &threads, ms(200));
        assert!(share(times(20, 2)));
        assert!(!share(times(20, 18)), "a main thread that waited for a core before it started the other");
    }

    #[test]
    fn a_virtual_machine_s_compiler_is_no_worker_of_the_program() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let works = |inner: &str, outer: &str| {
            let mut process = Process::new(at(0), at(100));
            for name in ["main", "worker", "helper"] {
                process.add_thread(name, at(0), None);
            }
            let queue = process.add_object(ObjectKind::Condition, 1);
            let frames = [inner, outer].map(|function| Frame {
                function: Some(function.to_owned()),
                module: Some("libjvm.so".to_owned()),
                ..Frame::default()
            });
            let site = process.add_site(Site { frames: frames.to_vec(), ..Site::default() });
            let wait = Wait::granted(ThreadId::new(2), queue, at(10), at(60));
            process.waits.push(Wait { site: Some(site), ..wait });
            let timeline = Timeline::build(&process);
            let busy = ThreadTimes { active: Nanos::new(50_000_000), ..ThreadTimes::default() };
            who_works(&process, &timeline, &[busy; 3], &vec![None; 3])
        };
        assert_eq!(works("os::PlatformMonitor::wait", "CompileQueue::get"), [true, true, false]);
        assert_eq!(works("os::PlatformMonitor::wait", "JavaThread::exit"), [true, true, true]);
    }

    #[test]
    fn who_sleeps_nearly_always_and_gives_nothing_only_looks_after_something() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut process = Process::new(at(0), at(100));
        for name in ["main", "ticker", "watcher", "worker"] {
            process.add_thread(name, at(0), None);
        }
        let [ticker, watcher, worker] = [1, 2, 3].map(ThreadId::new);
        let tick = process.add_object(ObjectKind::Semaphore, 1);
        let lock = process.add_object(ObjectKind::Mutex, 2);
        for (object, by, end) in [(tick, ticker, 30), (lock, watcher, 60)] {
            let wait = Wait::granted(worker, object, at(end - 10), at(end));
            process.waits.push(wait);
            let (time, site, count) = (at(end), None, WakeCount::All);
            process.wakes.push(Wake { thread: by, time, object, site, count });
        }
        let mut timeline = Timeline::build(&process);
        timeline
            .edges
            .iter_mut()
            .filter(|edge| edge.object == Some(lock))
            .for_each(|edge| edge.from = watcher);
        let asleep = |ms: u64| ThreadTimes { asleep: Nanos::new(ms * 1_000_000), ..ThreadTimes::default() };
        let times = [asleep(99), asleep(99), asleep(99), asleep(50)];
        assert_eq!(looks_after(&timeline, &times, &[true; 4]), [false, false, true, false]);
        // What it gives to those who do not work either is nothing.
        assert_eq!(looks_after(&timeline, &times, &[true, true, true, false]), [false, true, true, false]);
    }
}
