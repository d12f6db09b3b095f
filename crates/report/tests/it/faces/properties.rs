//! What holds for each answer, whatever is in it.

use holdup_criticality::{Diagnosis, FindingKind, ProcessTree};
use holdup_model::Run;
use holdup_report::{Look, PageOptions, json, json_text, page, render, render_brief};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::faces::examples;

/// The text without the colour codes that holdup itself writes; anything else that looks like a code stays.
fn without_colors(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let code = &rest[at + 2..];
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(code.len());
        assert!(code[end..].starts_with('m'), "a code that sets no colour: {code:?}");
        out.push_str(&rest[..at]);
        rest = &code[end + 1..];
    }
    out + rest
}

fn check(run: &Run, diagnoses: &[Diagnosis], look: Look) {
    for render in [render, render_brief] {
        check_text(&render(run, diagnoses, look), look);
    }
    let lines = render_brief(run, diagnoses, look).lines().count();
    assert!((1..=5).contains(&lines), "{lines} lines");
}

fn check_text(shown: &str, look: Look) {
    let text = without_colors(shown);
    assert!(look.color || text == shown, "colour codes where none are wanted");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(look.unicode || text.is_ascii(), "{text:?}");
    for line in text.lines() {
        assert!(line.width() <= look.width, "{} columns in {}: {line:?}", line.width(), look.width);
    }
}

#[test]
fn examples_fit_in_every_look() {
    for (_, run, diagnoses) in examples::all() {
        for width in [40, 41, 55, 63, 64, 80, 99, 100, 120, 300] {
            for (color, unicode) in [(false, true), (true, true), (false, false)] {
                check(&run, &diagnoses, Look { color, unicode, ..Look::plain(width) });
            }
        }
    }
}

#[test]
fn examples_fit_on_a_screen() {
    for (name, run, diagnoses) in examples::all() {
        for width in [80, 100, 120] {
            let lines = render(&run, &diagnoses, Look::plain(width)).lines().count();
            assert!(lines <= 30, "{name}: {lines} lines at {width} columns");
        }
    }
}

#[test]
fn a_brief_answer_begins_with_the_same_findings() {
    for (name, run, diagnoses) in examples::all() {
        for width in [100, 120] {
            let look = Look::plain(width);
            let firsts = |text: String| -> Vec<String> {
                let rows = text.lines().filter(|line| {
                    line.split_once(' ')
                        .is_some_and(|(rank, _)| rank.parse::<u8>().is_ok_and(|rank| rank < 10))
                });
                rows.map(|row| row.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect()
            };
            let (brief, whole) =
                (firsts(render_brief(&run, &diagnoses, look)), firsts(render(&run, &diagnoses, look)));
            let stands = brief.is_empty() || whole.windows(brief.len()).any(|rows| rows == brief);
            assert!(stands, "{name}: {brief:?} of {whole:?}");
            assert_eq!(brief.is_empty(), whole.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_wide_answer_shortens_nothing() {
    let name = "std::map<int, std::vector<std::pair<int, long>>>::emplace_hint_of_a_name_that_is_long_enough_to_be_cut";
    let (mut run, diagnoses) = examples::many_processes();
    let mut diagnosis = diagnoses[0].clone();
    diagnosis.findings[0].what = format!("mutex, held in {name}");
    run.processes[0].threads[2].name = Some("a_thread_with_a_long_name".to_owned());
    let shown = |names| render(&run, std::slice::from_ref(&diagnosis), Look { names, ..Look::plain(200) });
    assert!(shown(Look::WHOLE).contains(name) && !shown(Look::WHOLE).contains('…'), "{}", shown(Look::WHOLE));
    assert!(!shown(Look::NAMES).contains(name), "{}", shown(Look::NAMES));
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z:<>]{0,300}",
        "(\x1b\\[[0-9;]{0,3}[A-Za-z]|[\u{202a}-\u{202e}\u{80}-\u{9f}\n\r\t]|x){0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_name_breaks_out(
        names in prop::collection::vec(hostile(), 12),
        width in 40usize..160,
        color: bool,
        unicode: bool,
        others in 0usize..6,
    ) {
        let (mut run, mut diagnoses) = examples::many_processes();
        run.processes[0].command[0] = names[0].clone();
        run.processes[0].threads[0].name = Some(names[1].clone());
        run.processes[0].threads[2].name = Some(names[2].clone());
        run.processes[1].command[0] = names[3].clone();
        run.unseen = vec![names[4].clone()];
        run.warnings = vec![names[5].clone()];
        diagnoses[0].findings[0].what = names[6].clone();
        diagnoses[0].findings[0].evidence = vec![names[7].clone()];
        diagnoses[0].findings[1].hint = names[0].clone();
        examples::sample_it(&mut run, &mut diagnoses[0]);
        let hot = diagnoses[0].hot.as_mut().unwrap();
        hot.lines[0].inside = Some(names[8].clone());
        hot.functions[0].inside = Some(names[8].clone());
        let frame = &mut run.processes[0].sites[hot.lines[0].place.index()].frames[0];
        frame.function = Some(names[9].clone());
        frame.file = Some(names[10].clone()).filter(|_| others != 0);
        frame.module = Some(names[11].clone());
        diagnoses.truncate(1 + others);
        check(&run, &diagnoses, Look { color, unicode, ..Look::plain(width) });

        let text = json_text(&run, &diagnoses);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &json(&run, &diagnoses));
        prop_assert_eq!(read["findings"][0]["what"].as_str(), Some(names[6].as_str()));
    }

    #[test]
    fn no_program_of_a_build_breaks_out(
        names in prop::collection::vec(hostile(), 6),
        width in 40usize..160,
        color: bool,
        unicode: bool,
    ) {
        let (mut run, mut diagnoses) = examples::a_build();
        for (process, name) in run.processes.iter_mut().zip(&names) {
            process.command[0] = name.clone();
        }
        run.processes[2].command[3] = names[5].clone();
        diagnoses[0].tree = ProcessTree::of(&run);
        check(&run, &diagnoses, Look { color, unicode, ..Look::plain(width) });
        let page = page(&run, &diagnoses, &PageOptions::default());
        prop_assert!(!page.chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn any_figures_have_a_form(
        wall in 0u64..u64::MAX / 4,
        cost in 0u64..u64::MAX / 4,
        parallelism in 0.0f64..1e6,
        width in 40usize..160,
    ) {
        let (mut run, mut diagnoses) = examples::planted_lock();
        examples::sample_it(&mut run, &mut diagnoses[0]);
        diagnoses[0].wall = holdup_model::Nanos::new(wall);
        let hot = diagnoses[0].hot.as_mut().unwrap();
        for spot in [&mut hot.lines[0], &mut hot.functions[0]] {
            spot.active = holdup_model::Nanos::new(cost);
            spot.critical = cost as f64 * parallelism;
            spot.samples = cost;
        }
        diagnoses[0].over_time.phases[0].parallelism = parallelism;
        diagnoses[0].over_time.phases[0].end = holdup_model::Time::from_nanos(wall);
        diagnoses[0].parallelism = parallelism;
        let cost = holdup_model::Nanos::new(cost);
        diagnoses[0].findings.push(examples::finding(FindingKind::Io, "I/O", cost));
        check(&run, &diagnoses, Look::plain(width));
    }
}
