//! The answer in a terminal.

use expect_test::{Expect, expect};
use holdup_imbalance::{Verdict, Why, WorstInstance};
use holdup_report::{Look, WhyScene, render_why, why_json};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::why::examples;

const WIDE: Look = Look::plain(100);

fn check(why: &Why, look: Look, expected: Expect) {
    expected.assert_eq(&render_why(why, &examples::scene(), look));
}

#[test]
fn an_instance_with_most_of_the_idle_time_is_named() {
    let told = |worst: Option<(u32, f64)>, instances| {
        let mut why = examples::lu();
        let worst = worst.map(|(number, share)| WorstInstance { number, share, time: vec![1; 8] });
        (why.sections[0].worst, why.sections[0].instances) = (worst, instances);
        render_why(&why, &examples::scene(), WIDE)
    };
    assert!(told(Some((1, 0.82)), 32).contains("Of its idle time 82 % is in instance 1 of 32."));
    for text in [told(Some((1, 0.3)), 32), told(Some((2, 0.82)), 2), told(None, 32)] {
        assert!(!text.contains("Of its idle time"), "{text}");
    }
}

#[test]
fn sums_that_hide_the_imbalance_are_shown_beside_the_worst_instance() {
    let mut why = examples::lu();
    let section = &mut why.sections[0];
    section.time = (0..8).map(|thread| 12_400_000 - 90_000 * (thread % 2)).collect();
    let text = render_why(&why, &examples::scene(), WIDE);
    assert!(text.contains(
        "Other threads are late in each instance: summed over instances they would idle only 0.4 %."
    ));
    assert!(text.contains("in instance 1"), "{text}");
    assert!(!render_why(&examples::lu(), &examples::scene(), WIDE).contains("in instance 1"));
}

#[test]
fn the_whole_answer() {
    check(
        &examples::lu(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            Threads take the branch at lu.c:407 (`owner(i, j) == me`) to lu.c:408 differently often: 0.88 of the
            imbalance.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
                Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed instructions.

                a branch in owner (lu.c:407)
                  407 │ if (owner(i, j) == me) {  /* parcel out blocks */
                  408 │     double *c = block(a, i, j);
                  Score 0.88 (0.81 to 0.93); 85 % of the differences go through it.
                  inlined: owner (lu.c:407) into lu (lu.c:407)

                b Threads take different numbers of turns through the loop at lu.c:413 because of the branch at
                  lu.c:412 (`rows > 0`).
                  412 │ while (rows > 0) {
                  413 │     rows--;
                  Score 0.14 (0.07 to 0.19); 9.0 % of the differences go through it; found at clustering
                  thresholds from 0.85 to 0.95 only.

                thread  time                   natively                a taken             b turns
                0       ██████████████ 12.4 M  ██████████████ 90.0 ms  ██████████████ 240  ██████████████ 240
                1       █████████████  11.3 M  █████████████  81.0 ms  ████████████   210  ████████████   210
                2       ████████████   10.2 M  ███████████    72.0 ms  ███████████    180  ███████████    180
                3       ██████████      9.1 M  ██████████     63.0 ms  █████████      150  █████████      150
                4       █████████       8.0 M  ████████       54.0 ms  ███████        120  ███████        120
                5       ████████        6.9 M  ███████        45.0 ms  █████           90  █████           90
                6       ███████         5.8 M  ██████         36.0 ms  ████            60  ████            60
                7       █████           4.7 M  ████           27.0 ms  ██              30  ██              30

              section           kind     imbalance  explained  first cause      spread  instances  threads
              lu (lu.c:420)     barrier       36 %       95 %  branch lu.c:407    62 %         32        8
              main (main.c:61)  join          36 %       60 %  call lu.c:405      62 %          1        8
              work (main.c:30)  barrier      0.4 %                               0.8 %         32        8

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
              note          The limit on instructions was reached: what came later was not counted.
              more          1 more cause, 2 more sections: --all
        "#]],
    );
}

#[test]
fn eighty_columns_of_plain_characters() {
    check(
        &examples::lu(),
        Look { unicode: false, ..Look::plain(80) },
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu
            (lu.c:420).
            Threads take the branch at lu.c:407 (`owner(i, j) == me`) to lu.c:408
            differently often: 0.88 of the imbalance.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of
                all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by
                executed instructions.
                Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed
                instructions.

                a branch in owner (lu.c:407)
                  407 | if (owner(i, j) == me) {  /* parcel out blocks */
                  408 |     double *c = block(a, i, j);
                  Score 0.88 (0.81 to 0.93); 85 % of the differences go through it.
                  inlined: owner (lu.c:407) into lu (lu.c:407)

                b Threads take different numbers of turns through the loop at lu.c:413
                  because of the branch at lu.c:412 (`rows > 0`).
                  412 | while (rows > 0) {
                  413 |     rows--;
                  Score 0.14 (0.07 to 0.19); 9.0 % of the differences go through it; found
                  at clustering thresholds from 0.85 to 0.95 only.

                thread  time              natively           a taken        b turns
                0       ######### 12.4 M  ######### 90.0 ms  ######### 240  ######### 240
                1       ########  11.3 M  ########  81.0 ms  ########  210  ########  210
                2       #######   10.2 M  #######   72.0 ms  #######   180  #######   180
                3       #######    9.1 M  ######    63.0 ms  ######    150  ######    150
                4       ######     8.0 M  #####     54.0 ms  #####     120  #####     120
                5       #####      6.9 M  #####     45.0 ms  ###        90  ###        90
                6       ####       5.8 M  ####      36.0 ms  ##         60  ##         60
                7       ###        4.7 M  ###       27.0 ms  #          30  #          30

              section           kind     imbalance  explained  first cause      spread
              lu (lu.c:420)     barrier       36 %       95 %  branch lu.c:407    62 %
              main (main.c:61)  join          36 %       60 %  call lu.c:405      62 %
              work (main.c:30)  barrier      0.4 %                               0.8 %

              method        Counted under emulation; executed instructions stand for time.
                            Method stacked, clusters of counts that correlate by 0.9 or
                            more.
              note          The limit on instructions was reached: what came later was not
                            counted.
              more          1 more cause, 2 more sections: --all
        "#]],
    );
}

#[test]
fn a_narrow_terminal() {
    check(
        &examples::lu(),
        Look { width: 44, ..WIDE },
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of
            the time before the barrier at lu
            (lu.c:420).
            Threads take the branch at lu.c:407
            (`owner(i, j) == me`) to lu.c:408
            differently often: 0.88 of the imbalance.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu
                (lu.c:390); 92 % of all idle time, 33 %
                of all threads' time.
                Imbalance 36 % (mean share idled),
                spread 62 % (shortest to longest), by
                executed instructions.
                Natively: imbalance 33 %, spread 60 %;
                91 % of that goes with executed
                instructions.

                a branch in owner (lu.c:407)
                  407 │ if (owner(i, j) == me) {  /*…
                  408 │     double *c = block(a, i, j);
                  Score 0.88 (0.81 to 0.93); 85 % of the
                  differences go through it.
                  inlined: owner (lu.c:407) into lu
                  (lu.c:407)

                b Threads take different numbers of
                  turns through the loop at lu.c:413
                  because of the branch at lu.c:412
                  (`rows > 0`).
                  412 │ while (rows > 0) {
                  413 │     rows--;
                  Score 0.14 (0.07 to 0.19); 9.0 % of
                  the differences go through it; found
                  at clustering thresholds from 0.85 to
                  0.95 only.

                thread  time            natively
                0       ███████ 12.4 M  ███████ 90.0 ms
                1       ██████  11.3 M  ██████  81.0 ms
                2       ██████  10.2 M  ██████  72.0 ms
                3       █████    9.1 M  █████   63.0 ms
                4       █████    8.0 M  ████    54.0 ms
                5       ████     6.9 M  ████    45.0 ms
                6       ███      5.8 M  ███     36.0 ms
                7       ███      4.7 M  ██      27.0 ms

              section           kind     imbalance
              lu (lu.c:420)     barrier       36 %
              main (main.c:61)  join          36 %
              work (main.c:30)  barrier      0.4 %

              method
                Counted under emulation; executed
                instructions stand for time. Method
                stacked, clusters of counts that
                correlate by 0.9 or more.
              note
                The limit on instructions was reached:
                what came later was not counted.
              more
                1 more cause, 2 more sections: --all
        "#]],
    );
}

#[test]
fn everything() {
    let scene = WhyScene { all: true, ..examples::scene() };
    let text = render_why(&examples::lu(), &scene, Look { width: 120, ..WIDE });
    expect![[r#"
        Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
        Threads take the branch at lu.c:407 (`owner(i, j) == me`) to lu.c:408 differently often: 0.88 of the imbalance.

        1 barrier at lu (lu.c:420)
            32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
            Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
            Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed instructions.

            a branch in owner (lu.c:407)
              407 │ if (owner(i, j) == me) {  /* parcel out blocks */
              408 │     double *c = block(a, i, j);
              Score 0.88 (0.81 to 0.93); 85 % of the differences go through it.
              inlined: owner (lu.c:407) into lu (lu.c:407)

            b Threads take different numbers of turns through the loop at lu.c:413 because of the branch at lu.c:412 (`rows >
              0`).
              412 │ while (rows > 0) {
              413 │     rows--;
              Score 0.14 (0.07 to 0.19); 9.0 % of the differences go through it; found at clustering thresholds from 0.85 to
              0.95 only.

            c Threads take the branch at lu.c:413 (`rows--;`) to lu.c:414 differently often.
              413 │ rows--;
              414 │
              Score 0.20 (0.13 to 0.25); 1.0 % of the differences go through it; hardly any instructions are behind it: it goes
              with the cause, and is not the cause.

            thread  time                   natively                a taken             b turns             c taken
            0       ██████████████ 12.4 M  ██████████████ 90.0 ms  ██████████████ 240  ██████████████ 240  ██████████████ 240
            1       █████████████  11.3 M  █████████████  81.0 ms  ████████████   210  ████████████   210  ████████████   210
            2       ████████████   10.2 M  ███████████    72.0 ms  ███████████    180  ███████████    180  ███████████    180
            3       ██████████      9.1 M  ██████████     63.0 ms  █████████      150  █████████      150  █████████      150
            4       █████████       8.0 M  ████████       54.0 ms  ███████        120  ███████        120  ███████        120
            5       ████████        6.9 M  ███████        45.0 ms  █████           90  █████           90  █████           90
            6       ███████         5.8 M  ██████         36.0 ms  ████            60  ████            60  ████            60
            7       █████           4.7 M  ████           27.0 ms  ██              30  ██              30  ██              30

        2 join at main (main.c:61)
            1 instance, 8 threads; 7.0 % of all idle time, 33 % of all threads' time.
            Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.

            a Threads call lu (lu.c:406) at lu.c:405 (`j < blocks`) differently often.
              405 │ for (int j = k + 1; j < blocks; j++) {
              406 │     for (int i = k + 1; i < blocks; i++) {
              Score 0.71 (0.64 to 0.76); 60 % of the differences go through it.

            thread  time                     a calls
            0       ████████████████ 12.4 M  ████████████████ 240
            1       ███████████████  11.3 M  ██████████████   210
            2       █████████████    10.2 M  ████████████     180
            3       ████████████      9.1 M  ██████████       150
            4       ██████████        8.0 M  ████████         120
            5       █████████         6.9 M  ██████            90
            6       ███████           5.8 M  ████              60
            7       ██████            4.7 M  ██                30

            40 % of the differences in executed instructions are not explained. It may be the sum of many small differences of
            which none stands out, or come from inside of libraries.

        3 barrier start at work (main.c:30)
            32 instances, 8 threads, from lu (lu.c:390); 1.0 % of all idle time, 33 % of all threads' time.
            Imbalance 0.4 % (mean share idled), spread 0.8 % (shortest to longest), by executed instructions.
            Threads idle for less than 1 % here: there is nothing to find.

          section           kind     imbalance  explained  first cause      spread  instances  threads  natively
          lu (lu.c:420)     barrier       36 %       95 %  branch lu.c:407    62 %         32        8      33 %
          main (main.c:61)  join          36 %       60 %  call lu.c:405      62 %          1        8
          work (main.c:30)  barrier      0.4 %                               0.8 %         32        8

          method        Counted under emulation; executed instructions stand for time. Method stacked, clusters of counts that
                        correlate by 0.9 or more.
          note          The limit on instructions was reached: what came later was not counted.
    "#]].assert_eq(&text);
}

#[test]
fn many_threads_have_a_mark_each() {
    check(
        &examples::many_threads(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            Threads take different numbers of turns through the loop at lu.c:412 (`rows > 0`): 0.51 of the
            imbalance. This depends on the schedule: another run may deal the work out otherwise.

            1 barrier at lu (lu.c:420)
                32 instances, 64 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by time.
                Depends on the schedule (threads take their work from a queue behind a mutex): another run may
                deal the work out otherwise.
                1 200 units of work dealt out at run time were dealt out anew, evenly by time: the imbalance is
                what stays.

                a loop in lu (lu.c:412)
                  412 │ while (rows > 0) {
                  413 │     rows--;
                  Score 0.51 (0.44 to 0.56); 40 % of the differences go through it; found in 7 of 32 instances.

                time     ▃▃▄▄▄▅▅▆▆▇▄▅▆▇▃▅▆█▅▇▄▆█▆█▅█▆▄▇▅█▆▄█▆▅▄█▇▆▅▄▄█▇▇▇▇▇▇▇▇█▄▄▅▆▇█▄▅▆█  1.0 ms to 2.9 ms
                a turns  ▁▁▁▂▂▃▄▅▆▇▁▃▅▆▁▃▆█▄▆▂▅█▄█▄█▅▂▆▃▇▅▃█▆▄▂▇▆▅▃▂▂█▇▇▇▆▆▇▇▇█▂▂▃▅▆▇▂▄▆█  3 to 99
                         a thread each, by number

                60 % of the differences in time are not explained. It may be caches, memory, other programs or
                the machine: times were measured, and only control flow was counted.

              method        Counts of another tool; time is measured. Method paper, clusters of counts that
                            correlate by 0.9 or more.
        "#]],
    );
}

#[test]
fn two_threads_have_no_score() {
    check(
        &examples::two_threads(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            Threads recurse differently often at lu.c:407 (`owner(i, j) == me`): 93 % of the difference goes
            through it.

            1 barrier at lu (lu.c:420)
                1 instance, 2 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
                2 threads in 1 instance are too few for statistics, so there is no score; shares of the
                difference are exact.

                a recursion in lu (lu.c:407)
                  407 │ if (owner(i, j) == me) {  /* parcel out blocks */
                  408 │     double *c = block(a, i, j);
                  93 % of the differences go through it.

                thread  time                     a recursions
                1       ████████████████  9.0 M  ████████████████ 40.0 k
                2       █                12.0 k  █                    10

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
        "#]],
    );
}

#[test]
fn source_and_binary_may_disagree() {
    check(
        &examples::misplaced(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            Threads take the branch at lu.c:38 differently often: 1.00 of the imbalance.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
                Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed instructions.

                a branch in lu (lu.c:38)
                  38 │
                  Score 1.00 (0.93 to 1.05); 97 % of the differences go through it.
                  Source and binary disagree here: the compiler made these instructions of several lines, and
                  the one that is named need not be the one that decides. The instructions:
                        0x4068e0  call 0x406100
                        0x4068e6  test ebx, ebx
                        0x4068ec  jne 0x4069f0

                thread  time                     natively                  a taken
                0       ████████████████ 12.4 M  ████████████████ 90.0 ms  ████████████████ 240
                1       ███████████████  11.3 M  ██████████████   81.0 ms  ██████████████   210
                2       █████████████    10.2 M  █████████████    72.0 ms  ████████████     180
                3       ████████████      9.1 M  ███████████      63.0 ms  ██████████       150
                4       ██████████        8.0 M  ██████████       54.0 ms  ████████         120
                5       █████████         6.9 M  ████████         45.0 ms  ██████            90
                6       ███████           5.8 M  ██████           36.0 ms  ████              60
                7       ██████            4.7 M  █████            27.0 ms  ██                30

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
        "#]],
    );
}

#[test]
fn what_is_not_control_flow() {
    check(
        &examples::caches(),
        WIDE,
        expect![[r#"
            Threads of lu take differently long natively: they idle 19 % of the time before the barrier at lu
            (lu.c:420).
            Threads execute equally; natively they differ by 38 %: caches, memory or the machine, not control
            flow.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 0 % (mean share idled), spread 0 % (shortest to longest), by executed instructions.
                Natively: imbalance 19 %, spread 38 %.

                thread  time                    natively
                0       ████████████████ 5.0 M  ████████████████ 90.0 ms
                1       ████████████████ 5.0 M  ██████████████   81.0 ms
                2       ████████████████ 5.0 M  █████████████    72.0 ms
                3       ████████████████ 5.0 M  ███████████      63.0 ms
                4       ████████████████ 5.0 M  ██████████       54.0 ms
                5       ████████████████ 5.0 M  ████████         45.0 ms
                6       ████████████████ 5.0 M  ██████           36.0 ms
                7       ████████████████ 5.0 M  █████            27.0 ms

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
        "#]],
    );
}

#[test]
fn without_lines_there_are_instructions() {
    check(
        &examples::stripped(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            Threads recurse differently often at python3+0x1c00, as python3+0x1b2c decides: score 0.99, though
            only 40 % of the differences go through it.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
                Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed instructions.

                a recursion at python3+0x1b2c
                  Score 0.99 (0.92 to 1.04); 40 % of the differences go through it.
                  No line is known here (-g makes them known). The instructions:
                          0x1b2c  jne 0x1b40

                b Threads take the branch at lu.c:407 (`owner(i, j) == me`) to lu.c:408 differently often.
                  407 │ if (owner(i, j) == me) {  /* parcel out blocks */
                  408 │     double *c = block(a, i, j);
                  Score 0.20 (0.13 to 0.25); works against the differences, by 50 % of them.

                thread  time                   natively                a recursions        b taken
                0       ██████████████ 12.4 M  ██████████████ 90.0 ms  ██████████████ 240  ██████████████ 240
                1       █████████████  11.3 M  █████████████  81.0 ms  ████████████   210  ████████████   210
                2       ████████████   10.2 M  ███████████    72.0 ms  ███████████    180  ███████████    180
                3       ██████████      9.1 M  ██████████     63.0 ms  █████████      150  █████████      150
                4       █████████       8.0 M  ████████       54.0 ms  ███████        120  ███████        120
                5       ████████        6.9 M  ███████        45.0 ms  █████           90  █████           90
                6       ███████         5.8 M  ██████         36.0 ms  ████            60  ████            60
                7       █████           4.7 M  ████           27.0 ms  ██              30  ██              30

                Threads that do more of this do less of something else, so these shares do not add up.

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
        "#]],
    );
}

#[test]
fn minor_causes_are_no_answer() {
    check(
        &examples::minor(),
        WIDE,
        expect![[r#"
            Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
            No branch, loop or call of weight goes with the imbalance. It may be the sum of many small
            differences of which none stands out, or come from inside of libraries.

            1 barrier at lu (lu.c:420)
                32 instances, 8 threads, from lu (lu.c:390); 92 % of all idle time, 33 % of all threads' time.
                Imbalance 36 % (mean share idled), spread 62 % (shortest to longest), by executed instructions.
                Natively: imbalance 33 %, spread 60 %; 91 % of that goes with executed instructions.

                thread  time                     natively
                0       ████████████████ 12.4 M  ████████████████ 90.0 ms
                1       ███████████████  11.3 M  ██████████████   81.0 ms
                2       █████████████    10.2 M  █████████████    72.0 ms
                3       ████████████      9.1 M  ███████████      63.0 ms
                4       ██████████        8.0 M  ██████████       54.0 ms
                5       █████████         6.9 M  ████████         45.0 ms
                6       ███████           5.8 M  ██████           36.0 ms
                7       ██████            4.7 M  █████            27.0 ms

              method        Counted under emulation; executed instructions stand for time. Method stacked,
                            clusters of counts that correlate by 0.9 or more.
              more          1 more cause: --all
        "#]],
    );
}

#[test]
fn each_verdict_is_a_sentence() {
    let told: Vec<String> = [
        Verdict::Balanced,
        Verdict::Unexplained,
        Verdict::TooFewThreads,
        Verdict::OneThread,
        Verdict::GeneratedCode,
    ]
    .into_iter()
    .map(|verdict| {
        let text =
            render_why(&examples::of_verdict(verdict), &examples::scene(), Look { width: 120, ..WIDE });
        text.split("\n\n").next().expect("an answer").to_owned()
    })
    .collect();
    expect![[r#"
        The threads of lu are balanced: they idle 36 % of the time before the barrier at lu (lu.c:420).
        Threads idle for less than 1 % here: there is nothing to find.

        Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
        No branch, loop or call goes with the imbalance more than chance would. It may be the sum of many small differences of
        which none stands out, or come from inside of libraries.

        Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
        8 threads in 32 instances are too few for statistics, so there is no score; shares of the difference are exact.

        One thread alone executes lu before the barrier at lu (lu.c:420): there is nobody to be unequal to.
        One thread alone executes this: it is not a parallel section.

        Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420).
        The code that differs was made while the program ran (by a compiler inside of it) and has no name here."#]].assert_eq(&told.join("\n\n"));
}

#[test]
fn nothing_seen() {
    check(
        &examples::why(Vec::new()),
        WIDE,
        expect![[r#"
            No parallel section was counted in lu: none of its own code runs between two places at which threads
            meet (barriers, joins, parallel regions).
        "#]],
    );
}

/// What every answer keeps to.
fn assert_sound(why: &Why, scene: &WhyScene, look: Look) {
    let text = render_why(why, scene, look);
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    for line in text.lines() {
        assert!(line.width() <= look.width.clamp(Look::NARROWEST, Look::WIDEST), "{}: {line:?}", look.width);
    }
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\u{1b}'), "{text:?}");
    assert!(look.color || !text.contains('\u{1b}'), "{text:?}");
    assert!(look.unicode || text.is_ascii(), "{text:?}");
}

#[test]
fn every_answer_keeps_to_the_terminal() {
    for (_, why, scene) in examples::all() {
        for width in [0, 44, 64, 72, 100, 400] {
            for unicode in [false, true] {
                assert_sound(&why, &scene, Look { unicode, ..Look::plain(width) });
            }
        }
    }
}

#[test]
fn colour_changes_no_letter() {
    let plain = render_why(&examples::lu(), &examples::scene(), WIDE);
    let color = render_why(&examples::lu(), &examples::scene(), Look { color: true, ..WIDE });
    let stripped: String =
        color.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    let bare = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(bare(&stripped), bare(&plain));
    assert_ne!(color, plain);
}

proptest! {
    #[test]
    fn any_name_is_harmless(name in any::<String>(), width in 0usize..130, unicode: bool) {
        let (why, scene) = examples::hostile(&name);
        assert_sound(&why, &scene, Look { unicode, ..Look::plain(width) });
        prop_assert_eq!(&why_json(&why, &scene)["run"]["command"][0], &serde_json::Value::from(name));
    }
}
