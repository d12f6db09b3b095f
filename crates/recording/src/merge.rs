//! The kernel's view of processes put beside the preload's, or in its place where the library could not enter.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::{
    Access, AccessKind, Block, Call, CpuReading, Doing, Frame, InKernel, Left, Nanos, ObjectId, ObjectKind,
    OnCore, Process, Routine, RoutineKind, Sample, Site, SiteId, Thread, ThreadId, Time, Wait, Wake,
    WakeCount,
};
use holdup_trace::kernel::{self, AccessCode, InKernelCode, NO_CALL, NO_STACK, SampleCode};

use crate::clock::Clock;
use crate::facts::{ImageNames, NamedFrame};
use crate::kernel::{Image, Kernel, SampleFacts};
use crate::own_frames;

/// A process that the preload did not see is kept if it used at least this much CPU time, or had threads: shells fork
/// for each command, and such a fork is nothing to tell of.
const LEAST_CPU: Nanos = Nanos::new(5_000_000);

/// How far from a time in which a thread was blocked a look at it may be, to say what it was blocked on (ns): a thread
/// that is blocked often for a short time is seen in some of these times only.
const NEAR: u64 = 100_000_000;

/// How far away two looks may be that found the same (ns): on both sides of that time, or the last two or the first two of all.
const AROUND: u64 = 1_000_000_000;

/// Everything that is needed to read what the kernel saw.
pub(crate) struct Merge<'a> {
    pub kernel: &'a Kernel,
    pub names: &'a BTreeMap<u32, ImageNames>,
    pub clock: &'a Clock,
    /// When the recording ended (ns of CLOCK_MONOTONIC).
    pub end: u64,
}

fn accessed(access: kernel::Access) -> Access {
    let kind = match access.code {
        AccessCode::Read => AccessKind::Read,
        AccessCode::Write => AccessKind::Write,
        AccessCode::Update => AccessKind::Update,
        AccessCode::Atomic => AccessKind::Atomic,
    };
    Access { address: access.address, bytes: access.bytes, kind }
}

/// Sites of one image, added when they are first needed.
struct Sites<'a> {
    image: u32,
    kernel: &'a Kernel,
    names: Option<&'a ImageNames>,
    known: BTreeMap<u32, SiteId>,
    locks: BTreeMap<SiteId, Option<&'static Routine>>,
    /// Stacks that end in the injected library's own code.
    own: BTreeSet<u32>,
}

impl Sites<'_> {
    /// The hidden lock that a thread blocked here waits for.
    fn lock(&mut self, process: &Process, site: SiteId) -> Option<&'static Routine> {
        let find = || process.site(site).routine(|kind| kind == RoutineKind::Lock);
        *self.locks.entry(site).or_insert_with(find)
    }

    /// True if a thread that is on a core here is about to sleep until a hidden lock is free, or has just been woken: a lock's other
    /// routine is that of who frees it. What an OpenMP runtime allocates to hand out a task is a cost of tasks.
    fn falls_asleep(&mut self, process: &Process, site: SiteId) -> bool {
        let Some(lock) = self.lock(process, site) else { return false };
        let site = process.site(site);
        let on_core = site.routine(|kind| kind == RoutineKind::Spin);
        on_core.is_some_and(|routine| routine.is_lock && routine.name == lock.name)
            && !site.is_called_by_openmp()
    }

    fn at(&mut self, process: &mut Process, stack: u32) -> Option<SiteId> {
        if stack == NO_STACK {
            return None;
        }
        if let Some(known) = self.known.get(&stack) {
            return Some(*known);
        }
        let stored = self.kernel.stacks.get(&(self.image, stack))?;
        let first = stored.addresses.first()?;
        let unnamed = |address: u64| vec![NamedFrame { address, ..NamedFrame::default() }];
        let named = |(depth, address): (usize, &u64)| {
            let names = self.names.map(|names| if depth == 0 { &names.executed } else { &names.callers });
            names.and_then(|names| names.get(address)).cloned().unwrap_or_else(|| unnamed(*address))
        };
        let by_depth = || stored.addresses.iter().enumerate();
        // Who waits in a loop, and what the loop calls meanwhile: a function of the program's own is no part of the place.
        let asking = self.names.and_then(|names| {
            let is_helper = |address: &u64| names.helpers.binary_search(address).is_ok();
            let asking = by_depth().find(|(_, address)| !is_helper(address))?;
            names.waiting_loops.binary_search(asking.1).is_ok().then_some(asking)
        });
        let in_waiting_loop = asking.is_some();
        let module = |of: (usize, &u64)| named(of).last().and_then(|frame| frame.module.clone());
        let own = asking.filter(|asking| module((0, first)) == module(*asking));
        let depth = own.map_or(0, |(depth, _)| depth);
        let mut frames: Vec<NamedFrame> = by_depth().skip(depth).flat_map(named).collect();
        if own_frames::is_innermost(&frames) {
            self.own.insert(stack);
        }
        own_frames::take_out(&mut frames);
        let frames = frames.into_iter().map(Frame::from);
        let id = process.add_site(Site { frames: frames.collect(), broken: stored.broken, in_waiting_loop });
        self.known.insert(stack, id);
        Some(id)
    }
}

/// So long after its threads, whose end was not seen, a process may end.
const LATE_END: Nanos = Nanos::new(10_000_000);

impl Merge<'_> {
    /// The image that a process of this id had at a moment (ns of CLOCK_MONOTONIC), which is as exact as the clocks'
    /// comparison: the nearest.
    pub(crate) fn image_at(&self, pid: u32, time: u64) -> Option<usize> {
        let distance = |image: &Image| {
            let after = time.saturating_sub(image.end.unwrap_or(u64::MAX));
            image.start.saturating_sub(time).max(after)
        };
        self.kernel
            .images_of(pid)
            .min_by_key(|(index, image)| (distance(image), std::cmp::Reverse(*index)))
            .map(|(index, _)| index)
    }

    /// Adds to a process that the preload saw what the kernel saw of it. Gives the number of samples in the library's own
    /// code.
    pub(crate) fn add(&self, process: &mut Process, image: usize) -> u64 {
        let image = &self.kernel.images[image];
        // What was before the execution of the program was holdup's.
        let start = self.clock.at(image.start).min(process.end);
        if start > process.start {
            process.start = start;
            for thread in &mut process.threads {
                thread.start = thread.start.max(start);
            }
        }
        self.end_where_another_begins(process, image);
        let mut threads: Vec<(usize, ThreadId)> = Vec::new();
        let mut taken = vec![false; process.threads.len()];
        for (index, seen) in image.threads.iter().enumerate() {
            let start = self.clock.at(seen.start);
            let same = (0..taken.len())
                .filter(|&known| !taken[known] && process.threads[known].tid == seen.tid)
                .min_by_key(|&known| {
                    let known = process.threads[known].start;
                    known.since(start).max(start.since(known))
                });
            match same {
                Some(known) => {
                    taken[known] = true;
                    threads.push((index, ThreadId::new(known as u32)));
                }
                // The preload's threads of a process that it entered late, or that another library started.
                None if self.cpu(seen.tid, seen.start, seen.end.unwrap_or(self.end)) > Nanos::ZERO => {
                    threads.push((index, self.add_thread(process, image, index)));
                }
                None => {}
            }
        }
        let own_samples = self.fill(process, image, &threads);
        self.tell_cpu_of_cut_off(process, image, &threads);
        own_samples
    }

    /// A program that executes another one which the library is not in has ended, though its process goes on.
    fn end_where_another_begins(&self, process: &mut Process, image: &Image) {
        let mut later = self.kernel.images_of(image.pid).filter(|(_, other)| other.start > image.start);
        let Some(end) = image.end.filter(|_| later.next().is_some()).map(|end| self.clock.at(end)) else {
            return;
        };
        if end >= process.end || end < process.start {
            return;
        }
        process.end = end;
        for thread in &mut process.threads {
            thread.start = thread.start.min(end);
            thread.end = thread.end.map(|own| own.min(end));
        }
        // Of what it did, nothing can be later but by the clocks' comparison.
        process.waits.retain(|wait| wait.begin < end);
        process.waits.iter_mut().for_each(|wait| wait.end = wait.end.min(end));
        process.blocks.retain(|block| block.begin < end);
        process.blocks.iter_mut().for_each(|block| block.end = block.end.min(end));
    }

    /// Threads that ended with their process did not tell their CPU time at the end, and their last words may be long past: what
    /// the kernel's records say, where they go as far as that.
    fn tell_cpu_of_cut_off(&self, process: &mut Process, image: &Image, threads: &[(usize, ThreadId)]) {
        for &(index, id) in threads {
            let (seen, thread) = (&image.threads[index], &mut process.threads[id.index()]);
            let until = seen.end.or(image.end).unwrap_or(self.end);
            let is_known = |begin: Time, end: Time| begin <= thread.start && self.clock.at(until) <= end;
            let has_ended = seen.end.is_some();
            let is_to_the_end = has_ended || process.end.since(self.clock.at(until)) <= LATE_END;
            let is_covered = process.covered.iter().any(|&(begin, end)| is_known(begin, end));
            if thread.cpu.is_none() && is_to_the_end && is_covered {
                let spans = self.kernel.spans(seen.tid, seen.start, until);
                let known = Nanos::new(spans.map(|span| span.end - span.begin).sum());
                let known = known.min(process.end.since(thread.start));
                thread.cpu_when_last_read = thread.cpu_when_last_read.max(Some(known));
            }
        }
    }

    /// A process that only the kernel saw; `None` if it is nothing to tell of.
    pub(crate) fn process(&self, image: usize, keep_always: bool) -> Option<Process> {
        let image = &self.kernel.images[image];
        let until = image.end.unwrap_or(self.end);
        let cpu: Nanos = image
            .threads
            .iter()
            .map(|thread| self.cpu(thread.tid, thread.start, thread.end.unwrap_or(until)))
            .sum();
        if !keep_always && cpu < LEAST_CPU && image.threads.len() < 2 {
            return None;
        }
        let start = self.clock.at(image.start);
        let mut process = Process::new(start, self.clock.at(until).max(start));
        process.pid = image.pid;
        process.parent_pid = image.parent_pid;
        process.command.clone_from(&image.command);
        let threads: Vec<(usize, ThreadId)> = (0..image.threads.len())
            .map(|index| (index, self.add_thread(&mut process, image, index)))
            .collect();
        for (index, id) in &threads {
            let parent = image.threads[*index].parent;
            let started = image.threads[*index].start;
            let parent = threads.iter().rev().find(|(other, _)| {
                let other = &image.threads[*other];
                other.tid == parent && other.start <= started && other.tid != image.threads[*index].tid
            });
            process.threads[id.index()].parent = parent.map(|(_, parent)| *parent);
        }
        self.fill(&mut process, image, &threads);
        Some(process)
    }

    fn cpu(&self, tid: u32, from: u64, until: u64) -> Nanos {
        let spans: u64 = self.kernel.spans(tid, from, until).map(|span| span.end - span.begin).sum();
        let readings = self.kernel.readings(tid, from, until);
        let read =
            readings.first().zip(readings.last()).map_or(0, |(first, last)| last.1 - first.1.min(last.1));
        let sampled = self
            .kernel
            .samples(tid, from, until)
            .iter()
            .filter(|sample| sample.kind == SampleCode::Running)
            .fold(0, |all: u64, sample| all.saturating_add(sample.weight));
        Nanos::new(spans.max(read).max(sampled))
    }

    fn add_thread(&self, process: &mut Process, image: &Image, index: usize) -> ThreadId {
        let seen = &image.threads[index];
        let until = seen.end.or(image.end);
        let cut = |time: Time| time.clamp(process.start, process.end);
        let cpu = self.cpu(seen.tid, seen.start, until.unwrap_or(self.end));
        let thread = Thread {
            name: seen.name.clone(),
            tid: seen.tid,
            start: cut(self.clock.at(seen.start)),
            end: seen.end.map(|end| cut(self.clock.at(end))),
            parent: None,
            entry: None,
            created_at: None,
            cpu: Some(cpu),
            cpu_when_last_read: None,
        };
        process.threads.push(thread);
        ThreadId::new(process.threads.len() as u32 - 1)
    }

    /// Fills the columns that only the kernel has, and derives waits from them that nothing else saw.
    /// Gives the number of samples in the library's own code.
    fn fill(&self, process: &mut Process, image: &Image, threads: &[(usize, ThreadId)]) -> u64 {
        let mut own_samples = 0;
        process.seen_by.kernel = true;
        let covered =
            self.kernel.covered.iter().map(|&(from, until)| (self.clock.at(from), self.clock.at(until)));
        process.covered = covered
            .map(|(from, until)| (from.max(process.start), until.min(process.end)))
            .filter(|(from, until)| from < until)
            .collect();
        if !process.seen_by.preload {
            let paused =
                self.kernel.paused.iter().map(|&(from, until)| (self.clock.at(from), self.clock.at(until)));
            process.estimated = paused
                .map(|(from, until)| (from.max(process.start), until.min(process.end)))
                .filter(|(from, until)| from < until)
                .collect();
        }
        let mut sites = Sites {
            image: image.number,
            kernel: self.kernel,
            names: self.names.get(&image.number),
            known: BTreeMap::new(),
            locks: BTreeMap::new(),
            own: BTreeSet::new(),
        };
        if let Some(names) = sites.names {
            process.variables.extend(names.variables.iter().map(|(&address, name)| (address, name.clone())));
        }
        let mut unseen = Unseen::of(process, threads);
        for &(index, thread) in threads {
            let seen = &image.threads[index];
            let (from, until) = (seen.start, seen.end.or(image.end).unwrap_or(self.end));
            let samples = self.kernel.samples(seen.tid, from, until);
            for sample in samples {
                let doing = match sample.kind {
                    SampleCode::Running => Doing::Running,
                    SampleCode::Blocked => Doing::Blocked,
                    SampleCode::Able => continue,
                };
                let site = sites.at(process, sample.stack);
                let is_own = sites.own.contains(&sample.stack);
                own_samples += u64::from(doing == Doing::Running && is_own);
                process.samples.push(Sample {
                    thread,
                    time: self.clock.at(sample.time),
                    doing,
                    site,
                    weight: Nanos::new(
                        (sample.weight as f64 * self.kernel.times_its_weight(sample.time)) as u64,
                    ),
                    // What the injected library accesses is none of the program's data.
                    access: sample.running.access.filter(|_| !is_own).map(accessed),
                    in_kernel: sample.running.in_kernel.map(|code| match code {
                        InKernelCode::Call => InKernel::Call,
                        InKernelCode::Fault => InKernel::Fault,
                    }),
                });
            }
            process.readings.extend(self.kernel.readings(seen.tid, from, until).iter().map(
                |&(time, cpu, delay)| CpuReading {
                    thread,
                    time: self.clock.at(time),
                    cpu: Nanos::new(cpu),
                    delay: Nanos::new(delay),
                },
            ));
            let blocked: Vec<&SampleFacts> =
                samples.iter().filter(|sample| sample.kind == SampleCode::Blocked).collect();
            let is_unseen = |sample: &&SampleFacts| {
                let at = self.clock.at(sample.time);
                !unseen.is_seen(thread, at, at + Nanos::new(1))
            };
            let mut falls_asleep = |sample: &&SampleFacts| {
                sample.kind == SampleCode::Running
                    && sites.at(process, sample.stack).is_some_and(|site| sites.falls_asleep(process, site))
            };
            let looks = Looks {
                blocked: &blocked,
                unseen: &blocked.iter().copied().filter(is_unseen).collect::<Vec<_>>(),
                falling_asleep: &samples.iter().filter(|sample| falls_asleep(sample)).collect::<Vec<_>>(),
            };
            for span in self.kernel.spans(seen.tid, from, until) {
                process.on_core.push(OnCore {
                    thread,
                    begin: self.clock.at(span.begin),
                    end: self.clock.at(span.end),
                    core: span.core,
                    left: span.left,
                });
            }
            for gap in self.gaps((thread, seen.tid), from, until) {
                self.explain(process, &mut sites, &mut unseen, &gap, &looks);
            }
            for (from, until, look) in self.kernel.looks(seen.tid, from, until) {
                self.estimate(
                    process,
                    &mut sites,
                    &mut unseen,
                    &Gap { thread, tid: seen.tid, from, until, is_whole: false },
                    &look,
                );
            }
        }
        self.place_sleeps(process, &mut unseen);
        self.wakes(process, image, threads, &unseen);
        own_samples
    }

    /// Takes what one look at a thread found for all of the time that it stands for. Where the preload saw the thread
    /// wait, its word stands: only what it did not see is taken from the look.
    fn estimate(
        &self,
        process: &mut Process,
        sites: &mut Sites<'_>,
        unseen: &mut Unseen,
        span: &Gap,
        look: &SampleFacts,
    ) {
        let &Gap { thread, tid, from, until, .. } = span;
        if process.seen_by.preload {
            let at = self.clock.at(look.time);
            if look.kind == SampleCode::Blocked && !unseen.is_seen(thread, at, at + Nanos::new(1)) {
                for (begin, end) in unseen.rest(thread, self.clock.at(from), self.clock.at(until)) {
                    self.explain_by(process, sites, unseen, span, (begin, end), look);
                }
            }
            return;
        }
        if look.kind == SampleCode::Blocked {
            let (begin, end) = (self.clock.at(from), self.clock.at(until));
            self.explain_by(process, sites, unseen, span, (begin, end), look);
            return;
        }
        let on_core = ((until - from) as f64 * self.kernel.share_on_core(tid, look.time)) as u64;
        process.on_core.push(OnCore {
            thread,
            begin: self.clock.at(from),
            end: self.clock.at(from + on_core),
            core: 0,
            left: Left::Preempted,
        });
        // Able all the time, though not on a core: what follows begins where this ends.
        let (begin, end) = (self.clock.at(until), self.clock.at(until));
        process.on_core.push(OnCore { thread, begin, end, core: 0, left: Left::Blocked });
    }

    /// When a thread with these spans was blocked while context switches were recorded, in order: since it left its core to wait, or
    /// since before that was recorded.
    fn gaps(&self, (thread, tid): (ThreadId, u32), from: u64, until: u64) -> Vec<Gap> {
        let mut spans = self.kernel.spans(tid, from, until).peekable();
        let mut gaps = Vec::new();
        for &(begin, end) in &self.kernel.covered {
            // Since when, and whether it was seen to begin.
            let mut since = (from < begin).then_some((begin, false));
            while let Some(span) = spans.next_if(|span| span.begin < end) {
                let gap = |(from, is_whole)| Gap { thread, tid, from, until: span.begin, is_whole };
                gaps.extend(since.map(gap));
                since = (span.left == Left::Blocked).then_some((span.end, true));
            }
            let to_the_end = |(from, begins)| {
                let is_whole = begins && until <= end;
                Gap { thread, tid, from, until: until.min(end), is_whole }
            };
            gaps.extend(since.map(to_the_end));
        }
        gaps.retain(|gap| gap.from < gap.until);
        gaps
    }

    /// Says what a thread was blocked on, where looks at it tell: a hidden lock, a futex, or a system call.
    fn explain(
        &self,
        process: &mut Process,
        sites: &mut Sites<'_>,
        unseen: &mut Unseen,
        gap: &Gap,
        looks: &Looks<'_>,
    ) {
        let (begin, end) = (self.clock.at(gap.from), self.clock.at(gap.until));
        if begin >= end || unseen.is_seen(gap.thread, begin, end) {
            return;
        }
        let alike = |one: &SampleFacts, other: &SampleFacts| {
            let mut lock = |sample: &SampleFacts| {
                let site = sites.at(process, sample.stack).filter(|_| sample.call != NO_CALL);
                site.and_then(|site| sites.lock(process, site)).map(|lock| lock.name)
            };
            one.call == other.call && one.stack == other.stack
                || lock(one).is_some_and(|name| lock(other) == Some(name))
        };
        if let Some(sample) = looks.nearest(gap, alike) {
            self.explain_by(process, sites, unseen, gap, (begin, end), sample);
        } else if gap.is_whole
            && let Some(sample) = looks.near_sleep(gap)
            && let Some(site) = sites.at(process, sample.stack)
            && let Some(lock) = sites.lock(process, site)
        {
            unseen.asleep.push((*gap, site, lock.name));
        }
    }

    /// Makes waits of what threads slept for by a lock's name alone: for the one that has the name, if others were found blocked on
    /// one.
    fn place_sleeps(&self, process: &mut Process, unseen: &mut Unseen) {
        for (gap, site, name) in std::mem::take(&mut unseen.asleep) {
            let mut known = unseen.objects.range((Some(name), 1)..=(Some(name), u64::MAX)).map(|(_, id)| *id);
            let object = match (known.next(), known.next()) {
                (Some(one), None) => one,
                _ => unseen.object(process, Some(name), 0),
            };
            let span = (self.clock.at(gap.from), self.clock.at(gap.until));
            unseen.add_wait(process, &gap, span, object, Some(site));
        }
    }

    /// Says what a thread was blocked on from `begin` to `end`, by a look at it.
    fn explain_by(
        &self,
        process: &mut Process,
        sites: &mut Sites<'_>,
        unseen: &mut Unseen,
        gap: &Gap,
        (begin, end): (Time, Time),
        sample: &SampleFacts,
    ) {
        let site = sites.at(process, sample.stack);
        // A page fault inside of a lock's function is no wait for the lock.
        let lock = site.filter(|_| sample.call != NO_CALL).and_then(|site| sites.lock(process, site));
        let is_futex = sample.call == FUTEX;
        if lock.is_some() || is_futex {
            let address = if is_futex { sample.argument } else { 0 };
            // Who will end a futex wait is only known where wake-ups are recorded; without, it tells no more than that
            // the thread was blocked.
            if lock.is_none()
                && self.kernel.wakings(gap.tid, gap.from, gap.until.saturating_add(1)).is_empty()
            {
                return;
            }
            let object = unseen.object(process, lock.map(|lock| lock.name), address);
            unseen.add_wait(process, gap, (begin, end), object, site);
            return;
        }
        process.blocks.push(Block {
            thread: gap.thread,
            begin,
            end,
            call: call_of(sample.call),
            timed_out: false,
            site,
            cpu_begin: None,
            cpu_end: None,
        });
    }

    /// Wake-ups by threads of the process that ended waits found here.
    fn wakes(&self, process: &mut Process, image: &Image, threads: &[(usize, ThreadId)], unseen: &Unseen) {
        let by_tid: BTreeMap<u32, ThreadId> =
            threads.iter().map(|&(index, thread)| (image.threads[index].tid, thread)).collect();
        for &(index, tid, from, until) in &unseen.waits {
            let object = process.waits[index].object;
            let waker = self.kernel.wakings(tid, from, until.saturating_add(1)).last().copied();
            let Some((time, thread)) = waker.and_then(|(time, by)| Some((time, *by_tid.get(&by)?))) else {
                continue;
            };
            let (time, count) = (self.clock.at(time), WakeCount::AtMost(1));
            process.wakes.push(Wake { thread, time, object, site: None, count });
        }
        self.messages(process, image, threads, &by_tid);
    }

    /// Makes of system calls that a thread of the process ended, which wrote to the pipe, socket or eventfd that was waited for, or
    /// read from it, waits for that thread.
    fn messages(
        &self,
        process: &mut Process,
        image: &Image,
        threads: &[(usize, ThreadId)],
        by_tid: &BTreeMap<u32, ThreadId>,
    ) {
        let mut woken: Vec<Vec<(Time, ThreadId)>> = process.threads.iter().map(|_| Vec::new()).collect();
        for &(index, thread) in threads {
            let seen = &image.threads[index];
            let (from, until) = (seen.start, seen.end.or(image.end).unwrap_or(self.end));
            let wakings = self.kernel.wakings(seen.tid, from, until).iter();
            let by_one = wakings.filter_map(|&(time, by)| Some((self.clock.at(time), *by_tid.get(&by)?)));
            woken[thread.index()].extend(by_one.filter(|(_, by)| *by != thread));
        }
        let mut objects: BTreeMap<(ObjectKind, ThreadId), ObjectId> = BTreeMap::new();
        for block in std::mem::take(&mut process.blocks) {
            let wakings = &woken[block.thread.index()];
            let next = wakings.partition_point(|(time, _)| *time <= block.end);
            let last = next.checked_sub(1).map(|last| wakings[last]);
            let ended = last.filter(|(time, _)| *time > block.begin && is_for_messages(block.call));
            let Some((time, by)) = ended else {
                process.blocks.push(block);
                continue;
            };
            let kind = match block.call {
                Call::Write | Call::Send => ObjectKind::Room,
                _ => ObjectKind::Messages,
            };
            let object = *objects.entry((kind, block.thread)).or_insert_with(|| process.add_object(kind, 0));
            let Block { thread, begin, end, site, cpu_begin, cpu_end, .. } = block;
            process.waits.push(Wait {
                site,
                cpu_begin,
                cpu_end,
                ..Wait::granted(thread, object, begin, end)
            });
            process.wakes.push(Wake { thread: by, time, object, site: None, count: WakeCount::AtMost(1) });
        }
    }
}

/// A time in which a thread was blocked.
#[derive(Clone, Copy)]
struct Gap {
    thread: ThreadId,
    tid: u32,
    from: u64,
    until: u64,
    /// Context switches at both ends were recorded, and all between: else the thread may have done something else before or after.
    is_whole: bool,
}

impl Gap {
    /// How far a sample is from its nearer end (ns).
    fn distance(&self, sample: &SampleFacts) -> u64 {
        sample.time.abs_diff(self.from).min(sample.time.abs_diff(self.until))
    }
}

/// Looks at a thread, in order of time.
struct Looks<'a> {
    blocked: &'a [&'a SampleFacts],
    /// Those while it was in nothing that the preload saw.
    unseen: &'a [&'a SampleFacts],
    /// Samples of it on a core, in the routine in which it goes to sleep until a hidden lock is free.
    falling_asleep: &'a [&'a SampleFacts],
}

impl<'a> Looks<'a> {
    /// The sample of a thread on its way to sleep that is nearest to a gap, if it is near.
    fn near_sleep(&self, gap: &Gap) -> Option<&'a SampleFacts> {
        let (_, before, next) = around(self.falling_asleep, gap);
        let near = [before, next].into_iter().flatten().min_by_key(|sample| gap.distance(sample));
        near.filter(|sample| gap.distance(sample) <= NEAR)
    }

    /// The look that tells of a gap: one inside of it, else the nearest, if it is near. Where none is, the nearest one of what the preload
    /// did not see, if those before and after found the same; where there is none before or after, the two that are next to it.
    fn nearest(
        &self,
        gap: &Gap,
        mut alike: impl FnMut(&SampleFacts, &SampleFacts) -> bool,
    ) -> Option<&'a SampleFacts> {
        let distance = |sample: &SampleFacts| gap.distance(sample);
        let (_, before, next) = around(self.blocked, gap);
        if let Some(inside) = next.filter(|sample| sample.time <= gap.until) {
            return Some(inside);
        }
        let near = [before, next].into_iter().flatten().min_by_key(|sample| distance(sample));
        if let Some(near) = near.filter(|near| distance(near) <= NEAR) {
            return Some(near);
        }
        let (one, other) = match around(self.unseen, gap) {
            (_, Some(before), Some(next)) => (before, next),
            (after, Some(last), None) => (last, *self.unseen.get(after.checked_sub(2)?)?),
            (_, None, Some(first)) => (first, *self.unseen.get(1)?),
            (_, None, None) => return None,
        };
        let is_known = distance(one).max(distance(other)) <= AROUND && alike(one, other);
        is_known.then(|| if distance(one) <= distance(other) { one } else { other })
    }
}

/// The index of the first look that is not before a gap, the look before that, and itself.
fn around<'a>(
    looks: &[&'a SampleFacts],
    gap: &Gap,
) -> (usize, Option<&'a SampleFacts>, Option<&'a SampleFacts>) {
    let after = looks.partition_point(|sample| sample.time < gap.from);
    (after, after.checked_sub(1).map(|before| looks[before]), looks.get(after).copied())
}

/// What the preload did not see, and the objects found here.
struct Unseen {
    /// What the preload saw of each thread: spans in order of time.
    seen: Vec<Vec<(Time, Time)>>,
    objects: BTreeMap<(Option<&'static str>, u64), ObjectId>,
    /// Waits found here: index, kernel thread id, from, until.
    waits: Vec<(usize, u32, u64, u64)>,
    /// When threads slept for a lock of which the name is known, and no more.
    asleep: Vec<(Gap, SiteId, &'static str)>,
}

impl Unseen {
    fn of(process: &Process, threads: &[(usize, ThreadId)]) -> Unseen {
        let most = threads.iter().map(|(_, thread)| thread.index() + 1).max().unwrap_or(0);
        let mut seen = vec![Vec::new(); most.max(process.threads.len())];
        for wait in &process.waits {
            seen[wait.thread.index()].push((wait.begin, wait.end));
        }
        for block in &process.blocks {
            seen[block.thread.index()].push((block.begin, block.end));
        }
        seen.iter_mut().for_each(|spans| spans.sort_unstable());
        Unseen { seen, objects: BTreeMap::new(), waits: Vec::new(), asleep: Vec::new() }
    }

    /// True if the preload saw the thread wait in a part of this time.
    fn is_seen(&self, thread: ThreadId, from: Time, until: Time) -> bool {
        let spans = &self.seen[thread.index()];
        let before = spans.partition_point(|span| span.0 < until);
        spans[..before].iter().rev().take(4).any(|span| span.1 > from)
    }

    /// The parts of this time in which the preload did not see the thread wait.
    fn rest(&self, thread: ThreadId, from: Time, until: Time) -> Vec<(Time, Time)> {
        let spans = &self.seen[thread.index()];
        let first = spans.partition_point(|span| span.1 <= from);
        let mut rest = Vec::new();
        let mut at = from;
        for span in spans[first..].iter().take_while(|span| span.0 < until) {
            rest.push((at, span.0));
            at = at.max(span.1);
        }
        rest.push((at, until));
        rest.retain(|(from, until)| from < until);
        rest
    }

    /// Takes down that a thread waited for `object`.
    fn add_wait(
        &mut self,
        process: &mut Process,
        gap: &Gap,
        (begin, end): (Time, Time),
        object: ObjectId,
        site: Option<SiteId>,
    ) {
        self.waits.push((process.waits.len(), gap.tid, gap.from, gap.until));
        process.waits.push(Wait {
            site,
            mode: holdup_model::Mode::Exclusive,
            ..Wait::granted(gap.thread, object, begin, end)
        });
    }

    fn object(&mut self, process: &mut Process, name: Option<&'static str>, address: u64) -> ObjectId {
        *self.objects.entry((name, address)).or_insert_with(|| {
            let kind = if name.is_some() { ObjectKind::Mutex } else { ObjectKind::Futex };
            let known = process.objects.iter().position(|object| address != 0 && object.address == address);
            if let Some(known) = known.filter(|_| name.is_none()) {
                return ObjectId::new(known as u32);
            }
            let id = process.add_object(kind, address);
            process.objects[id.index()].name = name.map(str::to_owned);
            id
        })
    }
}

/// True for a call that ends when another thread sends or takes something.
fn is_for_messages(call: Call) -> bool {
    matches!(
        call,
        Call::Read | Call::Write | Call::Receive | Call::Send | Call::Accept | Call::Connect | Call::Poll
    )
}

/// The number of the futex call.
#[cfg(target_arch = "x86_64")]
const FUTEX: u32 = 202;
#[cfg(not(target_arch = "x86_64"))]
const FUTEX: u32 = 98;

/// What a number of a system call of x86-64 means.
fn call_of(number: u32) -> Call {
    match number {
        NO_CALL => Call::PageFault,
        0 | 17 | 19 | 295 | 327 => Call::Read,
        1 | 18 | 20 | 40 | 275 | 296 | 328 => Call::Write,
        45 | 47 | 299 => Call::Receive,
        44 | 46 | 307 => Call::Send,
        43 | 288 => Call::Accept,
        42 => Call::Connect,
        7 | 23 | 232 | 270 | 271 | 281 | 441 => Call::Poll,
        35 | 230 => Call::Sleep,
        26 | 74 | 75 | 162 | 277 => Call::Sync,
        61 | 247 => Call::WaitChild,
        73 => Call::FileLock,
        // pause, rt_sigtimedwait, rt_sigsuspend.
        34 | 128 | 130 => Call::Signal,
        _ => Call::Other,
    }
}
