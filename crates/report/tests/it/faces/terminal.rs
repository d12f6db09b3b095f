//! The text of the answer, whole.

use expect_test::{Expect, expect};
use holdup_criticality::{Diagnosis, Finding, FindingKind, Gain};
use holdup_model::{Process, Run, ThreadId, Unnamed};
use holdup_report::{Look, PageOptions, json, page, render};

use crate::faces::examples::{self, ms};

pub(crate) const PLAIN: Look = Look::plain(100);

pub(crate) fn check((run, diagnoses): (Run, Vec<Diagnosis>), look: Look, expected: Expect) {
    expected.assert_eq(&render(&run, &diagnoses, look));
}

#[test]
fn a_planted_lock() {
    check(
        examples::planted_lock(),
        PLAIN,
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on average (efficiency 39 %).

              what holds it up                                                                costs  of the time
            1 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost 0.4 to 1.2 %
        "#]],
    );
}

#[test]
fn at_80_columns_in_ascii() {
    let look = Look { width: 80, unicode: false, ..PLAIN };
    check(
        examples::planted_lock(),
        look,
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on average
            (efficiency 39 %).

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
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost 0.4 to 1.2 %
        "#]],
    );
}

#[test]
fn at_40_columns() {
    check(
        examples::planted_lock(),
        Look { width: 40, ..PLAIN },
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8
            cores; 3.1 of them were active on
            average (efficiency 39 %).

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
                Threads 5 to 7 wait 1.2 s on average
                for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality
                main ███ 31 %   worker 2 ███ 27 %
                worker 1 █ 11 %   five others 31 %
              environment
                active threads had a core 100 % of
                the time
              recorded by
                preload
                recording cost 0.4 to 1.2 %
        "#]],
    );
}

#[test]
fn at_120_columns_in_color() {
    let look = Look { width: 120, color: true, ..PLAIN };
    let (run, diagnoses) = examples::planted_lock();
    expect![[r#"
        <ESC>[1mconvert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on average (efficiency 39 %).<ESC>[0m

          <ESC>[2mwhat holds it up<ESC>[0m                                                                                    <ESC>[2mcosts<ESC>[0m  <ESC>[2mof the time<ESC>[0m
        <ESC>[1m<ESC>[31m1 <ESC>[0m<ESC>[1mlock cache_lock, held in cache_put (cache.c:212)<ESC>[0m                                                    5.1 s         41 %
            Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
            Move work out of the critical section, or split the lock.
        <ESC>[1m<ESC>[33m2 <ESC>[0m<ESC>[1muneven work before the barrier in resize (resize.c:88)<ESC>[0m                                              1.9 s         15 %
            Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
            Deal the work out in smaller pieces.

          <ESC>[2mcriticality<ESC>[0m   main <ESC>[34m██████<ESC>[0m 31 %   worker 2 <ESC>[34m█████<ESC>[0m 27 %   worker 1 <ESC>[34m██<ESC>[0m 11 %   five others 31 %
          <ESC>[2menvironment<ESC>[0m   active threads had a core 100 % of the time
          <ESC>[2mrecorded by<ESC>[0m   preload   recording cost 0.4 to 1.2 %
    "#]].assert_eq(&render(&run, &diagnoses, look).replace('\x1b', "<ESC>"));
}

#[test]
fn gains_take_the_place_of_the_shares() {
    let (run, mut diagnoses) = examples::planted_lock();
    diagnoses[0].findings[0].gain = Some(Gain {
        time: ms(4_400),
        low: ms(3_900),
        high: ms(4_700),
        expression: "lock:cache_lock=0".to_owned(),
        capped_by: None,
    });
    check(
        (run.clone(), diagnoses.clone()),
        PLAIN,
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on average (efficiency 39 %).

              what holds it up                                     costs  fixing it saves
            1 lock cache_lock, held in cache_put (cache.c:212)     5.1 s  4.4 s (3.9 to 4.7), 1.55 times faster
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize             1.9 s  not known
              (resize.c:88)
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost 0.4 to 1.2 %
        "#]],
    );
    check(
        (run, diagnoses),
        Look { width: 40, ..PLAIN },
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8
            cores; 3.1 of them were active on
            average (efficiency 39 %).

              what holds it up
            1 lock cache_lock, held in cache_put
              (cache.c:212)
              costs 5.1 s; fixing it saves 4.4 s
              (3.9 to 4.7)
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
                active threads had a core 100 % of
                the time
              recorded by
                preload
                recording cost 0.4 to 1.2 %
        "#]],
    );
}

#[test]
fn nothing_holds_it_up() {
    check(
        examples::nothing_found(),
        PLAIN,
        expect![[r#"
            sum ran 3.0 s with 4 threads on 4 cores; 3.9 of them were active on average (efficiency 98 %).
            Nothing holds it up: 3.9 threads were active on average of 4, on 4 cores.
            Checked: waits for locks, barriers, condition variables, semaphores and joins, serial phases, late
            starts, I/O, sleep, wake-ups and cores; the largest losses are small: wakeup 0.7 %, lock 0.1 %. Not
            seen from here: loops that wait, caches and memory.

              criticality   main █████ 25 %   sum #1 █████ 25 %   sum #2 █████ 25 %   sum #3 █████ 25 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost not measured
        "#]],
    );
}

/// Where one of several threads does all the work nothing holds it up, and nothing else uses the other cores.
#[test]
fn nothing_holds_up_the_one_that_works() {
    let (run, mut diagnoses) = examples::nothing_found();
    let diagnosis = &mut diagnoses[0];
    let said = |diagnosis: &Diagnosis| {
        let text = render(&run, std::slice::from_ref(diagnosis), PLAIN);
        text.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    assert!(!said(diagnosis).contains("All of the work"), "{}", said(diagnosis));
    (diagnosis.workers, diagnosis.efficiency) = (1, 0.98);
    diagnosis.working_threads = vec![ThreadId::new(2)];
    let alone = "All of the work is that of sum #2: to use more than one of the 4 cores, share it out.";
    assert!(said(diagnosis).contains(alone), "{}", said(diagnosis));
    // On one core there is no other to use.
    diagnosis.cores = 1;
    assert!(!said(diagnosis).contains("All of the work"), "{}", said(diagnosis));
    // Threads that take turns are at work one at a time, whatever their costs are divided by.
    (diagnosis.cores, diagnosis.workers, diagnosis.one_by_one) = (4, 2, true);
    assert!(
        said(diagnosis).contains("with 4 threads (one at a time at work) on 4 cores"),
        "{}",
        said(diagnosis)
    );
}

/// Of more threads than cores some wait at any time: that is a loss only as far as cores are idle, 2 % here.
#[test]
fn losses_are_no_larger_than_the_cores_were_idle() {
    let (run, mut diagnoses) = examples::nothing_found();
    diagnoses[0].efficiency = 0.98;
    diagnoses[0].cost_identity.parts = vec![(FindingKind::Condition, ms(1_400)), (FindingKind::Io, ms(9))];
    let wide = Look { width: 300, ..PLAIN };
    let shown = render(&run, &diagnoses, wide);
    assert!(shown.contains("the largest losses are small: condition 2.0 %, io 0.3 %."), "{shown}");
}

#[test]
fn nothing_found_is_not_nothing_wrong() {
    let (run, mut diagnoses) = examples::nothing_found();
    diagnoses[0].efficiency = 0.3;
    diagnoses[0].parallelism = 1.2;
    diagnoses[0].cost_identity.unexplained = ms(1_900);
    check(
        (run, diagnoses),
        PLAIN,
        expect![[r#"
            sum ran 3.0 s with 4 threads on 4 cores; 1.2 of them were active on average, 3.9 on a core
            (efficiency 30 %).
            No cause was found that is large enough to name, though only 1.2 threads were active on average of
            4, on 4 cores; 63 % of the time has no known cause.
            Checked: waits for locks, barriers, condition variables, semaphores and joins, serial phases, late
            starts, I/O, sleep, wake-ups and cores; the largest losses are wakeup 0.7 %, lock 0.1 %. Not seen
            from here: loops that wait, caches and memory.

              criticality   main █████ 25 %   sum #1 █████ 25 %   sum #2 █████ 25 %   sum #3 █████ 25 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost not measured
        "#]],
    );
}

#[test]
fn what_others_took_is_no_cause_that_was_not_found() {
    let (run, mut diagnoses) = examples::nothing_found();
    diagnoses[0].efficiency = 0.3;
    diagnoses[0].parallelism = 1.2;
    diagnoses[0].cost_identity.parts = vec![(FindingKind::Load, ms(2_000)), (FindingKind::Io, ms(9))];
    let in_one_line = |diagnoses: &[Diagnosis]| render(&run, diagnoses, PLAIN).replace('\n', " ");
    let shown = in_one_line(&diagnoses);
    let expected = "Nothing of its own holds it up: only 1.2 threads were active on average of 4, on 4 cores, since others used the \
                    CPUs, which cost 67 % of the time. ";
    assert!(shown.contains(expected), "{shown}");
    diagnoses[0].cost_identity.parts = vec![(FindingKind::Load, ms(300))];
    let shown = in_one_line(&diagnoses);
    let expected = "No cause was found that is large enough to name, though only 1.2 threads";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_single_thread() {
    check(
        examples::single_thread(),
        PLAIN,
        expect![[r#"
            sort ran 800 ms with 1 thread on 8 cores.
            It never had a second thread, so no thread can have held up another; its one thread was active 87 %
            of the time.

              criticality   sort █████████████████ 87 %   nobody ▒▒▒ 13 %   (until: I/O)
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost not measured
        "#]],
    );
}

#[test]
fn lost_events() {
    check(
        examples::lost_events(),
        PLAIN,
        expect![[r#"
            convert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on average (efficiency 39 %).
            The command was killed by signal 9.

              what holds it up                                                                costs  of the time
            1 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost 0.4 to 1.2 %
              warning       12 345 events were lost for want of room: waits may be missing and costs too low.
                            Record a shorter part of the run.
              warning       1 byte is damaged or cut off in the recording: what was there is missing, the rest
                            is told.
              warning       gs (pid 120) is a static program: nothing can be loaded into it.
              warning       su (pid 121) is set-uid: nothing is loaded into it.
              warning       and 2 more: holdup report FILE --json
        "#]],
    );
}

#[test]
fn many_threads_and_findings() {
    check(
        examples::many_threads(),
        PLAIN,
        expect![[r#"
            server ran 60.0 s with 64 threads on 8 cores; 5.8 of them were active on average, 4.1 on a core
            (efficiency 70 %).

              what holds it up                                                                costs  of the time
            1 lock shard_1, held in take (shard.c:10)                                         9.0 s         15 %
                It was seen to cost that much.
                Fix it.
            2 lock shard_2, held in take (shard.c:20)                                         4.5 s        7.5 %
                It was seen to cost that much.
                Fix it.
            3 lock shard_3, held in take (shard.c:30)                                         3.0 s        5.0 %
                It was seen to cost that much.
                Fix it.
            4 lock shard_4, held in take (shard.c:40)                                         2.2 s        3.8 %
                It was seen to cost that much.
                Fix it.
            5 lock shard_5, held in take (shard.c:50)                                         1.8 s        3.0 %
                It was seen to cost that much.
                Fix it.
              and 4 smaller ones: holdup report FILE --json

              criticality   63 threads of server ██████████████████ 89 %   main 1.4 %   nobody ▒▒ 10 %
                            (until: I/O 7.5 %, wake-up 2.5 %)
              environment   64 threads at work on 8 cores   active threads had a core 72 % of the time
              recorded by   preload   recording cost not measured
        "#]],
    );
}

#[test]
fn many_processes() {
    check(
        examples::many_processes(),
        PLAIN,
        expect![[r#"
            convert (pid 100), the busiest of 8 processes, ran 12.4 s with 8 threads on 8 cores; 3.1 of them
            were active on average (efficiency 39 %).

              what holds it up                                                                costs  of the time
            1 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
              environment   active threads had a core 100 % of the time
              recorded by   preload   recording cost not measured
              also ran      cc1 (pid 201)  900 ms, 2 threads, 1.2 active; join 100 ms
                            cc1 (pid 202)  1.8 s, 2 threads, 1.2 active
                            cc1 (pid 203)  2.7 s, 2 threads, 1.2 active; join 300 ms
                            cc1 (pid 204)  3.6 s, 2 threads, 1.2 active
                            and 3 more
        "#]],
    );
}

#[test]
fn evidence_is_told_in_whole_sentences() {
    let (run, mut diagnoses) = examples::planted_lock();
    let sentence =
        |number: usize| format!("Sentence {number} is of about a hundred columns, {}.", "so ".repeat(20));
    diagnoses[0].findings[0].evidence = (1..=4).map(sentence).collect();
    diagnoses[0].findings[0].notes = vec!["The note.".to_owned()];
    let told = |diagnoses: &[Diagnosis], width| render(&run, diagnoses, Look { width, ..PLAIN });
    let shown = told(&diagnoses, 100);
    assert!(shown.contains("Sentence 2") && !shown.contains("Sentence 4"), "{shown}");
    assert!(!shown.contains('…') && shown.contains("    Move work out of"), "{shown}");
    // With less room, the findings after the first have only their first sentence.
    let room = examples::finding(FindingKind::Io, "reads", ms(700));
    let second = Finding { evidence: (1..=2).map(sentence).collect(), ..room };
    diagnoses[0].findings.truncate(1);
    diagnoses[0].findings.extend(vec![second; 4]);
    let shown = told(&diagnoses, 80);
    let count = |text: &str| shown.matches(text).count();
    assert_eq!((count("Sentence 1"), count("Fix it.")), (4, 3), "{shown}");
    assert!(count("Sentence 2") < 4, "{shown}");
}

#[test]
fn nothing_is_in_the_way_of_a_clean_machine() {
    let (run, mut diagnoses) = examples::clean_machine();
    let shown = |diagnoses: &[_]| render(&run, diagnoses, PLAIN);
    let clean = "  environment   nothing in the way   active threads had a core 100 % of the time\n";
    assert!(shown(&diagnoses).contains(clean), "{}", shown(&diagnoses));
    diagnoses[0].effective_cores = 2;
    let crowded =
        "  environment   4 threads at work on 2 cores   active threads had a core 100 % of the time\n";
    assert!(shown(&diagnoses).contains(crowded), "{}", shown(&diagnoses));
    assert!(shown(&diagnoses).contains(" on 4 cores (by quota 2 at a time); "), "{}", shown(&diagnoses));
}

#[test]
fn limits_and_other_load() {
    check(
        examples::surrounded(),
        PLAIN,
        expect![[r#"
            convert ran 12.4 s with 8 threads on 6 cores (by quota 3 at a time); 3.1 of them were active on
            average (efficiency 39 %).
            Measured while others used 22 % of the CPUs' time, which cost 1.1 s. See to it.

              what holds it up                                                                costs  of the time
            1 CPU quota: the control group gives 2.5 CPUs; 8 threads share them               1.3 s         10 %
                The group was throttled in 41 of 60 periods of 100 ms.
                Raise the CPU limit of that group.
            2 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            3 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   main ██████ 31 %   worker 2 █████ 27 %   worker 1 ██ 11 %   five others 31 %
              environment   quota costs 1.3 s   6 threads on 4 physical cores, two or more to a core
                            CPUs 0-7 may run at 1.2 of 3.6 GHz (governor \u{1b}[1mpowersave)
                            a memory limit of its control group was reached 3 times
                            active threads had a core 100 % of the time
              recorded by   preload   recording cost 0.4 to 1.2 %
        "#]],
    );
}

#[test]
fn hostile_names() {
    check(
        examples::hostile_names(),
        PLAIN,
        expect![[r#"
            \u{1b}]0;owned\u{7}con\nvert ran 12.4 s with 8 threads on 8 cores; 3.1 of them were active on
            average (efficiency 39 %).

              what holds it up                                                                costs  of the time
            1 lock a\r\nb\u{1b}[2J\u{9b}1m, held in …::map<std::map<std::map<std::            5.1 s         41 %
              map<std::map<
                Held by \u{202e}evil\u{2066} \u{200b}\t.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
                Threads 5 to 7 wait 1.2 s on average for the last one to arrive.
                Deal the work out in smaller pieces.

              criticality   \u{1b}[…u{1b}[0m ██████ 31 %   \u{202e}…u{2066} █████ 27 %   worker 1 ██ 11 %
                            five others 31 %
              hot lines     \u{202e}<\u{1b}[2K>\u{…2K>\u{202e}<\u{1b}[2K> (\u{1b}]2;x\u{7}.c:88), inside
                            copy\u{1b}[5m\nit  61 % critical (34 % active)
                            parse_row (rows.c:1204), inside memcpy  24 % (50 %)
                            main (convert.c:7)  8.9 % (5.0 %, 77 samples)
              over time     0 s to 1.2 s: \u{1b}[…u{1b}[0m alone   1.2 s to 11.2 s: 3.6 active
                            11.2 s to 12.4 s: 1.4 active, mostly \u{1b}[…u{1b}[0m
                            worst second from 11.4 s: 1.2 active, mostly \u{1b}[…u{1b}[0m
              environment   active threads had a core 100 % of the time
              recorded by   preload and kernel (context switches, 1 532 samples)   recording cost 0.4 to 1.2 %
              warning       cannot read /tmp/\u{1b}[8mhidden
        "#]],
    );
}

#[test]
fn too_much_of_everything() {
    check(
        examples::crowded(),
        PLAIN,
        expect![[r#"
            convert (pid 100), the busiest of 8 processes, ran 12.4 s with 8 threads on 8 cores; 3.1 of them
            were active on average (efficiency 39 %). The command had not ended when the recording stopped.

              what holds it up                                                                costs  of the time
            1 lock cache_lock, held in cache_put (cache.c:212)                                5.1 s         41 %
                Held 71 % of the time, mostly by worker 2; 2.6 threads wait for it on average.
                Move work out of the critical section, or split the lock.
            2 uneven work before the barrier in resize (resize.c:88)                          1.9 s         15 %
            3 lock shard_1, held in take_one_of_take_one_of_…one_of_take_one_of_1            900 ms        7.3 %
              (shard.c:1)
              and 8 smaller ones: holdup report FILE --json

              criticality   worker 2 █████ 27 %   main ██ 11 %   worker 1 ██ 11 %   five others 31 %
                            nobody ▒▒▒▒ 20 %   (until: I/O 5.0 %, sleep 5.0 %, wake-up 5.0 %, run queue 5.0 %)
              hot lines     crunch (x.c:88)  61 % of critical time (34 % of active)
              environment   active threads had a core 100 % of the time
              recorded by   preload and kernel (context switches, 1 532 samples)   recording cost not measured
              also ran      cc1 (pid 201)  900 ms, 2 threads, 1.2 active; join 100 ms
                            cc1 (pid 202)  1.8 s, 2 threads, 1.2 active
                            cc1 (pid 203)  2.7 s, 2 threads, 1.2 active; join 300 ms
                            cc1 (pid 204)  3.6 s, 2 threads, 1.2 active
                            and 3 more
              warning       12 345 events were lost for want of room: waits may be missing and costs too low.
                            Record a shorter part of the run.
              warning       1 byte is damaged or cut off in the recording: what was there is missing, the rest
                            is told.
              warning       gs (pid 120) is a static program: nothing can be loaded into it.
              warning       su (pid 121) is set-uid: nothing is loaded into it.
              warning       and 2 more: holdup report FILE --json
        "#]],
    );
}

#[test]
fn nothing_recorded_says_why() {
    let mut run = Run { command: vec!["/sbin/busybox".to_owned()], ..examples::run(Vec::new()) };
    run.unseen = vec!["busybox (pid 7) is a static program: nothing can be loaded into it.".to_owned()];
    check(
        (run.clone(), Vec::new()),
        PLAIN,
        expect![[r#"
        Nothing was recorded of busybox, so nothing can be said about its threads.
          warning       busybox (pid 7) is a static program: nothing can be loaded into it.
    "#]],
    );
    run.processes.push(Process { pid: 7, ..Process::default() });
    let empty = examples::diagnosis(&run.processes[0], 0, &[], &[]);
    check(
        (run, vec![empty]),
        PLAIN,
        expect![[r#"
        Nothing was recorded of busybox, so nothing can be said about its threads.
          warning       busybox (pid 7) is a static program: nothing can be loaded into it.
    "#]],
    );
}

#[test]
fn code_without_names_is_told_where_the_answer_lies_in_it() {
    let (mut run, diagnoses) = examples::planted_lock();
    let unnamed = |module: &str| Unnamed {
        module: module.to_owned(),
        remedy: "install its -dbgsym package".to_owned(),
    };
    run.unnamed = vec![unnamed("convert"), unnamed("libfar.so")];
    let text = render(&run, &diagnoses, Look::plain(100));
    assert!(text.contains("convert: install its -dbgsym package"), "{text}");
    assert!(!text.contains("libfar"), "{text}");
    let page = page(&run, &diagnoses, &PageOptions::default());
    let head = page.split("id=\"threads\"").next().expect("a page");
    assert!(head.contains("convert: install its -dbgsym package") && !head.contains("libfar"));
    // For machines all of them, those that the same remedy helps in one sentence.
    let warnings = &json(&run, &diagnoses)["run"]["warnings"];
    assert_eq!(*warnings, serde_json::json!(["convert, libfar.so: install its -dbgsym package"]));
    run.unnamed = vec![unnamed("libfar.so.1"), unnamed("libfar.so.1.20")];
    let warnings = &json(&run, &diagnoses)["run"]["warnings"];
    assert_eq!(*warnings, serde_json::json!(["libfar.so.1: install its -dbgsym package"]));
}
