//! The lines that the kernel collector's data give: hot lines, the course of the run, who recorded what.

use expect_test::expect;
use holdup_criticality::{HotSpot, Phase};
use holdup_model::{Access, AccessKind, CpuReading, Left, OnCore, Placement, Run, ThreadTimes, Usage};
use holdup_report::{Look, json, render};

use crate::faces::examples::{self, ms};
use crate::faces::terminal::{PLAIN, check};

#[test]
fn hot_lines_and_the_course_of_the_run() {
    check(
        examples::sampled_lock(),
        PLAIN,
        expect![[r#"
        convert ran 12.4 s with 8 threads on 2 cores; 1.9 of them were active on average, 1.3 without a core
        (efficiency 95 %).

          what holds it up                                                                costs  of the time
        1 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
            Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
            Move work out of the critical section, or split the lock.
        2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
            Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
            Deal the work out in smaller pieces.

          criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
          hot lines     crunch (x.c:88)                         61 % of critical time (34 % of active)
                        parse_row (rows.c:1204), inside memcpy  24 % (50 %)
                        main (convert.c:7)                      8.9 % (5.0 %, 77 samples)
          over time     0 s to 1.2 s: main alone   1.2 s to 11.2 s: 3.6 active
                        11.2 s to 12.4 s: 1.4 active, mostly main
                        worst second from 11.4 s: 1.2 active, mostly main
          environment   8 threads at work on 2 cores   active threads had a core 71 % of the time
          recorded by   preload and kernel (context switches, 1 532 samples)   recording cost 0.4 to 1.2 %
    "#]],
    );
    check(
        examples::sampled_lock(),
        Look { width: 80, unicode: false, ..PLAIN },
        expect![[r#"
        convert ran 12.4 s with 8 threads on 2 cores; 1.9 of them were active on
        average, 1.3 without a core (efficiency 95 %).

          what holds it up                                            costs  of the time
        1 lock cache_lock, held in cache_put (cache.c:212)            5.1 s         41 %
            Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on
            average.
            Move work out of the critical section, or split the lock.
        2 uneven work before the barrier in resize (resize.c:88)      1.9 s         15 %
            Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
            Deal the work out in smaller pieces.

          criticality   main ###### 31 %   worker 2 ##### 27 %   worker 1 ## 11 %
                        five others 31 %
          hot lines     crunch (x.c:88)  61 % of critical time (34 % of active)
                        parse_row (rows.c:1204), inside memcpy  24 % (50 %)
                        main (convert.c:7)  8.9 % (5.0 %, 77 samples)
          over time     0 s to 1.2 s: main alone   1.2 s to 11.2 s: 3.6 active
                        11.2 s to 12.4 s: 1.4 active, mostly main
                        worst second from 11.4 s: 1.2 active, mostly main
          environment   8 threads at work on 2 cores
                        active threads had a core 71 % of the time
          recorded by   preload and kernel (context switches, 1 532 samples)
                        recording cost 0.4 to 1.2 %
    "#]],
    );
    check(
        examples::sampled_lock(),
        Look { width: 40, ..PLAIN },
        expect![[r#"
        convert ran 12.4 s with 8 threads on 2
        cores; 1.9 of them were active on
        average, 1.3 without a core (efficiency
        95 %).

          what holds it up
        1 lock cache_lock, held in cache_put
          (cache.c:212)
          costs 5.1 s, 41 % of the time
            Held 71 % of the time, mostly by
            worker 2; 2.6 threads wait for it on
            average.
            Move work out of the critical
            section, or split the lock.
        2 uneven work before the barrier in
          resize (resize.c:88)
          costs 1.9 s, 15 % of the time

          criticality
            main ███ 31 %   worker 2 ███ 27 %
            worker 1 █ 11 %   five others 31 %
          environment
            8 threads at work on 2 cores
            active threads had a core 71 % of
            the time
          recorded by
            preload and kernel (context
            switches, 1 532 samples)
            recording cost 0.4 to 1.2 %
    "#]],
    );
}

#[test]
fn a_program_that_the_kernel_alone_saw() {
    check(
        examples::kernel_only(),
        PLAIN,
        expect![[r#"
            serve ran 4.0 s with 6 threads on 8 cores; 1.0 of them were active on average (efficiency 17 %).

              what holds it up                                                                costs  of the time
            1 only one thread at a time at work, mostly in main.crunch (x.go:20)              2.5 s         62 %
                It was seen to cost that much.
                Fix it.

              criticality   main █████████████████ 85 %   serve #1 █ 5.0 %   nobody ▒▒ 10 %   (until: I/O)
              hot lines     main.crunch (x.go:20)  100 % of critical time (100 % of active, 31 samples)
              environment   active threads had a core 100 % of the time
              recorded by   kernel (context switches for 75 % of the time, 31 samples)
                            recording cost not measured
              warning       serve (pid 100) is a Go program: its locks were not recorded.
        "#]],
    );
}

/// The lines of an answer from the one with this label to the next one with a label.
fn labelled(answer: &str, label: &str) -> Vec<String> {
    let start = format!("  {label}");
    let is_more = |line: &&str| line.starts_with("                ");
    let mut lines = answer.lines().skip_while(|line| !line.starts_with(&start));
    let first = lines.next();
    first.into_iter().chain(lines.take_while(is_more)).map(|line| line[16..].to_owned()).collect()
}

#[test]
fn few_samples_name_no_line() {
    let (run, mut diagnoses) = examples::sampled_lock();
    diagnoses[0].hot.as_mut().unwrap().samples = 20;
    assert_eq!(labelled(&render(&run, &diagnoses, PLAIN), "hot lines").len(), 3);
    diagnoses[0].hot.as_mut().unwrap().samples = 19;
    assert!(!render(&run, &diagnoses, PLAIN).contains("hot lines"));
    assert_eq!(json(&run, &diagnoses)["hot_spots"]["lines"].as_array().unwrap().len(), 3);
}

#[test]
fn lines_of_one_loop_are_one_place() {
    let (mut run, mut diagnoses) = examples::sampled_lock();
    let hot = diagnoses[0].hot.as_mut().unwrap();
    let first = hot.lines[0].clone();
    let parts = [(88, 0.5), (90, 0.3), (86, 0.15), (60, 0.05)];
    let lines = parts.map(|(line, share)| HotSpot {
        place: examples::site(&mut run.processes[0], "crunch", "x.c", line),
        critical: share * first.critical,
        ..first.clone()
    });
    hot.lines.splice(..1, lines);
    let told = labelled(&render(&run, &diagnoses, PLAIN), "hot lines");
    assert!(told[0].starts_with("crunch (x.c:86-90)  "), "{told:?}");
    assert!(told[0].ends_with("  61 % of critical time (34 % of active)"), "{told:?}");
    assert!(told[1].starts_with("parse_row (rows.c:1204), inside memcpy  24 % "), "{told:?}");
    // A line that has nearly all of its function is told with its own figures.
    diagnoses[0].hot.as_mut().unwrap().lines[0].critical = 0.9 * first.critical;
    let told = labelled(&render(&run, &diagnoses, PLAIN), "hot lines");
    assert!(told[0].starts_with("crunch (x.c:88)  ") && told[0].contains("  55 % of critical"), "{told:?}");
}

#[test]
fn small_lines_are_told_only_if_nothing_is_larger() {
    let (run, mut diagnoses) = examples::sampled_lock();
    let hot = diagnoses[0].hot.as_mut().unwrap();
    for spot in hot.lines.iter_mut().chain(&mut hot.functions) {
        spot.critical /= 100.0;
    }
    let told = labelled(&render(&run, &diagnoses, PLAIN), "hot lines");
    assert_eq!(told, ["crunch (x.c:88)  0.6 % of critical time (34 % of active)"]);
}

#[test]
fn a_place_without_a_line_goes_by_its_module() {
    let (mut run, diagnoses) = examples::sampled_lock();
    let place = diagnoses[0].hot.as_ref().unwrap().lines[0].place;
    let frame = run.processes[0].sites[place.index()].frames.first_mut().unwrap();
    (frame.line, frame.file) = (None, None);
    let without_line = run.clone();
    let frame = run.processes[0].sites[place.index()].frames.first_mut().unwrap();
    frame.function = None;
    let shown = |run: &Run| labelled(&render(run, &diagnoses, PLAIN), "hot lines").swap_remove(0);
    assert!(shown(&without_line).starts_with("crunch (convert) "), "{}", shown(&without_line));
    assert!(shown(&run).starts_with("convert+0x1234 "), "{}", shown(&run));
}

#[test]
fn names_are_missed_only_where_much_of_the_critical_time_passes() {
    let (mut run, mut diagnoses) = examples::sampled_lock();
    let remedy = "install its -dbgsym package".to_owned();
    run.unnamed = vec![holdup_model::Unnamed { module: "libfar.so".to_owned(), remedy }];
    let frames = vec![holdup_model::Frame { module: Some("libfar.so".to_owned()), ..Default::default() }];
    let place = run.processes[0].add_site(holdup_model::Site { frames, ..Default::default() });
    let hot = diagnoses[0].hot.as_mut().unwrap();
    let all = hot.critical;
    hot.functions.push(HotSpot { place, critical: 0.01 * all, ..hot.functions[0].clone() });
    assert!(!render(&run, &diagnoses, PLAIN).contains("libfar"));
    diagnoses[0].hot.as_mut().unwrap().functions.last_mut().unwrap().critical = 0.03 * all;
    assert!(render(&run, &diagnoses, PLAIN).contains("libfar.so: install its -dbgsym package"));
}

#[test]
fn a_function_without_a_name_goes_by_where_it_begins() {
    let (mut run, mut diagnoses) = examples::sampled_lock();
    let hot = diagnoses[0].hot.as_mut().unwrap();
    let first = hot.lines[0].clone();
    let nameless = holdup_model::Frame {
        module: Some("convert".to_owned()),
        address: 0x1240,
        begin: Some(0x1230),
        ..Default::default()
    };
    run.processes[0].sites[first.place.index()].frames = vec![nameless.clone()];
    let frames = vec![holdup_model::Frame { address: 0x1260, ..nameless }];
    let place = run.processes[0].add_site(holdup_model::Site { frames, ..Default::default() });
    let lines = [(first.place, 0.7), (place, 0.3)].map(|(place, share)| HotSpot {
        place,
        critical: share * first.critical,
        ..first.clone()
    });
    hot.lines.splice(..1, lines);
    let shown = |run: &Run, diagnoses: &[_]| {
        labelled(&render(run, diagnoses, PLAIN), "hot lines").swap_remove(0).replace("  ", "|")
    };
    let first_line = shown(&run, &diagnoses);
    assert!(first_line.starts_with("function at convert+0x1230|"), "{first_line}");
    assert!(first_line.contains("|61 % of critical time"), "{first_line}");
    // One instruction that has nearly all of it is shown itself.
    diagnoses[0].hot.as_mut().unwrap().lines[0].critical = 0.9 * first.critical;
    let first_line = shown(&run, &diagnoses);
    assert!(first_line.starts_with("convert+0x1240|"), "{first_line}");
    // Code of no known function.
    for site in [first.place, place] {
        run.processes[0].sites[site.index()].frames[0].begin = Some(holdup_model::Frame::OUTSIDE);
    }
    diagnoses[0].hot.as_mut().unwrap().lines[0].critical = 0.7 * first.critical;
    let first_line = shown(&run, &diagnoses);
    assert!(first_line.starts_with("convert (code without names)|"), "{first_line}");
}

#[test]
fn of_many_phases_the_idlest_are_told_in_order_and_those_alike_as_one() {
    let (run, mut diagnoses) = examples::sampled_lock();
    let phase = |index: usize| Phase {
        start: examples::at(1_000 * index as u64),
        end: examples::at(1_000 * (index as u64 + 1)),
        parallelism: if index.is_multiple_of(3) { 2.0 } else { 7.0 },
        threads: Vec::new(),
        nobody: 0.0,
    };
    diagnoses[0].over_time.phases = (0..10).map(phase).collect();
    let told = labelled(&render(&run, &diagnoses, PLAIN), "over time").join("   ");
    let phases: Vec<&str> = told.split("   ").collect();
    assert_eq!(
        phases,
        [
            "0 s to 1.0 s: 2.0 active",
            "3.0 s to 4.0 s: 2.0 active",
            "6.0 s to 7.0 s: 2.0 active",
            "9.0 s to 10.0 s: 2.0 active",
            "and 3 more phases",
            "worst second from 11.4 s: 1.2 active, mostly main",
        ]
    );
}

#[test]
fn steady_and_short_runs_have_no_course() {
    let (run, diagnoses) = examples::sampled_lock();
    assert!(render(&run, &diagnoses, PLAIN).contains("over time"));
    let mut steady = diagnoses.clone();
    steady[0].over_time.phases.truncate(1);
    assert!(!render(&run, &steady, PLAIN).contains("over time"));
    let again = steady[0].over_time.phases[0].clone();
    steady[0].over_time.phases.push(again);
    assert!(!render(&run, &steady, PLAIN).contains("over time"));
    let mut short = diagnoses;
    short[0].over_time.worst = None;
    assert!(!render(&run, &short, PLAIN).contains("over time"));
}

#[test]
fn each_part_of_a_collector_is_named() {
    let (mut run, diagnoses) = examples::kernel_only();
    let shown = |run: &Run| labelled(&render(run, &diagnoses, PLAIN), "recorded by").swap_remove(0);
    let process = &mut run.processes[0];
    process.covered.clear();
    let (time, cpu) = (process.end, ms(9));
    process.readings = vec![CpuReading { thread: examples::thread(0), time, cpu, delay: ms(1) }];
    assert_eq!(shown(&run), "kernel (CPU times by polling, 31 samples)   recording cost not measured");
    run.processes[0].samples.clear();
    run.processes[0].readings.clear();
    assert_eq!(shown(&run), "kernel   recording cost not measured");
    run.processes[0].seen_by.kernel = false;
    run.collectors = vec!["kernel\n".to_owned(), "preload".to_owned()];
    assert_eq!(shown(&run), "kernel\\n and preload   recording cost not measured");
}

#[test]
fn what_the_kernel_alone_cannot_see_is_not_said_to_be_checked() {
    let (mut run, mut diagnoses) = examples::kernel_only();
    diagnoses[0].findings.clear();
    let shown = |run: &Run| render(run, &diagnoses, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    let unseen = "Not seen from here: which locks and barriers threads waited for, caches and memory.";
    assert!(shown(&run).contains(unseen) && !shown(&run).contains("waits for locks"), "{}", shown(&run));
    run.processes[0].seen_by.preload = true;
    assert!(shown(&run).contains("Checked: waits for locks, barriers"), "{}", shown(&run));
    assert!(shown(&run).contains("loops that wait and cores;"), "{}", shown(&run));
    // Where samples say what was accessed, and of most of the time.
    let process = &mut run.processes[0];
    let access = Access { address: 0x1000, bytes: 8, kind: AccessKind::Read };
    process.samples[0].access = Some(access);
    let (thread, begin, end) = (process.samples[0].thread, process.start, process.end);
    process.on_core = vec![OnCore { thread, begin, end, core: 0, left: Left::Unknown }];
    let checked = "loops that wait, cache lines that threads share and cores;";
    assert!(shown(&run).contains(checked), "{}", shown(&run));
    assert!(shown(&run).contains("Not seen from here: other use of caches and memory."), "{}", shown(&run));
    // Where it is known how much memory came.
    let (pid, usage) = (run.processes[0].pid, Some(Usage::default()));
    run.environment.placements.push(Placement { pid, usage, ..Placement::default() });
    let with_faults = "cache lines that threads share, page faults and cores;";
    assert!(shown(&run).contains(with_faults), "{}", shown(&run));
    run.environment.placements.pop();
    let kept = run.processes[0].samples.len() / 4;
    run.processes[0].samples.truncate(kept);
    assert!(!shown(&run).contains(checked), "{}", shown(&run));
    run.processes[0].samples.clear();
    assert!(
        shown(&run).contains("Not seen from here: loops that wait, caches and memory."),
        "{}",
        shown(&run)
    );
}

#[test]
fn time_without_a_core_counts_whoever_measured_it() {
    let (run, mut diagnoses) = examples::sampled_lock();
    let times = &mut diagnoses[0].threads;
    times.fill(ThreadTimes::default());
    (times[0].active, times[0].delayed, times[0].descheduled) = (ms(6_000), ms(0), ms(2_000));
    diagnoses[0].on_cpu_parallelism = None;
    let share = |diagnoses: &[_]| json(&run, diagnoses)["process"]["on_core_share"].clone();
    assert_eq!(share(&diagnoses), 0.75);
    diagnoses[0].threads[0].descheduled = ms(0);
    assert_eq!(share(&diagnoses), serde_json::Value::Null);
    diagnoses[0].on_cpu_parallelism = Some(0.5);
    diagnoses[0].threads[0].delayed = ms(1_500);
    assert_eq!(share(&diagnoses), 0.75);
}
