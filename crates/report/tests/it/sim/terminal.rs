//! What `holdup sim` says on a terminal.

use expect_test::{Expect, expect};
use holdup_report::{Look, SimTold, render_sim, sim_json};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::sim::examples;

const WIDE: Look = Look::plain(100);

fn check(told: &SimTold, look: Look, expected: Expect) {
    assert_sound(told, look);
    expected.assert_eq(&render_sim(told, look));
}

#[test]
fn threads_far_from_their_data() {
    check(
        &examples::fft(),
        WIDE,
        expect![[r#"
            8 threads on 8 cores of dunnington: 12.3 M cycles (4.6 ms), CPI 3.00; 22 % of the cycles are
            depend-fp (floating-point or vector operations that wait for each other), mostly in twiddle
            (fft.c:240).
            9 % of the instructions wait for what is not understood.

              group                                                                           CPI  instructions
              slave_start (7)  w████i███f████████████b1▓▓2▓3▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓m▓▓▓B▒▒▒▒▒▒▒▒-  3.00        28.7 M
              main             w████i███f████████████b1▓▓2▓3▓▓▓▓▓▓om▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  3.00         4.1 M

              threads                                                                 CPI  instructions
              0        w████i███f████████████b1▓▓2▓3▓▓▓▓▓▓om▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  3.00         4.1 M
              1 to 3   w████i███f████████████b1▓▓2▓3▓▓▓▓▓▓om▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  3.00        12.3 M
              4 to 7   w████i███f████████████b1▓▓2▓3o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓m▓▓▓B▒-  3.00        16.4 M

              core 38 %     w dispatch_width 9.0 %   i depend-int 6.0 %   f depend-fp 22 %   b branch 1.0 %
              memory 44 %   1 mem-l1d 5.0 %   2 mem-l2 3.0 %   3 mem-l3 6.8 %   o mem-off_socket 22 %
                            m mem-dram 7.5 %
              sync 17 %     B sync-barrier 17 %
              away 1.2 %    - imbalance 1.2 %

              of cycles  line                   mostly
                   25 %  twiddle (fft.c:240)    depend-fp 80 %, dispatch_width 20 %
                   19 %  transpose (fft.c:120)  mem-off_socket 75 %, mem-l3 16 %
                  7.1 %  swap (fft.c:88)        mem-dram 57 %, mem-off_socket 43 %
                  1.6 %  count (fft.c:31)       mem-l1_neighbor 100 %
                  0.9 %  0x9999                 branch 100 %

              of cycles  section                                    mostly
                   61 %  to the barrier at slave_start (fft.c:430)  mem-off_socket 60 %, depend-fp 40 %
                  3.0 %  to the barrier at slave_start (fft.c:420)  mem-off_socket 60 %, depend-fp 40 %

              False sharing in count (fft.c:31): counters[0] (thread 0 writes), counters[1] (thread 5 writes)
              and bytes 16 to 23 (thread 6 reads) are in one cache line, at 0x601000, that goes from core to
              core 12 345 times; 1.9 % of all cycles (latency). A line for each (alignas(64)) saves 3.3 % of the
              run, as simulated.

              memory of socket 0 is busy 74 % of the time; a request queues 31.2 cycles there.

            ! No machine was named: dunnington was taken.
            ! The recording has no addresses of 12 accesses.
            Simulated 142 million instructions each second.
        "#]],
    );
}

#[test]
fn more_cores() {
    check(
        &examples::streamcluster(),
        WIDE,
        expect![[r#"
            16 threads on 16 cores of dunnington: 8.3 M cycles (3.1 ms), CPI 2.08; 36 % of the cycles are
            sync-barrier (waiting at barriers). Of those in which threads execute, 67 % are depend-fp
            (floating-point or vector operations that wait for each other).
            16 cores are 7.23 times as fast as 2 (8.00 would be perfect). Of the core cycles that it takes more:
            sync-barrier 61 %, imbalance 18 %. Others became fewer: mem-l3 80 %, mem-l2 20 %.

              simulation                                                             time  speedup   CPI  cycles
              2 cores, as it is           w█i██f██████████2▓▓▓▓3▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B  22.5 ms           1.88  60.0 M
              4 cores, as it is           w█i███f█████████████2▓▓3▓▓▓▓▓▓▓▓▓▓▓▓▓B   9.7 ms     2.31  1.62  26.0 M
              8 cores, as it is           w██i████f██████████████████2▓3▓▓▓▓▓B▒-   4.0 ms     5.56  1.35  10.8 M
              16 cores, as it is          w█i██f███████████2L▒B▒▒▒▒▒▒▒▒▒▒▒▒▒-░░░   3.1 ms     7.23  2.08   8.3 M
              16 cores, free locks        w█i██f████████████3L▒B▒▒▒▒▒▒▒▒▒▒▒▒-░░░   3.0 ms     1.02  2.02   8.1 M
              16 cores, perfect branches  w█i██f████████████3L▒B▒▒▒▒▒▒▒▒▒▒▒▒-░░░   3.1 ms     1.01  2.06   8.2 M

              group                                                                        CPI  instructions
              threads (15)  w██i████f███████████████████3L▒▒B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░░░░  2.08        60.0 M
              main          w██i████f███████████████████3L▒▒B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░░░░  2.08         4.0 M

              threads                                                                 CPI  instructions
              0        w██i████f███████████████████3L▒▒B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░░░░  2.08         4.0 M
              1 to 15  w██i████f███████████████████3L▒▒B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░░░░  2.08        60.0 M

              core 46 %     w dispatch_width 4.6 %   i depend-int 9.2 %   f depend-fp 32 %
              memory 2.0 %  2 mem-l2 0.4 %   3 mem-l3 1.6 %
              sync 42 %     L sync-crit_sect 5.2 %   B sync-barrier 36 %
              away 10 %     - imbalance 10 %

            Speedup 8.43 of 16 on dunnington; most is lost to shared caches: 2.33 (cores that take cache from
            each other).
              speedup  by
                 8.43  speedup        what the machine as it is reaches
                 1.71  locks          threads that wait for locks
                −0.14  coherence      cache lines that go from core to core because of writes
                 1.48  memory         cores that share memory controllers and channels
                 0.19  interconnect   cores that share an interconnect
                 2.33  shared caches  cores that take cache from each other
                 0.40  extra work     cycles of all cores beyond those of one, even if nothing is shared
                 0.80  sync-barrier   waiting at barriers, even if nothing is shared
                 0.80  imbalance      cores without a thread, even so: serial parts, late starts, early ends
                   16  perfect        the sum of all
        "#]],
    );
}

#[test]
fn inputs_and_machines() {
    check(
        &examples::srad(),
        WIDE,
        expect![[r#"
            small: 16 threads on 16 cores of dunnington: 2.5 M cycles (937 µs), CPI 0.62; 60 % of the cycles are
            depend-fp (floating-point or vector operations that wait for each other).
            16 cores are 2.00 times as fast as 8 (2.00 would be perfect).

              simulation                                                             time  speedup   CPI  cycles
              small, dunnington, 8 cores   w██i██████f█████████████████████23▓▓B▒  1.9 ms           0.62   5.0 M
              small, dunnington, 16 cores  w██i██████f█████████████████████23▓▓B▒  937 µs     2.00  0.62   2.5 M
              large, dunnington, 8 cores   wi██f████████2▓▓▓▓3▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒  1.9 ms           0.62   5.0 M
              large, dunnington, 16 cores  wi██f████████2▓▓▓▓3▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒  937 µs     2.00  0.62   2.5 M
              large, zen4, 16 cores        w█i████f█████████████████2▓3▓▓▓▓▓▓▓▓B▒  375 µs     5.00  0.38   1.5 M

              group                                                                        CPI  instructions
              threads (15)  w████i█████████f███████████████████████████████████23▓▓▓▓B▒-  0.62        60.0 M
              main          w████i█████████f███████████████████████████████████23▓▓▓▓B▒-  0.62         4.0 M

              threads                                                                 CPI  instructions
              0        w████i█████████f███████████████████████████████████23▓▓▓▓B▒-  0.62         4.0 M
              1 to 15  w████i█████████f███████████████████████████████████23▓▓▓▓B▒-  0.62        60.0 M

              core 85 %     w dispatch_width 8.5 %   i depend-int 17 %   f depend-fp 60 %
              memory 10 %   2 mem-l2 2.0 %   3 mem-l3 8.0 %
              sync 4.0 %    L sync-crit_sect 0.5 %   B sync-barrier 3.5 %
              away 1.0 %    - imbalance 1.0 %
        "#]],
    );
}

#[test]
fn a_pipeline_on_a_plain_narrow_terminal() {
    check(
        &examples::dedup(),
        Look { unicode: false, ..Look::plain(60) },
        expect![[r#"
            10 threads on 4 cores of dunnington: 2.0 M cycles (750 us)
            +- 1.3 % (sampled), CPI 2.47; 51 % of the cycles are
            depend-int (integer operations that wait for each other).
            3 threads are not in the shares: barriers, conditions and
            joins take more than half of their time.

              group                                    CPI  instructions
              Compress (6)  i#############1====C~~R-  2.22         5.4 M
              Fragment      m=========C~~~I.......-.  2.22         900 k

              threads                                  CPI  instructions
              0 fft       J~~~~~~~~~~~~~~~~~~~~~~~~-     -         1.0 k
              1 worker 1  m=========C~~~~~I......-..  2.22         900 k
              2 to 7      i###############1====C~R.-  2.22         5.4 M
              8 to 9      i####C~~~~~~~~~~~~~~~~~-..  2.22         1.8 M

              core 51 %
                i depend-int 51 %
              memory 23 %
                1 mem-l1d 17 %   m mem-dram 5.7 %
              sync 11 %
                C sync-cond 11 %   J sync-join
              away 14 %
                I io 4.3 %   R no_core 4.3 %   - imbalance 5.7 %
        "#]],
    );
}

#[test]
fn sixty_four_threads_fit_on_a_screen() {
    check(
        &examples::many(64),
        WIDE,
        expect![[r#"
            64 threads on 64 cores of dunnington: 3.0 M cycles (1.1 ms), CPI 4.29; 40 % of the cycles are
            mem-off_socket (data from the caches of another socket).
            24 threads are not in the shares: barriers, conditions and joins take more than half of their time.

              threads                                                                  CPI  instructions
              0 w0      w█████i█████1▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         700 k
              1 to 11   w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         7.7 M
              12 to 15  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              16 to 19  w█████i█████1▓▓▓▓▓o▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              20 to 23  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              24 to 27  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              28 to 31  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              32 to 35  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              36 to 51  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29        11.2 M
              52 to 55  w█████i█████1▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              56 to 59  w█████i█████1▓▓▓▓▓o▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M
              60 to 63  w█████i█████1▓▓▓▓▓o▓▓B▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒-░░  4.29         2.8 M

              core 20 %     w dispatch_width 10 %   i depend-int 10 %
              memory 50 %   1 mem-l1d 10 %   o mem-off_socket 40 %
              sync 25 %     B sync-barrier 25 %
              away 5.0 %    - imbalance 5.0 %
        "#]],
    );
}

#[test]
fn nothing_to_tell() {
    let told = |told: &SimTold| render_sim(told, WIDE);
    expect![[r#"
        Nothing was simulated.
        2 threads on 4 cores of dunnington: nothing was executed.
    "#]]
    .assert_eq(&[told(&SimTold::default()), told(&examples::no_cycles())].concat());
}

/// What every answer keeps to.
fn assert_sound(told: &SimTold, look: Look) {
    let text = render_sim(told, look);
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
    for line in text.lines() {
        assert!(line.width() <= look.width.clamp(Look::NARROWEST, Look::WIDEST), "{}: {line:?}", look.width);
    }
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\u{1b}'), "{text:?}");
    assert!(look.color || !text.contains('\u{1b}'), "{text:?}");
    assert!(look.unicode || text.is_ascii(), "{text:?}");
}

#[test]
fn every_answer_keeps_to_the_terminal() {
    for (_, told) in examples::all() {
        for width in [0, 44, 64, 72, 100, 400] {
            for unicode in [false, true] {
                assert_sound(&told, Look { unicode, ..Look::plain(width) });
            }
        }
    }
}

#[test]
fn colour_changes_no_letter() {
    for told in [examples::fft(), examples::streamcluster(), examples::every_component()] {
        let plain = render_sim(&told, WIDE);
        let color = render_sim(&told, Look { color: true, ..WIDE });
        let stripped: String =
            color.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
        let bare = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(bare(&stripped), bare(&plain));
        assert_ne!(color, plain);
    }
}

#[test]
fn answers_fit_on_a_screen() {
    for (name, told) in examples::all() {
        let lines = render_sim(&told, WIDE).lines().count();
        assert!(told.all || lines <= 60, "{name}: {lines} lines");
    }
}

proptest! {
    #[test]
    fn any_name_is_harmless(name in any::<String>(), width in 0usize..130, unicode: bool) {
        let told = examples::hostile(&name);
        assert_sound(&told, Look { unicode, ..Look::plain(width) });
        prop_assert_eq!(&sim_json(&told)["run"]["command"][0], &serde_json::Value::from(name));
    }
}
