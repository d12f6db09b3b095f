//! The parallel phases of one run: OpenMP regions, or the time from the creation of threads to their join.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::Instance;
use holdup_model::{MarkerKind, Process, Site, SiteId, ThreadId, ThreadTimes, Timeline};
use holdup_sections::{ForkJoin, Main, Place, Regions, Working, time_of};

use super::PhaseKind;
use super::course::{Courses, Spent};

/// What a phase is known by in all runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub(super) kind: PhaseKind,
    pub(super) place: Option<Place>,
}

/// What one run spent in one phase, all its executions together. Times in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseRun {
    pub(super) site: Option<Site>,
    pub(super) instances: u64,
    pub(super) time: u64,
    /// When it was executed, by time; they do not overlap.
    pub(super) spans: Vec<(u64, u64)>,
    /// Threads that were at work in it.
    pub(super) threads: BTreeMap<ThreadId, Spent>,
    /// The longest t − t_wait of all threads, as a sum over executions (paper 1, section 6.3).
    pub(super) longest: u64,
    /// For how long more threads could run than there are cores, all of them together.
    pub(super) crowded: u64,
    /// Executions of a region that were recorded whole.
    whole: BTreeSet<Instance>,
}

/// One run, cut into phases and what is between them.
pub(super) struct Phased<'a> {
    pub(super) main: Main<'a>,
    pub(super) phases: BTreeMap<Key, PhaseRun>,
    /// Time between phases.
    pub(super) between: u64,
    /// What the thread that meets the phases does between them.
    pub(super) serial: Spent,
    /// How many threads were at work at once, for more than a moment.
    pub(super) at_once: u32,
}

impl<'a> Phased<'a> {
    /// `teams` are the places of regions that are executed by several threads, in any of the runs.
    pub(super) fn of(main: Main<'a>, teams: &BTreeSet<Option<Place>>) -> Phased<'a> {
        let process = main.process;
        let timeline = Timeline::build(process);
        let working =
            Working::of(process, &timeline, &ThreadTimes::of_all(&timeline), main.run.cores_of(process));
        let courses = Courses::of(&timeline, &working);
        let mut phased = Phased {
            main,
            phases: BTreeMap::new(),
            between: 0,
            serial: Spent::default(),
            at_once: working.at_once,
        };
        let (first, inside) = if process.openmp.regions.is_empty() {
            phased.add_fork_joins(&timeline, &working, &courses)
        } else {
            phased.add_regions(&courses, teams)
        };
        let all = courses.between(first, process.start.nanos(), process.end.nanos());
        phased.serial = all.without(&inside);
        let in_phases: u64 = phased.phases.values().map(|phase| phase.time).sum();
        phased.between = main.wall().get().saturating_sub(in_phases);
        phased
    }

    /// What an acquisition takes that does not wait (ns); `None` if that was not looked at.
    pub(super) fn price_of_a_lock(&self) -> Option<f64> {
        let costs = &self.main.process.lock_costs;
        let (count, time) = costs
            .iter()
            .fold((0, 0), |(count, time), cost| (count + cost.acquisitions, time + cost.acquiring.get()));
        (count > 0).then(|| time as f64 / count as f64)
    }

    /// t_wait is from the call that takes a lock to its return (paper 1, section 6.3), whether the thread waits there or not:
    /// a free lock comes from the core that had it last. What that takes beyond `price`, and waking those that wait, was
    /// taken for work. It was not told when: it is spread over a thread's phases by its CPU time.
    pub(super) fn pay_for_locks(&mut self, price: f64) {
        let mut costs: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for cost in &self.main.process.lock_costs {
            let beyond = cost.acquiring.get() as f64 - price * cost.acquisitions as f64;
            *costs.entry(cost.thread).or_default() += beyond.max(0.0) as u64 + cost.handing_over.get();
        }
        for (thread, cost) in costs {
            let cpu = |phase: &PhaseRun| phase.threads.get(&thread).map_or(0, |spent| spent.cpu);
            let between = if thread == ThreadId::new(0) { self.serial.cpu } else { 0 };
            let all = self.phases.values().map(cpu).sum::<u64>() + between;
            for phase in self.phases.values_mut() {
                let part = u128::from(cost) * u128::from(cpu(phase)) / u128::from(all.max(1));
                phase.pay_for_locks(thread, part as u64);
            }
        }
    }

    /// The thread that starts the others, and what it spent in phases.
    fn add_fork_joins(
        &mut self,
        timeline: &Timeline,
        working: &Working,
        courses: &Courses,
    ) -> (ThreadId, Spent) {
        let process = self.main.process;
        let first = ThreadId::new(0);
        let mut inside = Spent::default();
        for ForkJoin { begin, end, place, .. } in ForkJoin::all(process, timeline, working) {
            let key = Key { kind: PhaseKind::ForkJoin, place: Place::at(process, place) };
            let phase = self.phases.entry(key).or_insert_with(|| PhaseRun::at(process, place));
            phase.add(courses, (begin, end), 1, end - begin, first);
            inside.add(&courses.between(first, begin, end));
        }
        (first, inside)
    }

    /// The thread that meets the regions, and what it spent in them.
    fn add_regions(&mut self, courses: &Courses, teams: &BTreeSet<Option<Place>>) -> (ThreadId, Spent) {
        let process = self.main.process;
        let regions = Regions::of(process, teams);
        let master = regions.master;
        let mut inside = Spent::default();
        for region in regions.outermost() {
            let key = Key { kind: PhaseKind::Region, place: Place::at(process, region.place) };
            let phase = self.phases.entry(key).or_insert_with(|| PhaseRun::at(process, region.place));
            let span = (region.begin.nanos(), region.end.nanos());
            let time = time_of(region);
            phase.add(courses, span, region.count.max(1), time, master);
            if region.whole {
                phase.whole.insert(region.instance);
            }
            let of_master = courses.between(master, span.0, span.1);
            let is_one = region.count <= 1;
            inside.add(&if is_one {
                of_master
            } else {
                of_master.share(time, span.1.saturating_sub(span.0))
            });
        }
        for (key, phase) in &mut self.phases {
            phase.add_omp_locks(process, key);
        }
        (master, inside)
    }
}

impl PhaseRun {
    fn at(process: &Process, site: Option<SiteId>) -> Self {
        let site = site.and_then(|site| process.sites.get(site.index())).cloned();
        Self { site, ..Self::default() }
    }

    /// Adds executions in a span. Where it stands for many, the thread that met them works between them too: as much of
    /// the span is theirs as they take.
    fn add(&mut self, courses: &Courses, span: (u64, u64), executions: u64, time: u64, met_by: ThreadId) {
        let mut longest = 0;
        for thread in courses.threads() {
            let mut spent = courses.between(thread, span.0, span.1);
            if thread == met_by && executions > 1 {
                spent = spent.share(time, span.1 - span.0);
            }
            if spent.active() > 0 {
                longest = longest.max(spent.active());
                self.threads.entry(thread).or_default().add(&spent);
            }
        }
        self.instances += executions;
        self.time += time;
        self.longest += longest.min(time);
        let crowded = u128::from(courses.crowded(span.0, span.1));
        self.crowded += (crowded * u128::from(time) / u128::from((span.1 - span.0).max(1))) as u64;
        self.spans.push(span);
    }

    /// Waits for locks of OpenMP that were not told one by one. In which execution they were is not known, so that the
    /// longest thread's are taken to be as long as the mean.
    fn add_omp_locks(&mut self, process: &Process, key: &Key) {
        let rows = process.openmp.acquires.iter().filter(|row| row.region.is_some() && row.waiting.get() > 0);
        let mut waiting: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for row in rows.filter(|row| Place::at(process, row.region) == key.place) {
            *waiting.entry(row.thread).or_default() += row.waiting.get();
        }
        let before = self.sum().active();
        for (thread, waiting) in waiting {
            if let Some(spent) = self.threads.get_mut(&thread) {
                spent.wait_for_omp_locks(waiting);
            }
        }
        let untold = before - self.sum().active();
        self.longest = self.longest.saturating_sub(untold / self.threads.len().max(1) as u64);
    }

    fn pay_for_locks(&mut self, thread: ThreadId, cost: u64) {
        let threads = self.threads.len().max(1) as u64;
        if let Some(spent) = self.threads.get_mut(&thread) {
            self.longest = self.longest.saturating_sub(spent.pay_for_locks(cost) / threads);
        }
    }

    /// What all threads spent.
    pub(super) fn sum(&self) -> Spent {
        let mut sum = Spent::default();
        self.threads.values().for_each(|spent| sum.add(spent));
        sum
    }

    /// How long a stretch of time is in executions of the phase (ns).
    pub(super) fn overlap(&self, from: u64, to: u64) -> u64 {
        let first = self.spans.partition_point(|span| span.1 <= from);
        let inside = self.spans[first..].iter().take_while(|span| span.0 < to);
        inside.map(|span| span.1.min(to).saturating_sub(span.0.max(from))).sum()
    }

    /// How many units of work a thread did, where that is known of all executions: units that the program marks, else
    /// iterations that were dealt out one by one, and tasks.
    pub(super) fn units(&self, process: &Process, thread: ThreadId) -> Option<u64> {
        let marked = process.markers.iter().filter(|marker| {
            marker.thread == thread
                && marker.kind == MarkerKind::WorkBegin
                && self.overlap(marker.time.nanos(), marker.time.nanos() + 1) > 0
        });
        let marked = marked.count() as u64;
        if marked > 0 {
            return Some(marked);
        }
        if self.whole.is_empty() || self.whole.len() as u64 != self.instances {
            return None;
        }
        let openmp = &process.openmp;
        let mine = |of: ThreadId, instance: Instance| of == thread && self.whole.contains(&instance);
        let works =
            openmp.works.iter().filter(|work| work.kind.is_dealt_out() && mine(work.thread, work.instance));
        let mut units = Some(0);
        for work in works {
            units = units.zip(work.done).map(|(sum, done)| sum + done);
        }
        let runs = openmp.task_runs.iter().filter(|run| {
            run.complete
                && run.task.is_some()
                && run.instance.is_some_and(|instance| mine(run.thread, instance))
        });
        let tasks = runs.count() as u64;
        units.map(|units| units + tasks).filter(|&units| units > 0)
    }
}
