//! The answer in a terminal.

use expect_test::{Expect, expect};
use holdup_analysis::speedup::SpeedupProfile;
use holdup_report::{Look, render_stack};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::examples;

const WIDE: Look = Look { width: 100, color: false, unicode: true };

fn check(profile: &SpeedupProfile, look: Look, expected: Expect) {
    expected.assert_eq(&render_stack(profile, look));
}

#[test]
fn the_whole_answer() {
    check(&examples::swaptions(), WIDE, expect![[""]]);
}

#[test]
fn what_is_missing_is_said() {
    check(&examples::missing(), WIDE, expect![[""]]);
}

#[test]
fn copies_of_a_program_with_one_thread() {
    check(&examples::copies(), WIDE, expect![[""]]);
}

#[test]
fn the_first_line_says_what_there_is_to_say() {
    let first = |profile: &SpeedupProfile| {
        let told = render_stack(profile, Look { width: 120, ..WIDE });
        told.lines().next().expect("a line").to_owned()
    };
    let all: Vec<String> =
        [examples::alone(), examples::perfect(), SpeedupProfile::default()].iter().map(first).collect();
    expect![[""]].assert_eq(&all.join("\n"));
}

#[test]
fn narrow_terminals_without_unicode() {
    check(&examples::swaptions(), Look { width: 50, color: false, unicode: false }, expect![[""]]);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_acts_on_it() {
    for (name, profile) in examples::all() {
        for width in [40, 64, 80, 120] {
            for unicode in [true, false] {
                let told = render_stack(&profile, Look { width, color: false, unicode });
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
        let told = render_stack(&examples::hostile(&name), Look { width, color: false, unicode: false });
        prop_assert!(told.chars().all(|c| c.is_ascii() && (c == '\n' || !c.is_control())));
        prop_assert!(told.lines().all(|line| line.width() <= width));
    }
}
