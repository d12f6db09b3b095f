//! The words for changes.

use holdup_model::names::Names;
use holdup_model::selector::quoted;
use holdup_model::{Doing, Ends, Nanos, ObjectId, ObjectKind, Process, Sample, SiteId, ThreadId, Time};
use holdup_replay::{
    Change, ExpressionError, LockChange, PauseKind, Sorts, object_name, parse, sweep, thread_name,
};
use holdup_testkit::{Op, Script};
use proptest::prelude::*;

/// Two locks, a barrier, a semaphore; two workers and a writer.
fn process() -> Process {
    let mut script = Script::new();
    script.object(ObjectKind::Mutex, "table_lock");
    script.object(ObjectKind::Mutex, "tables, all");
    script.barrier("round_done", 2);
    script.semaphore("places", 1);
    let workers = [1, 2].map(|length| script.thread("worker", vec![Op::Work(length)]));
    let writer = script.thread("writer", vec![Op::Work(1)]);
    script.main_runs(&[workers[0], workers[1], writer]);
    let site = script.site("hash", 42);
    let mut process = script.play();
    process.samples.push(Sample {
        thread: workers[0],
        time: Time::from_nanos(1),
        doing: Doing::Running,
        site: Some(site),
        weight: Nanos::new(1),
        access: None,
        in_kernel: None,
    });
    process
}

fn object(process: &Process, name: &str) -> ObjectId {
    let index = process.objects.iter().position(|object| object.name.as_deref() == Some(name));
    ObjectId::new(index.expect("it is there") as u32)
}

fn changes(text: &str) -> Vec<Change> {
    let points = parse(text, &process()).expect(text);
    assert_eq!((points.len(), points[0].at), (1, None), "{text}");
    points.into_iter().next().map(|point| point.changes).unwrap_or_default()
}

fn refused(text: &str) -> String {
    let error = parse(text, &process()).expect_err(text).to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn every_form() {
    let process = process();
    let [table, round, places] = ["table_lock", "round_done", "places"].map(|name| object(&process, name));
    let workers = vec![ThreadId::new(1), ThreadId::new(2)];
    let site = SiteId::new(process.sites.len() as u32 - 1);
    let forms = [
        ("lock:table_lock=0", Change::Lock(table, LockChange::Free)),
        ("lock:table_lock/4", Change::Lock(table, LockChange::Shorter(4.0))),
        ("lock:table_lock/1.5", Change::Lock(table, LockChange::Shorter(1.5))),
        ("lock:table_lock split 8", Change::Lock(table, LockChange::Split(8))),
        ("lock:#0=0", Change::Lock(table, LockChange::Free)),
        ("barrier:round_done=balanced", Change::BalancedBarrier(round)),
        ("barrier:round_done=0", Change::Free(round)),
        ("object:places=0", Change::Free(places)),
        ("site:hash/2", Change::FasterCode(vec![site], 2.0)),
        ("site:main.c:42/2", Change::FasterCode(vec![site], 2.0)),
        ("site:'/src/main.c:42'/2", Change::FasterCode(vec![site], 2.0)),
        ("thread:worker/2", Change::Faster(workers.clone(), 2.0)),
        ("thread:'worker 1'/2", Change::Faster(vec![ThreadId::new(1)], 2.0)),
        ("threads:worker=balanced", Change::BalancedThreads(workers.clone())),
        ("alone:main/4", Change::Spread(vec![ThreadId::new(0)], None, 4.0)),
        ("stage:worker*3", Change::Stage(workers.clone(), 3)),
        ("stage:writer*2", Change::Stage(vec![ThreadId::new(3)], 2)),
        ("threads:worker=3", Change::Threads(workers.clone(), 3)),
        ("threads=8", Change::Threads(workers.clone(), 8)),
        ("cores=16", Change::Cores(16)),
        ("io/2", Change::Shorter(PauseKind::Io, None, 2.0)),
        ("io=0", Change::Shorter(PauseKind::Io, None, f64::INFINITY)),
        ("sleep/2", Change::Shorter(PauseKind::Sleep, None, 2.0)),
        ("sleep=0", Change::Shorter(PauseKind::Sleep, None, f64::INFINITY)),
        ("wakeup=0", Change::FreeWakeUps),
        ("load=0", Change::WithoutLoad),
        ("wakeup:places=0", Change::InstantWakeUps(places)),
    ];
    for (text, change) in forms {
        assert_eq!(changes(text), std::slice::from_ref(&change), "{text}");
        assert_eq!(changes(&format!("  {text} , cores = 2")), [change, Change::Cores(2)], "{text}");
    }
}

#[test]
fn names_in_part_and_in_quotes() {
    let process = process();
    let [table, tables] = ["table_lock", "tables, all"].map(|name| object(&process, name));
    assert_eq!(changes("lock:table_/2"), [Change::Lock(table, LockChange::Shorter(2.0))]);
    assert_eq!(changes("lock:all/2"), [Change::Lock(tables, LockChange::Shorter(2.0))]);
    let quoted = "lock:'tables, all'=0,lock:'table_lock' split 2";
    assert_eq!(
        changes(quoted),
        [Change::Lock(tables, LockChange::Free), Change::Lock(table, LockChange::Split(2))]
    );
    // Several by a pattern, which has to match a whole name.
    let free = |lock| Change::Lock(lock, LockChange::Free);
    assert_eq!(changes("lock:table*=0"), [free(table), free(tables)]);
    assert_eq!(changes("lock:*_l?ck=0"), [free(table)]);
    assert!(refused("lock:tabl?=0").starts_with("no lock is named \"tabl?\""));
    assert!(refused("lock:'table*'=0").starts_with("no lock is named \"table*\""));
    // The beginning of two names.
    assert_eq!(
        refused("lock:table=0"),
        "no lock is named \"table\" in this recording; there are: table_lock, 'tables, all'"
    );
}

#[test]
fn a_range_is_a_sweep() {
    let process = process();
    let points = |text: &str| parse(text, &process).expect(text);
    let cores = points("cores=1..4");
    assert_eq!(cores.iter().map(|point| point.at).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0].map(Some));
    assert_eq!(cores[2].expression, "cores=3");
    assert_eq!(cores[2].changes, [Change::Cores(3)]);
    let shorter = points("lock:table_lock/1..16");
    assert_eq!(shorter.len(), 10);
    assert_eq!((shorter[0].at, shorter[9].at), (Some(1.0), Some(16.0)));
    assert_eq!(shorter[9].expression, "lock:table_lock/16");
    assert!(shorter.windows(2).all(|pair| pair[0].at < pair[1].at));
    // Many whole numbers: some of them, each once.
    let threads = points("threads=1..1000");
    assert!(threads.len() <= 20 && threads.windows(2).all(|pair| pair[0].at < pair[1].at));
    assert!(threads.iter().all(|point| point.at.is_some_and(|at| at.fract() == 0.0)));
    assert_eq!(threads.last().and_then(|last| last.at), Some(1000.0));
    // One size for both, beside a change without one.
    let both = points("threads:worker=2..3, lock:table_lock=0, cores = 2..3");
    assert_eq!(both[1].expression, "threads:worker=3,lock:table_lock=0,cores = 3");
    assert_eq!(both[1].changes.len(), 3);
    assert_eq!(points("lock:table_lock split 2..3")[1].expression, "lock:table_lock split 3");
    assert_eq!(
        refused("cores=1..4,threads=1..8"),
        "`threads=1..8`: all changes of a sweep have the same range"
    );
}

#[test]
fn a_sweep_gets_a_range() {
    for (text, swept) in [
        ("lock:a", "lock:a/1..16"),
        ("lock:'a = b split c'", "lock:'a = b split c'/1..16"),
        ("lock:a/2..3", "lock:a/2..3"),
        ("lock:a split 1..8", "lock:a split 1..8"),
        (" cores ", "cores=1..16"),
        ("threads:worker", "threads:worker=1..16"),
        ("stage:worker", "stage:worker*1..4"),
        ("thread:worker", "thread:worker/1..16"),
    ] {
        assert_eq!(sweep(text), swept);
    }
}

#[test]
fn what_is_no_change() {
    for text in [
        "",
        " , ",
        "lock",
        "lock:table_lock",
        "lock:table_lock=balanced",
        "lock:table_lock*2",
        "lock=0",
        "barrier:round_done/2",
        "object:places/2",
        "sites:hash/2",
        "cores/2",
        "cores:table_lock=2",
        "io:table_lock*2",
        "wakeup/2",
        "lock:'table_lock=0",
        "lock:table_lock'=0",
        "lock:'table'lock'=0",
        "lock:'x split y'",
    ] {
        let error = parse(text, &process()).expect_err(text);
        assert!(matches!(error, ExpressionError::Form { .. }), "{text}: {error}");
    }
    assert_eq!(
        refused("lock:table_lock"),
        "`lock:table_lock` is no change; write such as lock:NAME=0, lock:NAME/4, site:FUNCTION/2, thread:NAME/2, \
         barrier:NAME=balanced, stage:NAME*2, cores=8, threads=8"
    );
}

#[test]
fn numbers_that_make_no_sense() {
    for text in
        ["cores=0", "cores=1.5", "cores=-1", "cores=many", "cores=65537", "stage:worker*0", "lock:#0 split 0"]
    {
        assert_eq!(refused(text), format!("`{text}`: give a whole number from 1 to 65536"));
    }
    for text in [
        "lock:#0/1e-4",
        "lock:#0/1e10",
        "lock:#0/0",
        "lock:#0/-2",
        "lock:#0/nan",
        "lock:#0/inf",
        "lock:#0/",
        "io/much",
        "lock:#0/4..1",
    ] {
        let error = refused(text);
        assert_eq!(
            error,
            format!("`{text}`: give how many times less or faster: a number above 0 (0.001 to 1000000000)")
        );
    }
}

/// Of what a name means, only what waits there becomes shorter.
#[test]
fn io_at_one_place() {
    let mut script = Script::new();
    let [input, output] =
        [("read_input", 10), ("write_output", 20)].map(|(name, line)| script.site(name, line));
    let worker = script.thread("worker", vec![Op::Read(5, input), Op::Sleep(7, input), Op::Read(9, output)]);
    script.main_runs(&[worker]);
    let process = script.play();
    let changes = |text: &str| parse(text, &process).map(|points| points[0].changes.clone());
    let at = |kind, site, times| Ok(vec![Change::Shorter(kind, Some(vec![site]), times)]);
    assert_eq!(changes("io:main.c:10=0"), at(PauseKind::Io, input, f64::INFINITY));
    assert_eq!(changes("io:'/src/main.c:20'/2"), at(PauseKind::Io, output, 2.0));
    assert_eq!(changes("io:write_output/2"), at(PauseKind::Io, output, 2.0));
    assert_eq!(changes("sleep:read_input=0"), at(PauseKind::Sleep, input, f64::INFINITY));
    let error = changes("sleep:write_output=0").expect_err("nobody sleeps there");
    let told = "no place that sleeps is named \"write_output\" in this recording; did you mean main.c:10?";
    assert!(error.to_string().starts_with(&told[..52]), "{error}");
}

/// Of what one does alone, only what lies between calls at these places.
#[test]
fn alone_between_two_places() {
    let mut script = Script::new();
    let [first, last] = [("fork", 10), ("join all", 20)].map(|(name, line)| script.site(name, line));
    let worker = script.thread("worker", vec![Op::Read(5, first), Op::Read(9, last)]);
    script.main_runs(&[worker]);
    let process = script.play();
    let changes = |text: &str| parse(text, &process).map(|points| points[0].changes.clone());
    let until = |from, to, at_barrier| {
        let ends = Ends { from, to, at_barrier };
        Ok(vec![Change::Spread(vec![ThreadId::new(0)], Some(vec![ends]), 2.0)])
    };
    let spread = |from, to| until(from, to, false);
    assert_eq!(changes("alone:main@main.c:10..main.c:20/2"), spread(Some(first), Some(last)));
    assert_eq!(changes("alone:main@fork..'join all'/2"), spread(Some(first), Some(last)));
    assert_eq!(changes("alone:main@..'join all'/2"), spread(None, Some(last)));
    assert_eq!(changes("alone:main@fork../2"), spread(Some(first), None));
    assert_eq!(changes("alone:main@../2"), spread(None, None));
    assert_eq!(changes("alone:main@fork..|'join all'/2"), until(Some(first), Some(last), true));
    assert_eq!(changes("alone:main@fork..|/2"), until(Some(first), None, true));
    // One pass over the recording finds all stretches.
    let at_barrier = false;
    let from = Ends { from: Some(first), to: None, at_barrier };
    let to = Ends { from: None, to: Some(last), at_barrier };
    let both = Change::Spread(vec![ThreadId::new(0)], Some(vec![from, to]), 2.0);
    assert_eq!(changes("alone:main@fork../2,alone:main@..'join all'/2"), Ok(vec![both]));
    let different = changes("alone:main@fork../2,alone:main@..'join all'/3").map(|changes| changes.len());
    assert_eq!(different, Ok(2));
    assert_eq!(parse("alone:main@fork../1..4", &process).map(|points| points.len()), Ok(10));
    for text in ["alone:main@fork/2", "thread:main@fork../2", "alone:main@fork..", "alone:main@'fork../2"] {
        assert!(matches!(changes(text), Err(ExpressionError::Form { .. })), "{text}");
    }
    let error = changes("alone:main@sort../2").expect_err("it is not called").to_string();
    assert!(error.starts_with("no place is named \"sort\" in this recording"), "{error}");
}

#[test]
fn too_many_threads() {
    for text in ["threads=1025", "threads:worker=65536", "stage:worker*1025"] {
        assert_eq!(refused(text), format!("`{text}`: give a whole number from 1 to 1024"));
    }
}

#[test]
fn names_that_there_are_not() {
    assert_eq!(
        refused("lock:tabel_lock=0"),
        "no lock is named \"tabel_lock\" in this recording; there are: table_lock, 'tables, all'"
    );
    assert_eq!(
        refused("barrier:table_lock=0"),
        "no barrier is named \"table_lock\" in this recording; there are: round_done"
    );
    assert_eq!(
        refused("site:sort/2"),
        "no function or line (with samples) is named \"sort\" in this recording; there are: hash"
    );
    assert_eq!(
        refused("lock:=0"),
        "no lock is named \"\" in this recording; there are: table_lock, 'tables, all'"
    );
    let nothing = Script::new().play();
    let error = parse("lock:a=0", &nothing).expect_err("there is no lock").to_string();
    assert_eq!(error, "no lock is named \"a\" in this recording; there is none");
}

#[test]
fn threads_that_do_the_same_are_found_once() {
    let mut process = process();
    let [main, one, other, writer] = [0, 1, 2, 3].map(ThreadId::new);
    let sorts = Sorts::of(&process);
    assert_eq!(sorts.like(main), [main]);
    assert_eq!((sorts.like(one), sorts.like(other)), (&[one, other][..], &[one, other][..]));
    assert_eq!(sorts.like(writer), [writer]);
    // Threads of which nothing is known are not alike.
    for thread in [one, other] {
        process.threads[thread.index()].entry = None;
        process.threads[thread.index()].name = None;
    }
    let sorts = Sorts::of(&process);
    assert_eq!((sorts.like(one), sorts.like(other)), (&[one][..], &[other][..]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a program calls its objects and threads: as holdup writes it, holdup reads it.
    #[test]
    fn names_come_back(names in proptest::collection::vec(any::<String>(), 1..4), words in "[-a-z'=/* ,.:0-9]{1,12}") {
        let mut process = process();
        let first = process.objects.len();
        for name in names.iter().chain([&words]) {
            let object = process.add_object(ObjectKind::Mutex, 1);
            process.objects[object.index()].name = Some(name.clone());
        }
        let thread = ThreadId::new(process.threads.len() as u32 - 1);
        process.threads[thread.index()].entry = None;
        process.threads[thread.index()].name = Some(words);
        for object in (first..process.objects.len()).map(|index| ObjectId::new(index as u32)) {
            let name = object_name(&process, object);
            for (form, wanted) in [
                ("=0", Change::Lock(object, LockChange::Free)),
                ("/2.5", Change::Lock(object, LockChange::Shorter(2.5))),
                (" split 3", Change::Lock(object, LockChange::Split(3))),
            ] {
                let text = format!("lock:{}{form}", quoted(&name));
                let points = parse(&text, &process).expect(&text);
                prop_assert_eq!(points.len(), 1, "{}", text);
                prop_assert!(points[0].changes.contains(&wanted), "{}", text);
                prop_assert!(points[0].changes.len() == 1 || name.starts_with('#') || points[0].changes.iter().all(|change| {
                    matches!(change, Change::Lock(other, _) if object_name(&process, *other) == name)
                }), "{}", text);
            }
            let text = format!("lock:{}/2..4", quoted(&name));
            prop_assert_eq!(parse(&text, &process).expect(&text).len(), 10, "{}", text);
        }
        let text = format!("thread:{}/2", quoted(&thread_name(&Names::of(&process, None), &process, thread)));
        let points = parse(&text, &process).expect(&text);
        let is_faster = |change: &Change| matches!(change, Change::Faster(threads, _) if threads.contains(&thread));
        prop_assert!(points[0].changes.iter().any(is_faster), "{}", text);
    }

    /// Any text is read or refused.
    #[test]
    fn no_text_panics(text in any::<String>(), form in "(lock|site|threads?|stage|cores|alone|io):?[-a-z0-9 '=/*.,]{0,20}") {
        let process = process();
        for text in [text, form] {
            let swept = sweep(&text);
            for text in [text, swept] {
                if let Err(error) = parse(&text, &process) {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}
