//! Recordings of OpenMP programs, made by hand.

use holdup_model::openmp::{
    Acquires, Chunk, Instance, Region, Share, Sync, SyncKind, Vendor, Work, WorkKind,
};
use holdup_model::{Frame, Left, Nanos, ObjectKind, OnCore, Process, Run, Site, SiteId, ThreadId, Time};
use holdup_scaling::{RegionScaling, ScalePoint, Scaling, scale};

pub(crate) fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

pub(crate) fn site(function: &str, line: u32) -> Site {
    let frame = Frame {
        function: Some(function.to_owned()),
        file: Some("/src/app.c".to_owned()),
        line: Some(line),
        module: Some("app".to_owned()),
        ..Frame::default()
    };
    Site { frames: vec![frame], ..Site::default() }
}

/// What each thread of a region does: pieces of work between barriers, by thread.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// Length of each thread's work.
    pub(crate) work: Vec<u64>,
    /// From the last arrival to the first departure.
    pub(crate) walk: u64,
    /// How much later than the first each thread leaves.
    pub(crate) late: Vec<u64>,
    /// What the work is, if a construct was seen.
    pub(crate) kind: Option<WorkKind>,
    /// Iterations of a loop.
    pub(crate) iterations: Option<u64>,
}

impl Phase {
    pub(crate) fn of(work: &[u64]) -> Self {
        Phase { work: work.to_vec(), walk: 0, late: vec![0; work.len()], kind: None, iterations: None }
    }

    pub(crate) fn walk(mut self, walk: u64) -> Self {
        self.walk = walk;
        self
    }

    pub(crate) fn late(mut self, late: &[u64]) -> Self {
        self.late = late.to_vec();
        self
    }

    pub(crate) fn kind(mut self, kind: WorkKind) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(crate) fn iterations(mut self, iterations: u64) -> Self {
        self.iterations = Some(iterations);
        self
    }
}

/// A program in the making: the main thread's time goes on from call to call.
pub(crate) struct Program {
    pub(crate) process: Process,
    pub(crate) now: u64,
    threads: u32,
    instances: u64,
}

impl Program {
    pub(crate) fn new(threads: u32) -> Self {
        let mut process = Process::new(at(0), at(0));
        for thread in 0..threads {
            process.add_thread(if thread == 0 { "main" } else { "worker" }, at(0), None);
        }
        Program { process, now: 0, threads, instances: 0 }
    }

    pub(crate) fn site(&mut self, function: &str, line: u32) -> SiteId {
        let site = site(function, line);
        match self.process.sites.iter().position(|known| *known == site) {
            Some(index) => SiteId::new(index as u32),
            None => self.process.add_site(site),
        }
    }

    /// The main thread works alone.
    pub(crate) fn serial(&mut self, time: u64) {
        self.now += time;
    }

    /// An execution of a region that was not recorded whole.
    pub(crate) fn skipped(&mut self, function: &str, count: u64, time: u64) {
        let place = Some(self.site(function, 10));
        let region = self.region(place, count, time * count, false);
        self.now += time * count;
        self.process.openmp.regions.push(region);
    }

    fn region(&mut self, place: Option<SiteId>, count: u64, time: u64, whole: bool) -> Region {
        self.instances += 1;
        Region {
            thread: ThreadId::new(0),
            begin: at(self.now),
            end: at(self.now + time),
            instance: Instance::new(self.instances),
            place,
            met_at: None,
            parent: None,
            size: self.threads,
            count,
            timed: count,
            time: Nanos::new(time),
            vendor: Vendor::Llvm,
            whole,
            league: false,
            open: false,
        }
    }

    /// An execution of a region that was recorded whole: `fork` until the first thread begins, and `phases`, of which the
    /// last one ends at the join (nobody is seen to leave that late).
    pub(crate) fn parallel(&mut self, function: &str, fork: u64, phases: &[Phase]) {
        let place = Some(self.site(function, 10));
        let instance = Instance::new(self.instances + 1);
        let begin = self.now + fork;
        let count = self.threads as usize;
        let mut starts = vec![begin; count];
        let mut end = begin;
        for (number, phase) in phases.iter().enumerate() {
            let line = 20 + number as u32;
            let here = Some(self.site(function, line));
            let arrivals: Vec<u64> =
                starts.iter().zip(&phase.work).map(|(start, work)| start + work).collect();
            let leave = arrivals.iter().max().unwrap() + phase.walk;
            for thread in 0..count {
                let (start, arrival) = (starts[thread], arrivals[thread]);
                if let Some(kind) = phase.kind {
                    self.process.openmp.works.push(Work {
                        thread: ThreadId::new(thread as u32),
                        instance,
                        sequence: number as u32,
                        kind,
                        place: here,
                        begin: at(start),
                        end: at(arrival),
                        iterations: phase.iterations,
                        chunk: None,
                        chunks: 1,
                        done: None,
                        dealing: None,
                    });
                }
                if number + 1 < phases.len() {
                    self.process.openmp.syncs.push(Sync {
                        thread: ThreadId::new(thread as u32),
                        instance,
                        sequence: number as u32,
                        kind: SyncKind::WorkBarrier,
                        place: here,
                        begin: at(arrival),
                        end: at(leave + phase.late[thread]),
                        continued: false,
                        interrupted: false,
                    });
                } else {
                    self.process.openmp.shares.push(Share {
                        thread: ThreadId::new(thread as u32),
                        instance,
                        index: thread as u32,
                        begin: at(begin),
                        end: at(arrival),
                        cpu: None,
                        cpu_begin: None,
                    });
                }
                starts[thread] = leave + phase.late[thread];
            }
            end = leave;
        }
        let region = self.region(place, 1, end - self.now, true);
        self.process.openmp.regions.push(region);
        self.now = end;
    }

    /// A region with one dynamic loop whose chunks each thread executes one after the other.
    pub(crate) fn dealt_out(&mut self, function: &str, chunks: &[&[u64]], iterations: u64) {
        let instance = Instance::new(self.instances + 1);
        let all: u64 = chunks.iter().map(|chunks| chunks.len() as u64).sum();
        let mut work = Vec::new();
        let mut given: Vec<u64> = vec![0; chunks.len()];
        for (thread, lengths) in chunks.iter().enumerate() {
            let mut begin = self.now;
            for (number, length) in lengths.iter().enumerate() {
                self.process.openmp.chunks.push(Chunk {
                    thread: ThreadId::new(thread as u32),
                    instance,
                    sequence: 0,
                    begin: at(begin),
                    end: at(begin + length),
                    first: (number * chunks.len() + thread) as u64 * iterations / all,
                    count: iterations / all,
                });
                begin += length;
                given[thread] += 1;
            }
            work.push(begin - self.now);
        }
        let first = self.process.openmp.works.len();
        self.parallel(function, 0, &[Phase::of(&work).kind(WorkKind::DynamicLoop).iterations(iterations)]);
        for (work, given) in self.process.openmp.works[first..].iter_mut().zip(given) {
            work.chunks = given as u32;
            work.done = Some(given * iterations / all);
            work.chunk = Some((iterations / all) as u32);
            work.dealing = Some(Nanos::new(100));
        }
    }

    /// A thread was on a core all the time but for this.
    pub(crate) fn without_core(&mut self, thread: u32, from: u64, to: u64) {
        self.process.covered = vec![(at(0), at(self.now))];
        for (begin, end) in [(0, from), (to, self.now)] {
            self.process.on_core.push(OnCore {
                thread: ThreadId::new(thread),
                begin: at(begin),
                end: at(end),
                core: thread,
                left: Left::Preempted,
            });
        }
    }

    /// Acquisitions of a lock in a region, by each thread alike: (timed, time, fastest) and (waits, waiting).
    pub(crate) fn locks(
        &mut self,
        function: &str,
        acquisitions: u64,
        timed: (u64, u64, u64),
        waits: (u64, u64),
    ) {
        let (place, region) = (Some(self.site("take", 77)), Some(self.site(function, 10)));
        for thread in 0..self.threads {
            self.process.openmp.acquires.push(Acquires {
                thread: ThreadId::new(thread),
                place,
                region,
                kind: ObjectKind::OmpLock,
                acquisitions,
                timed: timed.0,
                time: Nanos::new(timed.1),
                fastest: Nanos::new(timed.2),
                waits: waits.0,
                waiting: Nanos::new(waits.1),
            });
        }
    }

    pub(crate) fn run(mut self) -> Run {
        self.process.end = at(self.now);
        Run { command: vec!["app".to_owned()], cores: 64, processes: vec![self.process], ..Run::default() }
    }
}

/// How the program scales whose run with n threads `run` gives.
pub(crate) fn scaled(threads: &[u32], run: impl Fn(u32) -> Run) -> Scaling {
    let runs: Vec<(u32, Vec<Run>)> = threads.iter().map(|&threads| (threads, vec![run(threads)])).collect();
    let points: Vec<ScalePoint<'_>> =
        runs.iter().map(|(threads, runs)| ScalePoint { threads: *threads, runs, plain: &[] }).collect();
    scale(&points)
}

/// The region with this function.
pub(crate) fn region<'a>(scaling: &'a Scaling, function: &str) -> &'a RegionScaling {
    let is = |site: &Site| site.place().and_then(|frame| frame.function.as_deref()) == Some(function);
    scaling.regions.iter().find(|region| region.place.as_ref().is_some_and(is)).expect("the region is there")
}
