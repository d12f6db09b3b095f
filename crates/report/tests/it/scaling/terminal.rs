//! The answer in a terminal.

use expect_test::{Expect, expect};
use holdup_report::{Look, render_scale, scale_json};
use holdup_scaling::{HintGain, Scaling};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::scaling::examples;

const WIDE: Look = Look::plain(100);

fn check(scaling: &Scaling, look: Look, expected: Expect) {
    expected.assert_eq(&render_scale(scaling, look));
}

#[test]
fn the_whole_answer() {
    check(
        &examples::lu(),
        WIDE,
        expect![[r#"
            lu ran 12.4 s with 1 thread and 3.1 s with 8 on 8 cores: 4.00 times as fast with 8 times the
            threads, an efficiency of 50 %.
            Of the 3.1 s with 8 threads, 1.6 s (50 %) are lost against perfect scaling, most of it to imbalance
            (800 ms); most in blts (lu.c:88).
            What helps most: deal the work out in another way at blts (lu.c:91). That saves 710 ms (640 to
            760 ms), 1.30 times faster.

              threads    time  range of 3 runs  speedup  efficiency    lost  mostly to
                    1  12.4 s  12.3 to 12.6 s      1.00       100 %       0
                    2   6.8 s  6.7 to 6.9 s        1.82        91 %  600 ms  imbalance 270 ms
                    4   4.2 s  4.1 to 4.2 s        2.99        75 %   1.1 s  imbalance 530 ms
                    8   3.1 s  3.1 to 3.2 s        4.00        50 %   1.6 s  imbalance 800 ms

              speedup
                  64 ┤                                                            ····
                     │                                                    ········
                     │                                            ········
                  16 ┤                                    ········
                     │                            ········                           +
                   4 ┤                    ········    ●         +          +
                     │            ········ ●
                     │    ·······●
                   1 ┤●···
                     └┬──────────┬─────────┬──────────┬─────────┬──────────┬─────────┬
                      1          2         4          8         16         32       64 threads
                      ● measured   · perfect   + Amdahl's law

              where                                                                 time  efficiency  could save
            1 parallel region blts (lu.c:88)                                       1.8 s        49 %      913 ms
                imbalance 720 ms (40 %), lock contention 70.0 ms (3.9 %), work inflation 60.0 ms (3.3 %);
                executed 250 times, 40 of them recorded whole, give or take 3.0 %.
            2 parallel region rhs (rhs.c:31)                                       1.0 s        62 %      375 ms
                work inflation 260 ms (26 %), imbalance 80.0 ms (8.0 %), scheduling 20.0 ms (2.0 %).
                With the fewest threads as well: lock algorithm 100 ms (10 %).
            3 one thread alone, outside of all regions                            300 ms        12 %      263 ms
                serial part 263 ms (88 %); executed 291 times, 40 of them recorded whole, give or take 3.0 %.

              what to do
            1 deal the work out in another way: blts (lu.c:91)
                Saves 710 ms (640 to 760 ms), 1.30 times faster (chunks dealt out again in replayed time).
                The iterations of the loop at blts (lu.c:91) cost differently, and each thread has a fixed share
                of them: 720 ms (40 % of the region) are lost. Deal them out dynamically (schedule(dynamic)).
                Even work keeps more threads busy at once, and takes 1.3 % more CPU time then: that is in the
                gain.
            2 fix the use of caches and memory: rhs (rhs.c:31)
                Saves at most 260 ms, 1.09 times faster (chunks dealt out again in replayed time).
                The same work takes 43 % more CPU time with 8 threads than with 1: caches and memory are shared.
                Let each thread work on data of its own that stays in its cache, and write nothing that others
                read nearby.
            3 parallelize what one thread does alone
                What it saves is not known (chunks dealt out again in replayed time).
                One thread is on its own for 300 ms (9.7 % of the run). Parallelize that.

              efficiencies                         1     2     4     8
              parallel efficiency              100 %  91 %  74 %  50 %
                parallel region efficiency     100 %  95 %  82 %  60 %
                  load balance                 100 %  96 %  86 %  71 %
                  runtime and synchronization  100 %  99 %  95 %  85 %
                computational scalability      100 %  96 %  91 %  83 %

              more threads  At 64 threads: 9–11 % efficiency; blts (lu.c:88) takes most of the loss.
              model         Amdahl's law, T(n) = 12.4 s · (0.14 + 0.86 / n); off by 2.1 % where each point is
                            predicted from the others.
              note          With 8 threads the machine was busy with 0.4 other threads on average.
        "#]],
    );
}

#[test]
fn a_narrow_terminal_and_plain_characters() {
    check(
        &examples::lu(),
        Look { unicode: false, ..Look::plain(44) },
        expect![[r#"
            lu ran 12.4 s with 1 thread and 3.1 s with 8
            on 8 cores: 4.00 times as fast with 8 times
            the threads, an efficiency of 50 %.
            Of the 3.1 s with 8 threads, 1.6 s (50 %)
            are lost against perfect scaling, most of it
            to imbalance (800 ms); most in blts
            (lu.c:88).
            What helps most: deal the work out in
            another way at blts (lu.c:91). That saves
            710 ms (640 to 760 ms), 1.30 times faster.

              threads    time  efficiency    lost
                    1  12.4 s       100 %       0
                    2   6.8 s        91 %  600 ms
                    4   4.2 s        75 %   1.1 s
                    8   3.1 s        50 %   1.6 s

              speedup
                  64 |                               ..
                     |                           ....
                     |                       ....
                  16 |                   ....
                     |               ....             +
                   4 |           .... o    +     +
                     |       ....o
                     |   ..o.
                   1 |o..
                     ++----+-----+----+----+-----+----+
                      1    2     4    8    16    32  64
                      o measured   . perfect   +
                      Amdahl's law

              where
            1 parallel region blts (lu.c:88)
                time 1.8 s, efficiency 49 %, could save
                913 ms
                imbalance 720 ms (40 %), lock contention
                70.0 ms (3.9 %), work inflation 60.0 ms
                (3.3 %); executed 250 times, 40 of them
                recorded whole, give or take 3.0 %.
            2 parallel region rhs (rhs.c:31)
                time 1.0 s, efficiency 62 %, could save
                375 ms
                work inflation 260 ms (26 %), imbalance
                80.0 ms (8.0 %), scheduling 20.0 ms
                (2.0 %).
                With the fewest threads as well: lock
                algorithm 100 ms (10 %).
            3 one thread alone, outside of all regions
                time 300 ms, efficiency 12 %, could save
                263 ms
                serial part 263 ms (88 %); executed 291
                times, 40 of them recorded whole, give
                or take 3.0 %.

              what to do
            1 deal the work out in another way: blts
              (lu.c:91)
                Saves 710 ms (640 to 760 ms), 1.30 times
                faster (chunks dealt out again in
                replayed time).
                The iterations of the loop at blts
                (lu.c:91) cost differently, and each
                thread has a fixed share of them: 720 ms
                (40 % of the region) are lost. Deal them
                out dynamically (schedule(dynamic)).
                Even work keeps more threads busy at
                once, and takes 1.3 % more CPU time
                then: that is in the gain.
            2 fix the use of caches and memory: rhs
              (rhs.c:31)
                Saves at most 260 ms, 1.09 times faster
                (chunks dealt out again in replayed
                time).
                The same work takes 43 % more CPU time
                with 8 threads than with 1: caches and
                memory are shared. Let each thread work
                on data of its own that stays in its
                cache, and write nothing that others
                read nearby.
            3 parallelize what one thread does alone
                What it saves is not known (chunks dealt
                out again in replayed time).
                One thread is on its own for 300 ms
                (9.7 % of the run). Parallelize that.

              efficiencies                1     2     8
              parallel efficiency     100 %  91 %  50 %
                parallel ...ficiency  100 %  95 %  60 %
                  load balance        100 %  96 %  71 %
                  runtime ...ization  100 %  99 %  85 %
                computati...lability  100 %  96 %  83 %

              more threads
                At 64 threads: 9-11 % efficiency; blts
                (lu.c:88) takes most of the loss.
              model
                Amdahl's law, T(n) = 12.4 s * (0.14 +
                0.86 / n); off by 2.1 % where each point
                is predicted from the others.
              note
                With 8 threads the machine was busy with
                0.4 other threads on average.
        "#]],
    );
}

#[test]
fn one_number_of_threads() {
    check(
        &examples::one_point(),
        WIDE,
        expect![[r#"
            lu ran 12.4 s with 1 thread on 8 cores; how it scales shows with a second number of threads.
            Next to nothing of that time was lost to working together.

              efficiencies                         1
              parallel efficiency              100 %
                parallel region efficiency     100 %
                  load balance                 100 %
                  runtime and synchronization  100 %
                computational scalability      100 %

              note          With 8 threads the machine was busy with 0.4 other threads on average.
        "#]],
    );
}

#[test]
fn a_program_that_uses_as_many_threads_as_it_likes() {
    check(
        &examples::ignored(),
        WIDE,
        expect![[r#"
        How lu scales is not known: 2 threads worked each time, whatever OMP_NUM_THREADS said. Put {threads}
        where its arguments take a number.

          threads    time  range of 3 runs
                1  12.4 s  12.3 to 12.6 s
                2   6.8 s  6.7 to 6.9 s
                4   4.2 s  4.1 to 4.2 s
                8   3.1 s  3.1 to 3.2 s

          note          With 8 threads the machine was busy with 0.4 other threads on average.
    "#]],
    );
}

#[test]
fn better_than_perfect() {
    check(
        &examples::superlinear(),
        WIDE,
        expect![[r#"
            stencil ran 9.0 s with 2 threads and 1.8 s with 8: 5.00 times as fast with 4 times the threads, an
            efficiency of 125 %.
            It scales better than perfectly: it takes 450 ms less than its share.

              threads   time  range of 3 runs  speedup  efficiency     lost  mostly to
                    2  9.0 s  8.9 to 9.2 s        1.00       100 %        0
                    8  1.8 s  1.8 to 1.8 s        5.00       125 %  −450 ms  imbalance 50.0 ms

              speedup
                     │                                                               ●
                   4 ┤                                                            ····
                     │                                                   ·········
                     │                                          ·········
                     │                                ··········
                   2 ┤                       ·········
                     │              ·········
                     │     ·········
                   1 ┤●····
                     └┬──────────────────────────────────────────────────────────────┬
                      2                                                              8 threads
                      ● measured   · perfect

              model         No law was fitted: that takes at least three numbers of threads.
        "#]],
    );
}

#[test]
fn slower_with_more_threads() {
    check(
        &examples::slower(),
        WIDE,
        expect![[r#"
            lu ran 1.0 s with 1 thread and 1.7 s with 4 on 2 cores: 1.70 times as long with 4 times the threads,
            an efficiency of 15 %.
            Of the 1.7 s with 4 threads, 1.4 s (85 %) are lost against perfect scaling, most of it to lock
            contention (1.3 s). It is fastest with 2 threads: 900 ms.
            What helps most: deal the work out in another way at blts (lu.c:91). That saves 710 ms (640 to
            760 ms), 1.72 times faster.

              threads    time  range of 3 runs  speedup  efficiency    lost  mostly to
                    1   1.0 s  990 ms to 1.0 s     1.00       100 %       0
                    2  900 ms  891 to 918 ms       1.11        56 %  400 ms  imbalance 600 ms
                    4   1.7 s  1.7 to 1.7 s        0.59        15 %   1.4 s  lock contention 1.3 s

              speedup
                  64 ┤                                                          ······
                     │                                                ··········
                  16 ┤                                     ···········
                     │                           ··········
                   4 ┤                ···········
                     │      ··········
                   1 ┤●·····     ●
                     │                     ●                    +          +         +
                 1/4 ┤                                +
                     └┬──────────┬─────────┬──────────┬─────────┬──────────┬─────────┬
                      1          2         4          8         16         32       64 threads
                      ● measured   · perfect   + Amdahl's law

              what to do
            1 deal the work out in another way: blts (lu.c:91)
                Saves 710 ms (640 to 760 ms), 1.72 times faster (chunks dealt out again in replayed time).
                The iterations of the loop at blts (lu.c:91) cost differently, and each thread has a fixed share
                of them: 720 ms (40 % of the region) are lost. Deal them out dynamically (schedule(dynamic)).
                Even work keeps more threads busy at once, and takes 1.3 % more CPU time then: that is in the
                gain.
            2 fix the use of caches and memory
                Saves at most 260 ms, 1.18 times faster (chunks dealt out again in replayed time).
                The same work takes 43 % more CPU time with 8 threads than with 1: caches and memory are shared.
                Let each thread work on data of its own that stays in its cache, and write nothing that others
                read nearby.
            3 parallelize what one thread does alone
                What it saves is not known (chunks dealt out again in replayed time).
                One thread is on its own for 300 ms (9.7 % of the run). Parallelize that.

              efficiencies                         1     2     4     8
              parallel efficiency              100 %  91 %  74 %  50 %
                parallel region efficiency     100 %  95 %  82 %  60 %
                  load balance                 100 %  96 %  86 %  71 %
                  runtime and synchronization  100 %  99 %  95 %  85 %
                computational scalability      100 %  96 %  91 %  83 %

              more threads  At 64 threads: 9–11 % efficiency; parallel region without a known place takes most
                            of the loss.
              model         Amdahl's law, T(n) = 12.4 s · (0.14 + 0.86 / n); off by 2.1 % where each point is
                            predicted from the others.
              note          With 8 threads the machine was busy with 0.4 other threads on average.
        "#]],
    );
}

#[test]
fn nothing_measured() {
    let text = render_scale(&Scaling::default(), WIDE);
    assert_eq!(text, "No run of the program was measured, so nothing can be said about how it scales.\n");
}

#[test]
fn a_hint_that_saves_nothing_is_not_recommended() {
    let mut scaling = examples::lu();
    scaling.hints.truncate(1);
    scaling.hints[0].gain = Some(HintGain { time: -5, low: -9, high: 3 });
    let text = render_scale(&scaling, WIDE);
    assert!(!text.contains("What helps most") && text.contains("Saves nothing: −9 to 3 ns"), "{text}");
}

/// What every answer keeps to.
fn assert_sound(scaling: &Scaling, look: Look) {
    let text = render_scale(scaling, look);
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
    for (_, scaling) in examples::all() {
        for width in [0, 44, 64, 72, 100, 400] {
            for unicode in [false, true] {
                assert_sound(&scaling, Look { unicode, ..Look::plain(width) });
            }
        }
    }
}

#[test]
fn colour_changes_no_letter() {
    let plain = render_scale(&examples::lu(), WIDE);
    let color = render_scale(&examples::lu(), Look { color: true, ..WIDE });
    let stripped: String =
        color.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    let bare = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(bare(&stripped), bare(&plain));
    assert_ne!(color, plain);
}

proptest! {
    #[test]
    fn any_name_is_harmless(name in any::<String>(), width in 0usize..130, unicode: bool) {
        let scaling = examples::hostile(&name);
        assert_sound(&scaling, Look { unicode, ..Look::plain(width) });
        prop_assert_eq!(&scale_json(&scaling)["command"][0], &serde_json::Value::from(name));
    }
}
