//! The faces of `holdup policies`: terminal, JSON and page, on tables built by hand.

mod examples;

use std::collections::BTreeSet;

use holdup_policies::Policies;
use holdup_report::{Look, answer_page, policies_json, policies_json_text, render_answer};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::shared::page::{NAMES, check, length, texts};
use crate::shared::schema::{all_follow, schema_of, undescribed};

const WIDE: Look = Look::plain(100);

fn answers() -> Vec<(String, Policies)> {
    let with = |programs| Policies { programs, ..examples::told() };
    vec![
        ("nothing".to_owned(), Policies::default()),
        ("one".to_owned(), with(vec![examples::hidden()])),
        ("several".to_owned(), with(vec![examples::hidden(), examples::waits_for_memory()])),
    ]
}

#[test]
fn every_answer_follows_the_schema_which_describes_all_of_it() {
    let schema = schema_of("policies");
    let json = || answers().into_iter().map(|(name, told)| (name, policies_json(&told)));
    all_follow(&schema, json());
    let mut out = BTreeSet::new();
    json().for_each(|(_, value)| undescribed(&value, &schema, &schema, "", &mut out));
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn the_terminal_says_which_thread_is_the_better_one_and_why() {
    let (_, told) = answers().swap_remove(2);
    let text = render_answer(&told.answer(), WIDE);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "Thread 2 is the most critical one (35 % of the time). But others run as long beside it: thread 4 is the better \
         one to make fast, as predicted (+4.0 % instead of +0.1 %).",
        "But it waits for memory in 90 % of that: thread 2 is the better one to make fast, as predicted",
        "Deciding anew in each slice (dynamic) gives +2.5 % for 2.0 % less energy; with all fast it is 4.0 % more.",
        "2 programs with 8 threads: dynamic +2.5 %, BIS +1.0 %, offline +0.1 %; energy -2.0 %, with all fast +4.0 %.",
        "The paper, over its programs: dynamic +4.6 %, BIS +2.4 %; energy -2.8 %, with all fast +2.5 %.",
        "slices of 50.0 µs where the paper has 10.0 ms: program and slice are smaller together.",
        "Sequential criticality: thread 2 works while nobody else does",
        "The most critical thread is the best one to accelerate.",
    ] {
        assert!(said.contains(sentence), "{sentence}\n{text}");
    }
}

#[test]
fn lines_fit_every_terminal() {
    for (_, told) in answers() {
        for width in [40, 64, 80, 120] {
            let text = render_answer(&told.answer(), Look::plain(width));
            let longest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(longest <= width, "{longest} of {width}:\n{text}");
        }
    }
}

/// With `HOLDUP_PAGES` set to a folder, the pages are written there, to be looked at.
#[test]
fn every_page_is_whole_and_hostile_names_do_nothing() {
    for (name, told) in answers() {
        let page = answer_page(&told.answer());
        if let Some(folder) = std::env::var_os("HOLDUP_PAGES") {
            let path = std::path::Path::new(&folder).join(format!("policies-{name}.html"));
            std::fs::write(path, &page).expect("a folder that can be written to");
        }
        check(&page);
    }
    for name in NAMES {
        let mut told = answers().swap_remove(2).1;
        for program in &mut told.programs {
            program.name = (*name).to_owned();
            program.command = vec![(*name).to_owned()];
            program.warnings = vec![(*name).to_owned()];
            program.threads.iter_mut().for_each(|thread| thread.name = Some((*name).to_owned()));
        }
        check(&answer_page(&told.answer()));
        assert!(!render_answer(&told.answer(), WIDE).contains('\u{1b}'));
        assert!(serde_json::from_str::<Value>(&policies_json_text(&told)).is_ok());
    }
}

#[test]
fn bars_of_energy_are_as_long_as_the_energies() {
    let (_, told) = answers().swap_remove(1);
    let page = scraper::Html::parse_document(&answer_page(&told.answer()));
    let bars = crate::shared::page::select(&page, "#answer table.answers svg.bar");
    let lengths: Vec<f64> = bars
        .iter()
        .map(|bar| {
            bar.children().filter_map(scraper::ElementRef::wrap).map(|mark| length(mark, "width")).sum()
        })
        .collect();
    // Those of all cores are the longest, 1.04 of those of nobody.
    assert_eq!(lengths.len(), 7);
    assert!((lengths[1] - 100.0).abs() < 0.01 && (lengths[0] - 100.0 / 1.04).abs() < 0.01, "{lengths:?}");
    assert!(texts(&page, "h1")[0].starts_with("Thread 2 is the most critical one"));
}
