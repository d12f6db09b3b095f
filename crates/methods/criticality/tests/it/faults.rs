//! Memory that goes back to the kernel and comes again, by what samples in the kernel and the process's own figures say.

use holdup_criticality::{Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::{Doing, InKernel, Nanos, Placement, Process, Run, Sample, ThreadId, Time, Usage};
use holdup_testkit::{Op, Script};

use crate::waiting::stack;

const MS: u64 = 1_000_000;
/// The sampling period.
const PERIOD: u64 = 5 * MS;
const MIB: u64 = 1 << 20;

/// What a thread is found at in each period from one time to another (ms).
type Found<'a> = (u64, u64, Option<InKernel>, &'a [&'a str]);

/// Two threads that work for 400 ms and are found at these places, of a process that used this.
fn cleaned(found: &[Found<'_>], usage: Option<Usage>) -> Diagnosis {
    cleaned_with(found, usage, |_| ())
}

fn cleaned_with(found: &[Found<'_>], usage: Option<Usage>, change: impl Fn(&mut Run)) -> Diagnosis {
    let mut script = Script::new();
    let worker = script.thread("worker", vec![Op::Work(400 * MS)]);
    let join = script.site("main", 9);
    script.main_does(&[Op::Start(worker), Op::Work(400 * MS), Op::Join(worker, join)]);
    let mut process = script.play();
    for &(from, until, in_kernel, functions) in found {
        let site = Some(stack(&mut process, functions));
        for time in (from * MS + PERIOD..=until * MS).step_by(PERIOD as usize) {
            process.samples.extend([0, 1].map(|thread| Sample {
                thread: ThreadId::new(thread),
                time: Time::from_nanos(time),
                doing: Doing::Running,
                site,
                weight: Nanos::new(PERIOD),
                access: None,
                in_kernel,
            }));
        }
    }
    let mut run = Run { processes: vec![process], cores: 2, ..Run::default() };
    run.environment.placements = vec![Placement { usage, ..Placement::default() }];
    change(&mut run);
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Default::default());
    diagnosis
}

/// So much memory was given, and there was so much at once (MiB).
fn used(given: u64, most: u64) -> Option<Usage> {
    let (user, system) = (Nanos::new(400 * MS), Nanos::new(360 * MS));
    Some(Usage { user, system, faults: given * MIB / 4096, most_memory: most * MIB })
}

fn faults(diagnosis: &Diagnosis) -> Option<&Finding> {
    diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Faults)
}

const FILL: Found<'_> = (0, 200, Some(InKernel::Fault), &["clean_page@app", "main@app"]);
const COPY: Found<'_> = (
    200,
    240,
    Some(InKernel::Fault),
    &["__memmove_avx_unaligned_erms@libc.so.6", "keep_page@app", "main@app"],
);
const GIVE_BACK: Found<'_> =
    (240, 280, Some(InKernel::Call), &["__munmap@libc.so.6", "free@libc.so.6", "drop_page@app", "main@app"]);
const READ: Found<'_> = (280, 320, Some(InKernel::Call), &["__read@libc.so.6", "load_page@app", "main@app"]);
const COMPUTE: Found<'_> = (320, 400, None, &["blur@app", "main@app"]);
const ALL: [Found<'_>; 5] = [FILL, COPY, GIVE_BACK, READ, COMPUTE];

#[test]
fn memory_that_comes_again_is_found_where_it_is_touched() {
    let diagnosis = cleaned(&ALL, used(4000, 400));
    let finding = faults(&diagnosis).expect("280 of 400 ms");
    assert_eq!(finding.what, "page faults, mostly in clean_page (main.c:33)");
    assert_eq!(finding.threads.len(), 2);
    assert_eq!(
        finding.evidence,
        [
            "In 760 ms of CPU time the kernel gave it 1 024 000 pages (3.9 GiB), of which it had 400 MiB at most: what it frees \
             goes back, and comes again page by page.",
            "Page faults take 480 ms: 83 % in clean_page (main.c:33), 17 % in keep_page (main.c:33).",
            "Calls that map and unmap memory take 80.0 ms: 100 % in drop_page (main.c:33).",
        ]
    );
    assert!(finding.hint.contains("MALLOC_TRIM_THRESHOLD_"), "{}", finding.hint);
    // A tenth of it comes for the first time; two threads are at it at once.
    assert_eq!(finding.cost, Nanos::new(252 * MS));
    let gain = finding.gain.as_ref().expect("what keeping it gives");
    assert_eq!(gain.time, Nanos::new(277_200_000));
    assert_eq!((gain.low, gain.high), (Nanos::new(189 * MS), diagnosis.wall));
    // It is work: nothing is lost to it.
    assert!((diagnosis.efficiency - 1.0).abs() < 1e-3, "{}", diagnosis.efficiency);
}

#[test]
fn what_comes_once_or_is_not_given_back_is_no_finding() {
    // Most of it comes for the first time.
    assert_eq!(faults(&cleaned(&ALL, used(700, 400))), None);
    // It is not known how much came.
    assert_eq!(faults(&cleaned(&ALL, None)), None);
    // Nothing is given back: these are pages that a fork made two of.
    assert_eq!(faults(&cleaned(&[FILL, COPY, READ, COMPUTE], used(4000, 400))), None);
    // Hardly any samples.
    let few = (0, 20, Some(InKernel::Fault), &["clean_page@app"][..]);
    assert_eq!(faults(&cleaned(&[few, GIVE_BACK], used(4000, 400))), None);
}

#[test]
fn another_allocator_has_no_variables_of_glibc() {
    let give_back =
        (240, 280, Some(InKernel::Call), &["__madvise@libc.so.6", "arena_decay@libjemalloc.so.2"][..]);
    let diagnosis = cleaned(&[FILL, give_back], used(4000, 400));
    let hint = &faults(&diagnosis).expect("it is found").hint;
    assert!(hint.starts_with("Keep the memory and use it again") && !hint.contains("MALLOC_"), "{hint}");
}

#[test]
fn without_samples_in_the_kernel_it_is_as_many_as_take_so_long() {
    let own = [(0, 400, None, &["clean_page@app", "main@app"][..])];
    let each = |run: &mut Run| run.environment.page_fault = Some(Nanos::new(300));
    let diagnosis = cleaned_with(&own, used(4000, 400), each);
    let finding = faults(&diagnosis).expect("1 024 000 faults");
    assert_eq!((finding.what.as_str(), finding.place), ("page faults", None));
    let said = "That takes 300 ns a page on this machine when nothing else runs, and the kernel was at work for 47 % of its CPU time; where \
                it is, samples of the kernel would say (holdup as root).";
    assert_eq!(finding.evidence[1], said);
    assert!(finding.hint.contains("MALLOC_TRIM_THRESHOLD_"), "{}", finding.hint);
    // 307.2 ms in the 760 ms of CPU time until it was looked at; in all it were 800. A tenth comes for the first time.
    let expected = 307_200_000.0 * 800.0 / 760.0 * 0.9 / 2.0;
    assert!((finding.cost.get() as f64 - expected).abs() < 1e3, "{} {expected}", finding.cost);
    // No longer than the kernel was at work.
    let slow = |run: &mut Run| run.environment.page_fault = Some(Nanos::new(10_000));
    let most = 360e6 * 800.0 / 760.0 * 0.9 / 2.0;
    let finding = cleaned_with(&own, used(4000, 400), slow).findings.remove(0);
    assert!((finding.cost.get() as f64 - most).abs() < 1e3, "{} {most}", finding.cost);
    // It is not known how long one takes; most comes for the first time; or other processes were forked.
    assert_eq!(faults(&cleaned(&own, used(4000, 400))), None);
    assert_eq!(faults(&cleaned_with(&own, used(700, 400), each)), None);
    let forks = |run: &mut Run| {
        each(run);
        let child = Process { pid: 7, ..run.processes[0].clone() };
        run.processes.push(child);
    };
    assert_eq!(faults(&cleaned_with(&own, used(4000, 400), forks)), None);
}
