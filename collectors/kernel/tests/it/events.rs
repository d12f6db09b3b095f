//! Real events of real programs. Where the kernel refuses them, the refusal must be told.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::program::{Task, command, over_children, over_process, spawned};
use holdup_kernel::{
    Completeness, Drained, Event, Kind, Linux, Pid, Processes, Switch, Tid, Waited, Wanted, Watch, What,
};
use rustix::time::{ClockId, clock_gettime};

/// The clock of events.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What a run's events say, kept.
#[derive(Default)]
struct Seen {
    ins: BTreeMap<Tid, u64>,
    outs: BTreeMap<Tid, u64>,
    pids: BTreeSet<Pid>,
    forks: Vec<(Pid, Tid)>,
    exits: Vec<Tid>,
    execs: Vec<(Pid, Vec<u8>)>,
    files: Vec<Vec<u8>>,
    samples: u64,
    samples_with_code: u64,
    wakings: BTreeMap<(Tid, Tid), u64>,
    late: u64,
    latest_ns: u64,
    latest_switch_ns: u64,
    completeness: Completeness,
    drained: Drained,
    drains: u32,
}

impl Seen {
    fn take(&mut self, event: &Event<'_>) {
        self.completeness.note(event);
        self.pids.insert(event.pid);
        self.late += u64::from(event.time_ns + 1_000_000 < self.latest_ns);
        self.latest_ns = self.latest_ns.max(event.time_ns);
        if matches!(event.what, What::Switch(_)) {
            self.latest_switch_ns = self.latest_switch_ns.max(event.time_ns);
        }
        match event.what {
            What::Switch(Switch::In) => *self.ins.entry(event.tid).or_default() += 1,
            What::Switch(_) => *self.outs.entry(event.tid).or_default() += 1,
            What::Fork { pid, tid, .. } => self.forks.push((pid, tid)),
            What::Exit { tid, .. } => self.exits.push(tid),
            What::Name { pid, name, exec: true, .. } => self.execs.push((pid, name.to_vec())),
            What::Mapping { path, len, .. } => {
                assert!(len > 0);
                self.files.push(path.to_vec());
            }
            What::Sample(sample) => {
                assert!(sample.weight_ns > 0);
                self.samples += 1;
                let has_code = sample.registers.is_some_and(|registers| registers.ip != 0);
                self.samples_with_code += u64::from(has_code && !sample.stack.is_empty());
            }
            What::Waking { wakee, .. } => *self.wakings.entry((event.tid, wakee)).or_default() += 1,
            _ => {}
        }
    }

    fn drain(&mut self, watch: &mut Watch) {
        let drained = watch.drain(|event| self.take(&event));
        self.drains += 1;
        assert!(self.drains < 20_000, "what is waited for does not come");
        self.drained.records += drained.records;
        self.drained.unknown += drained.unknown;
        self.drained.rubbish_bytes += drained.rubbish_bytes;
    }

    fn until_the_end(watch: &mut Watch) -> Seen {
        let mut seen = Seen::default();
        while watch.wait(Duration::from_millis(20)) != Waited::Ended {
            seen.drain(watch);
        }
        seen.drain(watch);
        seen
    }

    fn is_readable(&self) {
        let Drained { records, unknown, rubbish_bytes } = self.drained;
        assert!(records > 0);
        assert_eq!((unknown, rubbish_bytes), (0, 0));
    }
}

#[test]
fn a_program_is_recorded_from_its_exec_to_its_end() {
    let Some((mut watch, mut child)) = spawned(command(Task::PingPong(200)), Wanted::default()) else {
        return;
    };
    let seen = Seen::until_the_end(&mut watch);
    assert!(child.wait().expect("its end").success());
    seen.is_readable();
    let pid = Pid(child.id());
    assert_eq!(seen.execs.first().map(|(pid, _)| *pid), Some(pid));
    assert_eq!(seen.pids, BTreeSet::from([pid]), "nothing else is recorded");
    assert!(seen.files.iter().any(|file| file.ends_with(b"libc.so.6")), "{:?}", seen.files);
    let threads: BTreeSet<Tid> = seen.forks.iter().map(|(_, tid)| *tid).collect();
    assert!(threads.iter().all(|tid| seen.exits.contains(tid)), "{threads:?} {:?}", seen.exits);
    assert!(seen.exits.contains(&Tid(pid.0)));
    if watch.refused().iter().all(|(kind, _)| *kind != Kind::Switches) {
        // Both threads sleep 200 times; what else makes them wait is up to how they meet.
        let often = |seen: Option<&u64>| seen.is_some_and(|times| *times >= 100);
        let busy = threads.iter().filter(|tid| often(seen.ins.get(tid)) && often(seen.outs.get(tid)));
        assert_eq!(busy.count(), 2, "{:?} {:?}", seen.ins, seen.outs);
        let total = seen.completeness.total();
        println!("switches: {total:?}");
        assert_eq!((total.missing_ins, total.missing_outs), (0, 0));
    }
    if watch.refused().iter().all(|(kind, _)| *kind != Kind::Wakings) {
        let mutual = seen
            .wakings
            .keys()
            .any(|(waker, wakee)| waker != wakee && seen.wakings.contains_key(&(*wakee, *waker)));
        assert!(mutual, "{:?}", seen.wakings);
    }
}

#[test]
fn a_ring_that_fills_up_wakes_its_reader() {
    let wanted = Wanted { samples: None, ring_bytes: 32 << 10, ..Wanted::default() };
    let Some((mut watch, mut child)) = spawned(command(Task::UntilKilled), wanted) else { return };
    assert_eq!(watch.ring_bytes(), 32 << 10);
    let has_switches = watch.refused().iter().all(|(kind, _)| *kind != Kind::Switches);
    // Its threads switch all the time. Were the reader woken at the end only, it would wait for an hour.
    let mut fruitful = 0;
    while has_switches && fruitful < 3 {
        assert_ne!(watch.wait(Duration::from_secs(3600)), Waited::Ended);
        fruitful += u32::from(watch.drain(|_| {}).records > 0);
    }
    child.kill().expect("it runs");
    child.wait().expect("its end");
}

#[test]
fn samples_say_what_runs() {
    let Some((mut watch, mut child)) = spawned(command(Task::Compute), Wanted::default()) else { return };
    let seen = Seen::until_the_end(&mut watch);
    assert!(child.wait().expect("its end").success());
    if watch.refused().iter().all(|(kind, _)| *kind != Kind::Samples) {
        println!("{} samples, {} with code", seen.samples, seen.samples_with_code);
        assert!(seen.samples_with_code > 0 && seen.samples_with_code * 2 > seen.samples);
    }
}

#[test]
fn a_child_that_prepares_itself_is_recorded_from_its_exec_too() {
    let mut command = command(Task::PingPong(10));
    // SAFETY: nothing is done between fork and exec.
    unsafe { command.pre_exec(|| Ok(())) };
    let Some((mut watch, mut child)) = spawned(command, Wanted::default()) else { return };
    let seen = Seen::until_the_end(&mut watch);
    assert!(child.wait().expect("its end").success());
    let pid = Pid(child.id());
    assert_eq!(seen.execs.first().map(|(pid, _)| *pid), Some(pid));
    assert_eq!(seen.pids, BTreeSet::from([pid]));
}

#[test]
fn children_of_children_are_recorded() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "(true); cat /dev/null; exec cat /dev/null"]);
    let Some((mut watch, mut child)) = spawned(shell, Wanted::default()) else { return };
    let seen = Seen::until_the_end(&mut watch);
    assert!(child.wait().expect("its end").success());
    let names: Vec<&[u8]> = seen.execs.iter().map(|(_, name)| name.as_slice()).collect();
    assert_eq!(names.first(), Some(&&b"sh"[..]));
    assert_eq!(names.iter().filter(|name| **name == b"cat").count(), 2, "{names:?}");
    assert!(seen.pids.len() >= 2, "{:?}", seen.pids);
}

#[test]
fn the_calling_thread_is_not_recorded_even_if_switched_on() {
    let wanted = Wanted::default();
    let Some(mut watch) = over_children(wanted) else { return };
    watch.enable().expect("it can be switched on");
    std::thread::sleep(Duration::from_millis(2));
    let mut child = command(Task::PingPong(10)).spawn().expect("a program");
    assert!(child.wait().expect("its end").success());
    let mut seen = Seen::default();
    seen.drain(&mut watch);
    assert!(!seen.pids.contains(&Pid::own()));
    assert!(seen.pids.contains(&Pid(child.id())));
}

#[test]
fn switch_records_can_be_off_alone() {
    // No thread is started while events are switched off: the kernel may give it the state that its starter's had a
    // moment before, and threads with the same events trade them when one goes on where the other stops.
    let task = Task::PingPong(1_000_000);
    let Some((mut watch, mut child)) = spawned(command(task), Wanted::default()) else { return };
    let has_switches = watch.refused().iter().all(|(kind, _)| *kind != Kind::Switches);
    let mut seen = Seen::default();
    // The test's thread and the one that answers it.
    while has_switches && seen.ins.values().filter(|ins| **ins > 10).count() < 2 {
        watch.wait(Duration::from_millis(5));
        seen.drain(&mut watch);
    }
    watch.disable().expect("off");
    // What was written until then may come only with a later look.
    let off_ns = monotonic_ns();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(20));
        seen.drain(&mut watch);
    }
    assert!(seen.latest_switch_ns <= off_ns, "{} ns after", seen.latest_switch_ns - off_ns);
    watch.enable().expect("on");
    let mut on = Seen::default();
    while has_switches && on.ins.is_empty() {
        watch.wait(Duration::from_millis(5));
        on.drain(&mut watch);
    }
    child.kill().expect("it runs");
    child.wait().expect("its end");
}

#[test]
fn a_running_process_is_recorded_with_all_its_threads() {
    let mut child = command(Task::UntilKilled).spawn().expect("a program");
    let pid = Pid(child.id());
    let processes = Processes::here();
    while processes.threads(pid).expect("threads").len() < 4 {
        std::thread::yield_now();
    }
    if let Some(mut watch) = over_process(pid, Wanted::default()) {
        let mut before = Seen::default();
        before.drain(&mut watch);
        assert_eq!(before.drained.records, 0, "it is not switched on");
        watch.enable().expect("on");
        if watch.refused().iter().all(|(kind, _)| *kind != Kind::Switches) {
            let mut seen = Seen::default();
            // Two threads switch all the time, and one starts others.
            while seen.ins.values().filter(|ins| **ins > 50).count() < 3 || seen.forks.len() < 10 {
                watch.wait(Duration::from_millis(5));
                seen.drain(&mut watch);
            }
            seen.is_readable();
            assert_eq!(seen.pids.iter().filter(|seen| seen.0 != u32::MAX).collect::<Vec<_>>(), [&pid]);
            // A record is late if its writer was interrupted just then.
            println!("{} of {} records are late", seen.late, seen.drained.records);
            let total = seen.completeness.total();
            println!("switches: {total:?}");
            assert_eq!((total.missing_ins, total.missing_outs), (0, 0));
        }
        // Twice, so that what is opened again is closed again.
        for _ in 0..2 {
            let mut rest = Seen::default();
            watch.suspend(|event| rest.take(&event));
            assert_eq!(watch.wait(Duration::from_millis(5)), Waited::Go);
            assert_eq!(watch.drain(|_| {}).records, 0);
            watch.resume(&Linux, [pid, Pid(u32::MAX >> 2)]).expect("on again");
            let mut again = Seen::default();
            while again.forks.len() < 3 {
                watch.wait(Duration::from_millis(5));
                again.drain(&mut watch);
            }
            again.is_readable();
        }
    }
    assert_eq!(child.try_wait().expect("a status"), None, "it was not disturbed");
    child.kill().expect("it runs");
    child.wait().expect("its end");
}

#[test]
fn processors_are_sampled_while_threads_are_not_watched() {
    let mut child = command(Task::UntilKilled).spawn().expect("a program");
    let pid = Pid(child.id());
    if let Some(mut watch) = over_process(pid, Wanted::default()) {
        watch.enable().expect("on");
        assert!(!watch.sample_processors(&Linux), "threads are watched");
        watch.suspend(|_| {});
        if watch.sample_processors(&Linux) {
            assert!(!watch.sample_processors(&Linux), "they are already");
            for _ in 0..2 {
                let mut samples = 0;
                while samples < 20 {
                    assert_eq!(watch.wait(Duration::from_millis(5)), Waited::Go);
                    watch.drain(|event| match event.what {
                        What::Sample(sample) => {
                            samples += u32::from(event.pid == pid && sample.weight_ns > 0)
                        }
                        What::Throttle { .. } | What::Lost { .. } => {}
                        ref other => panic!("{other:?} while nothing else is watched"),
                    });
                }
                watch.resume(&Linux, [pid]).expect("on again");
                let mut seen = Seen::default();
                while seen.forks.len() < 3 || seen.samples < 3 {
                    watch.wait(Duration::from_millis(5));
                    seen.drain(&mut watch);
                }
                seen.is_readable();
                watch.suspend(|_| {});
            }
            watch.resume(&Linux, [pid]).expect("on again");
            child.kill().expect("it runs");
            child.wait().expect("its end");
            while watch.wait(Duration::from_millis(5)) != Waited::Ended {
                watch.drain(|_| {});
            }
        } else {
            println!("skipped: processors may not be sampled here");
        }
    }
    let _ended = child.kill();
    child.wait().expect("its end");
}

#[test]
fn the_end_of_a_running_process_is_noticed() {
    let mut child = command(Task::UntilKilled).spawn().expect("a program");
    if let Some(mut watch) = over_process(Pid(child.id()), Wanted::default()) {
        watch.enable().expect("on");
        child.kill().expect("it runs");
        child.wait().expect("its end");
        let seen = Seen::until_the_end(&mut watch);
        assert!(!seen.exits.is_empty());
    }
    let _ended = child.kill();
    child.wait().expect("its end");
}

#[test]
fn there_may_be_no_such_process() {
    let error =
        Watch::over_process(&Linux, Pid(u32::MAX >> 2), Wanted::default()).expect_err("there is none");
    println!("{error}");
    assert!(matches!(
        error,
        holdup_kernel::KernelError::NoProcess { .. } | holdup_kernel::KernelError::Refused { .. }
    ));
}
