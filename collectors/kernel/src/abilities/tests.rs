use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::*;

const FORMAT: &str = "name: sched_waking\nID: 375\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\n\
                      \tfield:pid_t pid;\toffset:24;\tsize:4;\n";

/// A machine that exists in this test only.
struct Fake {
    files: BTreeMap<&'static str, Result<String, i32>>,
    /// The error with which an event is refused.
    refuse: fn(&Attributes) -> Option<i32>,
}

impl System for Fake {
    fn open(&self, attributes: &Attributes, _: Target, _: Cpu) -> io::Result<OwnedFd> {
        match (self.refuse)(attributes) {
            Some(error) => Err(io::Error::from_raw_os_error(error)),
            None => Ok(File::open("/dev/null")?.into()),
        }
    }

    fn read(&self, path: &str) -> io::Result<String> {
        match self.files.get(path) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(error)) => Err(io::Error::from_raw_os_error(*error)),
            None => Err(io::Error::from_raw_os_error(libc::ENOENT)),
        }
    }

    fn link(&self, path: &str) -> io::Result<PathBuf> {
        self.read(path).map(PathBuf::from)
    }
}

impl Fake {
    fn new(refuse: fn(&Attributes) -> Option<i32>) -> Fake {
        Fake { files: BTreeMap::new(), refuse }
            .with("sys/devices/system/cpu/online", "0-1\n")
            .with("proc/self/ns/pid", "pid:[4026531836]")
            .with("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
            .with("proc/self/status", "Name:\tholdup\nCapEff:\t0000000000000000\nSeccomp:\t0\n")
            .with("sys/kernel/tracing/events/sched/sched_waking/format", FORMAT)
    }

    fn with(mut self, path: &'static str, text: &str) -> Fake {
        self.files.insert(path, Ok(text.to_owned()));
        self
    }

    fn without(mut self, path: &'static str, error: i32) -> Fake {
        self.files.insert(path, Err(error));
        self
    }

    fn paranoid(self, value: i32) -> Fake {
        self.with("proc/sys/kernel/perf_event_paranoid", &format!("{value}\n"))
            .without("sys/kernel/tracing/events/sched/sched_waking/format", libc::EACCES)
    }
}

fn cause(ability: &Result<(), Refusal>) -> (&Cause, Option<&str>) {
    let refusal = ability.as_ref().expect_err("it is refused");
    (&refusal.cause, refusal.remedy.as_deref())
}

#[test]
fn root_may_do_everything() {
    let abilities = Abilities::of(&Fake::new(|_| None));
    let all = [
        &abilities.tasks,
        &abilities.switches,
        &abilities.preemption,
        &abilities.samples,
        &abilities.kernel_samples,
        &abilities.wakings,
        &abilities.blocked_of_started,
        &abilities.blocked_of_running,
    ];
    assert!(all.into_iter().all(Result::is_ok), "{abilities:?}");
    assert_eq!(abilities.waking_layout().map(|layout| layout.id), Some(375));
}

#[test]
fn at_paranoid_2_the_kernel_is_left_out() {
    let abilities = Abilities::of(&Fake::new(|event| event.kernel.then_some(libc::EACCES)).paranoid(2));
    assert_eq!((&abilities.tasks, &abilities.switches, &abilities.samples), (&Ok(()), &Ok(()), &Ok(())));
    let expected = (&Cause::Paranoid { value: 2 }, Some("sysctl kernel.perf_event_paranoid=1"));
    assert_eq!(cause(&abilities.kernel_samples), expected);
    let (wakings, remedy) = cause(&abilities.wakings);
    assert!(
        matches!(wakings, Cause::NoTracepoints { error } if error.contains("ermission denied")),
        "{wakings:?}"
    );
    assert_eq!(remedy, Some("sudo holdup …"));
}

#[test]
fn at_paranoid_3_nothing_is_left() {
    let abilities = Abilities::of(&Fake::new(|_| Some(libc::EACCES)).paranoid(3));
    let expected = (&Cause::Paranoid { value: 3 }, Some("sysctl kernel.perf_event_paranoid=2"));
    assert_eq!(cause(&abilities.tasks), expected);
    assert_eq!(cause(&abilities.switches), expected);
    assert_eq!(cause(&abilities.samples), expected);
    assert_eq!(
        abilities.tasks.as_ref().map_err(ToString::to_string),
        Err("kernel.perf_event_paranoid is 3 and this user has no CAP_PERFMON".to_owned())
    );
}

#[test]
fn a_security_module_may_refuse_what_is_allowed() {
    let abilities = Abilities::of(&Fake::new(|_| Some(libc::EACCES)).paranoid(1));
    assert_eq!(cause(&abilities.tasks), (&Cause::SecurityModule, None));
}

#[test]
fn a_container_filters_the_call() {
    for error in [|_: &Attributes| Some(libc::EPERM), |_: &Attributes| Some(libc::ENOSYS)] {
        let container = Fake::new(error)
            .with("proc/sys/kernel/perf_event_paranoid", "2\n")
            .with("proc/self/status", "CapEff:\t00000000a80425fb\nSeccomp:\t2\n");
        let abilities = Abilities::of(&container);
        let remedy = Some("--cap-add PERFMON --security-opt seccomp=unconfined");
        assert_eq!(cause(&abilities.tasks), (&Cause::Seccomp, remedy));
    }
}

#[test]
fn old_kernels_have_less() {
    let refuse = |event: &Attributes| (event.kind == Kind::Switches).then_some(libc::EINVAL);
    let abilities = Abilities::of(&Fake::new(refuse).with("proc/sys/kernel/osrelease", "4.1.13\n"));
    assert_eq!((&abilities.tasks, &abilities.samples), (&Ok(()), &Ok(())));
    let old = |since| Cause::OldKernel { release: "4.1.13".to_owned(), since };
    assert_eq!(cause(&abilities.switches), (&old("4.3"), None));
    assert_eq!(cause(&abilities.preemption), (&old("4.17"), None));
    let new = Abilities::of(&Fake::new(refuse));
    assert!(matches!(cause(&new.switches), (Cause::Other { .. }, None)), "{new:?}");
}

#[test]
fn a_kernel_may_have_no_events() {
    let abilities = Abilities::of(&Fake::new(|_| Some(libc::ENOSYS)));
    assert_eq!(cause(&abilities.tasks), (&Cause::NoEvents, None));
}

#[test]
fn tracefs_may_not_be_mounted() {
    let file = "sys/kernel/tracing/events/sched/sched_waking/format";
    let unmounted = Fake::new(|_| None).without(file, libc::ENOENT);
    let (cause_of, remedy) =
        (Abilities::of(&unmounted).wakings, "mount -t tracefs tracefs /sys/kernel/tracing");
    assert!(matches!(cause(&cause_of), (Cause::NoTracepoints { .. }, Some(command)) if command == remedy));
    let older = unmounted.with("sys/kernel/debug/tracing/events/sched/sched_waking/format", FORMAT);
    assert_eq!(Abilities::of(&older).wakings, Ok(()));
}

#[test]
fn wakings_are_refused_where_numbers_differ() {
    let container = Fake::new(|_| None).with("proc/self/ns/pid", "pid:[4026532300]");
    assert_eq!(cause(&Abilities::of(&container).wakings), (&Cause::ForeignNumbers, Some("--pid=host")));
}

#[test]
fn yama_restricts_whose_stacks_can_be_read() {
    let at = |scope: &str, capabilities: &str| {
        let machine = Fake::new(|_| None)
            .with("proc/sys/kernel/yama/ptrace_scope", scope)
            .with("proc/self/status", &format!("CapEff:\t{capabilities}\n"));
        let abilities = Abilities::of(&machine);
        (abilities.blocked_of_started.is_ok(), abilities.blocked_of_running.is_ok())
    };
    let (none, all) = ("0000000000000000", "000001ffffffffff");
    assert_eq!(at("0", none), (true, true));
    assert_eq!(at("1", none), (true, false));
    assert_eq!(at("2", none), (false, false));
    assert_eq!(at("1", all), (true, true));
    assert_eq!(at("3", all), (false, false));
}
