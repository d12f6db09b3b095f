//! Runs to export.

use std::collections::BTreeMap;

use holdup_model::{
    Doing, Frame, Marker, MarkerKind, Nanos, ObjectKind, Process, Run, Sample, Site, State, ThreadId, Time,
    Timeline,
};
use holdup_testkit::{Op, Script, any_process, any_script};
use proptest::prelude::*;

/// A run of these processes, which begins with the first of them.
pub(crate) fn run_of(processes: Vec<Process>) -> Run {
    let start = processes.iter().map(|process| process.start).min().unwrap_or_default();
    let end = processes.iter().map(|process| process.end).max().unwrap_or_default();
    Run { start, end, processes, cores: 2, command: vec!["app".to_owned()], ..Run::default() }
}

/// Any run: processes that may be impossible, and programs that end.
pub(crate) fn any_run() -> impl Strategy<Value = Run> {
    let script = any_script().prop_map(|script| {
        let mut process = script.play_on(2, 700);
        look_at(&mut process);
        process
    });
    prop_oneof![
        any_process().prop_map(|process| run_of(vec![process])),
        (any_process(), script).prop_map(|(first, second)| run_of(vec![first, second])),
    ]
}

/// Looks at every thread of a process now and then.
pub(crate) fn look_at(process: &mut Process) {
    let frame = |function: &str, line| Frame {
        function: Some(function.to_owned()),
        file: Some("/src/work.c".to_owned()),
        line: Some(line),
        module: Some("app".to_owned()),
        address: u64::from(line),
        ..Frame::default()
    };
    let inner = Frame { inlined: true, ..frame("inner", 9) };
    let sites = [
        Site { frames: vec![inner, frame("work", 7), frame("main", 2)], ..Site::default() },
        Site { frames: vec![frame("rest", 3)], broken: true, ..Site::default() },
    ]
    .map(|site| process.add_site(site));
    let period = 300;
    let times = (process.start.nanos()..process.end.nanos()).step_by(period as usize).skip(1);
    let threads = process.threads.len();
    process.samples = times
        .enumerate()
        .map(|(index, time)| Sample {
            thread: ThreadId::new((index % threads) as u32),
            time: Time::from_nanos(time),
            doing: Doing::Running,
            site: Some(sites[index / threads % 2]),
            weight: Nanos::new(period),
            access: None,
            in_kernel: None,
        })
        .collect();
}

/// What a name can do to a reader: end a field, begin a formula, a tag or an escape sequence, turn the direction.
pub(crate) const HOSTILE: &str = "=1;\"a\",<script>\r\n\u{1b}[2J\u{202e}\0";

/// Three workers and a lock, everything with a hostile name; one of them says something about itself.
pub(crate) fn hostile() -> Run {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, HOSTILE);
    let site = script.site(HOSTILE, 12);
    let ops =
        [Op::Work(400), Op::Lock(lock, site), Op::Work(3_000_000), Op::Unlock(lock), Op::Sleep(90, site)];
    let threads: Vec<ThreadId> = (0..3).map(|_| script.thread(HOSTILE, ops.to_vec())).collect();
    script.main_runs(&threads);
    let mut process = script.play();
    process.pid = 77;
    process.command = vec![format!("/bin/{HOSTILE}"), HOSTILE.to_owned()];
    for frame in process.sites.iter_mut().flat_map(|site| &mut site.frames) {
        frame.file = Some(HOSTILE.to_owned());
        frame.module = Some(HOSTILE.to_owned());
    }
    for kind in [MarkerKind::RegionBegin, MarkerKind::Phase, MarkerKind::WorkEnd, MarkerKind::RegionEnd] {
        let time = process.start + Nanos::new(5 + kind as u64);
        process.markers.push(Marker { thread: threads[0], time, kind, label: Some(HOSTILE.to_owned()) });
    }
    look_at(&mut process);
    run_of(vec![process])
}

/// A run in which nothing was recorded.
pub(crate) fn empty() -> Run {
    run_of(Vec::new())
}

/// The time in each state (ns), by thread.
pub(crate) fn times(process: &Process) -> Vec<BTreeMap<State, u64>> {
    let timeline = Timeline::build(process);
    let row = |row: &holdup_model::Row| {
        let mut sums = BTreeMap::new();
        for segment in &row.segments {
            *sums.entry(segment.state).or_default() += segment.length().get();
        }
        sums
    };
    timeline.threads.iter().map(row).collect()
}

/// Nothing in a text for people is a control character or turns the direction.
pub(crate) fn assert_shown_safely(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
}
