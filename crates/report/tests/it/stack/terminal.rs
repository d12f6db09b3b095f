//! The answer in a terminal.

use expect_test::{Expect, expect};
use holdup_report::{Look, render_stack};
use holdup_speedup::{Noise, SpeedupProfile};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::stack::examples;

const WIDE: Look = Look::plain(100);

fn check(profile: &SpeedupProfile, look: Look, expected: Expect) {
    expected.assert_eq(&render_stack(profile, look));
}

#[test]
fn the_whole_answer() {
    check(
        &examples::swaptions(),
        WIDE,
        expect![[r#"
            swaptions is 2.81 times as fast with 4 threads: sharing the cache costs most (0.84). Without it:
            3.65 times as fast, 3.4 s in the place of 4.4 s (1.30 times faster).
            Make what a thread uses at a time smaller (blocks, smaller types), or share what is only read
            (holdup explain shared-cache).

              threads    time  speedup
                    1  12.4 s     1.00  ███████████████
                    2   7.5 s     1.66  █████████████████████████sc▒▒x
                    4   4.4 s     2.81  ██████████████████████████████████████████s▒▒▒c▒▒▒▒▒▒▒▒▒▒▒x1

                 what             lost of 4  times faster without
              1  serial part           0.07                  1.02
              x  extra work            0.04                  1.01
              c  cache                 0.84                  1.30
              m  memory               −0.04
              s  synchronization       0.28                  1.10
              Of synchronization, 0.07 is work that is unevenly spread, and 0.21 waiting besides that.

              more cache    In threads joined in main (swaptions.c:88): with its 2 MiB of the cache each thread
                            loses 19 % of its time; with 2 MiB more it would lose 4.0 %.

              phases, by what perfect scaling would save
            1 threads joined in main (swaptions.c:88)
                96 % of the time, perfect scaling would save 1.3 s; speedup 2.81 of 4; lost: cache 0.84,
                synchronization 0.28, serial part 0.07.
            2 parallel region merge (merge.c:12)
                3.0 % of the time, perfect scaling would save 60.0 ms; speedup 1.70 of 4; lost: memory 1.90,
                extra work 0.40.

              discarded     With 4 threads, number 1 alone with 2 MiB of the cache: the pirate missed 9 % of its
                            probes.
              note          Threads wait often.
              cache         8 MiB of the L3's 32 MiB were really to be had.
              measured      11 runs in 83.0 s, as long as 6.7 runs with 1 thread; recorded runs take 1.2 %
                            longer, a pirate that takes nothing adds 0.4 % of CPU time, a run with a thread
                            alone takes 1.90 times as long.
        "#]],
    );
}

#[test]
fn nothing_is_named_where_all_of_it_may_be_noise() {
    let mut profile = examples::swaptions();
    let told = |profile: &SpeedupProfile| render_stack(profile, WIDE);
    profile.noise = Some(Noise { share: 0.1, speedup: 0.4, of_alone: false });
    assert!(told(&profile).contains("sharing the cache costs most (0.84)"));
    profile.noise = Some(Noise { share: 0.25, speedup: 1.0, of_alone: false });
    let noisy = told(&profile);
    assert!(noisy.contains("What it loses does not show"), "{noisy}");
    assert!(!noisy.contains("costs most") && !noisy.contains("holdup explain"), "{noisy}");
}

#[test]
fn what_is_missing_is_said() {
    check(
        &examples::missing(),
        WIDE,
        expect![[r#"
            app is 1.50 times as fast with 4 threads: having more threads than cores costs most (1.20). Without
            it: 2.70 times as fast, 1.9 s in the place of 3.3 s (1.80 times faster).
            Use no more threads than there are cores.

              threads   time  speedup
                    1  5.0 s     1.00  ███████████████
                    4  3.3 s     1.50  ███████████████████████e▒▒▒o▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒1▒&░░░░░░░░░░░░

                 what                                   lost of 4  times faster without
              &  extra work, cache and memory together       0.90                  1.60
              1  serial part                                 0.10                  1.07
              o  oversubscription                            1.20                  1.80
              e  environment                                 0.30                  1.20
              missing       extra work, cache and memory: not known. With 4 threads no run with a thread alone
                            counts: the machine has one core only.

              phases, by what perfect scaling would save
            1 threads that are never joined
                20 % of the time; its speedup is not known. The phase was not seen with 1 thread.

              simulated     Speedup 2.38 of 4 on nehalem: lost to extra work 0.67, shared caches 0.48, memory
                            0.47; measured here it is 1.50.

              note          One core only: no pirate can run beside a thread.
        "#]],
    );
}

#[test]
fn copies_of_a_program_with_one_thread() {
    check(
        &examples::copies(),
        WIDE,
        expect![[r#"
            4 copies of 403.gcc get 3.10 times the throughput of one: cache 0.42, memory 0.48.

              copies of 403.gcc  cache each  throughput  cache     memory
                              1       8 MiB        1.00   0.00       0.00
                              2       4 MiB   not known   0.11  not known
                              4       2 MiB        3.10   0.42       0.48
              4 copies want 3.8 GB/s from memory, 112 % of what it gives: that cannot be met.
              missing       2 copies were not run at once.
        "#]],
    );
}

#[test]
fn the_first_line_says_what_there_is_to_say() {
    let first = |profile: &SpeedupProfile| {
        let told = render_stack(profile, Look { width: 120, ..WIDE });
        told.lines().next().expect("a line").to_owned()
    };
    let all: Vec<String> =
        [examples::alone(), examples::perfect(), SpeedupProfile::default()].iter().map(first).collect();
    expect![[r#"
        swaptions ran 12.4 s with 1 thread; what its speedup is lost to shows with more threads.
        app is 3.99 times as fast with 4 threads: that is as good as perfect scaling.
        No run of the program was measured, so nothing can be said about how it scales."#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn narrow_terminals_without_unicode() {
    check(
        &examples::swaptions(),
        Look { unicode: false, ..Look::plain(50) },
        expect![[r#"
            swaptions is 2.81 times as fast with 4 threads:
            sharing the cache costs most (0.84). Without it:
            3.65 times as fast, 3.4 s in the place of 4.4 s
            (1.30 times faster).
            Make what a thread uses at a time smaller (blocks,
            smaller types), or share what is only read (holdup
            explain shared-cache).

              threads    time  speedup
                    1  12.4 s     1.00  #####
                    2   7.5 s     1.66  #########c~
                    4   4.4 s     2.81  ###############s~c~~~x

                 what             lost of 4
              1  serial part           0.07
              x  extra work            0.04
              c  cache                 0.84
              m  memory               -0.04
              s  synchronization       0.28
              Of synchronization, 0.07 is work that is
              unevenly spread, and 0.21 waiting besides that.

              more cache
                In threads joined in main (swaptions.c:88):
                with its 2 MiB of the cache each thread loses
                19 % of its time; with 2 MiB more it would
                lose 4.0 %.

              phases, by what perfect scaling would save
            1 threads joined in main (swaptions.c:88)
                96 % of the time, perfect scaling would save
                1.3 s; speedup 2.81 of 4; lost: cache 0.84,
                synchronization 0.28, serial part 0.07.
            2 parallel region merge (merge.c:12)
                3.0 % of the time, perfect scaling would save
                60.0 ms; speedup 1.70 of 4; lost: memory 1.90,
                extra work 0.40.

              discarded
                With 4 threads, number 1 alone with 2 MiB of
                the cache: the pirate missed 9 % of its
                probes.
              note
                Threads wait often.
              cache
                8 MiB of the L3's 32 MiB were really to be
                had.
              measured
                11 runs in 83.0 s, as long as 6.7 runs with 1
                thread; recorded runs take 1.2 % longer, a
                pirate that takes nothing adds 0.4 % of CPU
                time, a run with a thread alone takes 1.90
                times as long.
        "#]],
    );
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_acts_on_it() {
    for (name, profile) in examples::all() {
        for width in [40, 64, 80, 120] {
            for unicode in [true, false] {
                let told = render_stack(&profile, Look { unicode, ..Look::plain(width) });
                for line in told.lines() {
                    assert!(line.width() <= width, "{name} at {width}: {line:?}");
                    assert!(!line.contains(char::is_control), "{name}: {line:?}");
                    assert!(unicode || line.is_ascii(), "{name}: {line:?}");
                }
            }
        }
    }
}

#[test]
fn colours_only_add_to_what_is_said() {
    let plain = render_stack(&examples::swaptions(), WIDE);
    let told = render_stack(&examples::swaptions(), Look { color: true, ..WIDE });
    let stripped: String = told
        .split('\u{1b}')
        .enumerate()
        .map(
            |(index, part)| if index == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) },
        )
        .collect();
    let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_name_is_harmless(name in any::<String>(), width in 40usize..120) {
        let told = render_stack(&examples::hostile(&name), Look { unicode: false, ..Look::plain(width) });
        prop_assert!(told.chars().all(|c| c.is_ascii() && (c == '\n' || !c.is_control())));
        prop_assert!(told.lines().all(|line| line.width() <= width));
    }
}
