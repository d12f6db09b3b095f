//! What a page says, read without its scripts.

use std::collections::{BTreeMap, BTreeSet};

use holdup_criticality::Diagnosis;
use holdup_model::{Nanos, Process, Run, Time};
use holdup_report::{PageOptions, SourceFile, page, source_files};
use holdup_testkit::any_process;
use proptest::prelude::*;
use scraper::Html;

use crate::page::examples::{self, select, text};

fn read(run: &Run, diagnoses: &[Diagnosis]) -> Html {
    Html::parse_document(&page(run, diagnoses, &PageOptions::default()))
}

fn texts(page: &Html, selector: &str) -> Vec<String> {
    select(page, selector).into_iter().map(text).collect()
}

#[test]
fn the_answer_is_read_without_scripts() {
    let run = examples::run(vec![examples::planted()]);
    let diagnoses = examples::diagnosed(&run);
    let page = read(&run, &diagnoses);
    let findings = texts(&page, "#answer li.f h3");
    assert_eq!(findings.len(), diagnoses[0].findings.len());
    assert!(findings[0].contains("table_lock"), "{findings:?}");
    for (shown, finding) in texts(&page, "#answer .hint").iter().zip(&diagnoses[0].findings) {
        assert_eq!(*shown, finding.hint);
    }
    let threads = texts(&page, "#threads table.states tbody th b");
    assert_eq!(threads.len(), 4);
    assert!(threads.iter().any(|name| name.starts_with("worker 2")), "{threads:?}");
    let locks = texts(&page, "#locks tbody th b");
    assert!(locks.contains(&"table_lock".to_owned()) && locks.contains(&"round_end".to_owned()), "{locks:?}");
    assert!(texts(&page, "h1")[0].starts_with("convert ran "), "{:?}", texts(&page, "h1"));
    assert_eq!(texts(&page, ".command"), ["$ /usr/bin/convert photos/"]);
    // Each section has its heading, and each heading a place in the line of links.
    let sections: BTreeSet<String> =
        select(&page, "section").iter().map(|section| format!("#{}", section.attr("id").unwrap())).collect();
    let links: BTreeSet<String> =
        select(&page, "nav a").iter().map(|link| link.attr("href").unwrap().to_owned()).collect();
    assert_eq!(sections, links);
}

#[test]
fn parts_of_the_bar_add_up_to_all_of_it() {
    let run = examples::run(vec![examples::planted()]);
    let page = read(&run, &examples::diagnosed(&run));
    let widths: f64 = select(&page, ".budget svg.bar rect")
        .iter()
        .map(|piece| piece.attr("width").unwrap().trim_end_matches('%').parse::<f64>().unwrap())
        .sum();
    assert!((widths - 100.0).abs() < 0.01, "{widths}");
}

#[test]
fn gains_share_one_scale() {
    let run = examples::run(vec![examples::planted()]);
    let diagnosis = examples::with_gains(examples::diagnosed(&run).remove(0), "table_lock");
    let shown = read(&run, std::slice::from_ref(&diagnosis));
    let dots: Vec<f64> = select(&shown, ".findings ol .given .dot")
        .iter()
        .map(|dot| dot.attr("cx").unwrap().trim_end_matches('%').parse().unwrap())
        .collect();
    assert_eq!(dots.len(), diagnosis.findings.len());
    let gains: Vec<f64> =
        diagnosis.findings.iter().map(|finding| finding.gain.as_ref().unwrap().time.get() as f64).collect();
    for (dot, gain) in dots.iter().zip(&gains) {
        assert!((dot / dots[0] - gain / gains[0]).abs() < 0.001, "{dots:?} for {gains:?}");
    }
    assert!(texts(&shown, ".gain")[0].contains("capped by the barrier table_lock"));
    assert_eq!(select(&shown, ".together").len(), 1);
    // A curve without points is not drawn; each of the others has its numbers below it.
    assert_eq!(select(&shown, "#what-if figure").len(), 2);
    // What is removed is not on the curve, which has the two other points.
    let curve = select(&shown, "#what-if path.curve")[0].attr("d").unwrap();
    assert_eq!(curve.matches(['M', 'L']).count(), 2, "{curve}");
    assert_eq!(select(&shown, "#what-if .whisker").len(), 1);
    let numbers = texts(&shown, "#what-if figure:first-child table tbody th");
    assert_eq!(numbers, ["1", "2.50", "removed"]);
}

#[test]
fn without_a_replay_the_page_says_so() {
    let run = examples::run(vec![examples::planted()]);
    let page = read(&run, &examples::diagnosed(&run));
    assert!(select(&page, ".gain").is_empty());
    assert!(texts(&page, "#what-if .none")[0].contains("was not replayed"));
    assert!(texts(&page, "#lines .lead")[0].contains("No running thread was sampled"));
    assert!(texts(&page, "main")[0].contains("this recording was not replayed"));
}

#[test]
fn a_replay_that_gives_no_finding_a_gain_is_not_denied() {
    let run = examples::run(vec![examples::planted()]);
    let mut diagnosis = examples::with_gains(examples::diagnosed(&run).remove(0), "table_lock");
    diagnosis.findings.iter_mut().for_each(|finding| finding.gain = None);
    diagnosis.what_if.as_mut().unwrap().all_together = None;
    let page = read(&run, &[diagnosis]);
    let said = &texts(&page, "main")[0];
    assert!(said.contains("is predicted for none of these") && !said.contains("was not replayed"), "{said}");
}

#[test]
fn nothing_recorded_is_said_and_why() {
    let nothing = Run { command: vec!["./app".to_owned()], ..Run::default() };
    let shown = read(&nothing, &[]);
    assert!(texts(&shown, "h1")[0].starts_with("Nothing was recorded of app, so nothing can be said"));
    assert!(texts(&shown, "main")[0].contains("holdup doctor"));
    assert!(select(&shown, "section, nav").is_empty());
    let told = Run { warnings: vec!["it is statically linked".to_owned()], ..nothing };
    let shown = read(&told, &[]);
    assert_eq!(texts(&shown, ".warnings li"), ["it is statically linked"]);
    assert!(!texts(&shown, "main")[0].contains("holdup doctor"));
}

#[test]
fn no_finding_gets_the_terminals_sentence() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100 * examples::MS));
    for name in ["one", "two"] {
        process.add_thread(name, Time::from_nanos(0), None);
    }
    let run = examples::run(vec![process]);
    let page = read(&run, &examples::diagnosed(&run));
    let verdict = texts(&page, ".verdict");
    assert!(verdict[0].starts_with("Nothing holds it up: 2.0 threads were active"), "{verdict:?}");
    assert!(texts(&page, "#answer .lead")[0].starts_with("Checked: "));
}

#[test]
fn other_processes_have_a_row_each() {
    let mut second = examples::planted();
    second.pid = 8;
    second.command = vec!["helper".to_owned()];
    let run = examples::run(vec![examples::planted(), second, examples::planted()]);
    let mut diagnoses = examples::diagnosed(&run);
    diagnoses.truncate(2);
    let page = read(&run, &diagnoses);
    assert_eq!(texts(&page, "#processes tbody th"), ["helper pid 8"]);
    assert!(texts(&page, "#processes .sub")[0].contains("1 process used less"));
}

/// Source of the planted program: long enough for its lines, with a tab and a line of markup.
fn sources(run: &Run, diagnoses: &[Diagnosis]) -> BTreeMap<String, SourceFile> {
    let lines: Vec<String> = (1..=60)
        .map(
            |number| {
                if number == 12 { "\tlock(&table); // <b>".to_owned() } else { format!("line {number}") }
            },
        )
        .collect();
    let file = SourceFile::whole(lines, true);
    source_files(run, diagnoses).into_iter().map(|name| (name, file.clone())).collect()
}

#[test]
fn source_is_shown_with_its_cost_unless_it_is_left_out() {
    let run = examples::run(vec![examples::planted()]);
    let diagnoses = examples::diagnosed(&run);
    let sources = sources(&run, &diagnoses);
    assert!(!sources.is_empty());
    let with = Html::parse_document(&page(
        &run,
        &diagnoses,
        &PageOptions { with_sources: true, sources: sources.clone() },
    ));
    let costly: Vec<String> = texts(&with, ".source tr.has-cost .number");
    assert!(costly.contains(&"12".to_owned()), "{costly:?}");
    let codes: Vec<String> =
        select(&with, ".source tr.has-cost code").iter().map(|code| code.text().collect()).collect();
    assert!(codes.contains(&"    lock(&table); // <b>".to_owned()), "{codes:?}");
    assert!(texts(&with, ".source figcaption")[0].contains("changed after the recording"));
    let without = page(&run, &diagnoses, &PageOptions { with_sources: false, sources });
    assert!(!without.contains("lock(&amp;table)") && !without.contains("lock(&#38;table)"));
    assert!(without.contains("--no-source"));
}

#[test]
fn a_file_that_is_too_short_is_not_the_one_that_was_compiled() {
    let run = examples::run(vec![examples::planted()]);
    let diagnoses = examples::diagnosed(&run);
    let mut sources = sources(&run, &diagnoses);
    sources.values_mut().for_each(|file| file.lines.retain(|number, _| *number <= 5));
    let shown = Html::parse_document(&page(&run, &diagnoses, &PageOptions { with_sources: true, sources }));
    assert!(select(&shown, ".source").is_empty());
    assert!(texts(&shown, "#lines .none")[0].contains("were not readable"));
}

/// What every page keeps to, whatever it tells.
pub(crate) fn check(page: &Html) {
    let mut seen = BTreeSet::new();
    for element in select(page, "[id]") {
        assert!(seen.insert(element.attr("id").unwrap().to_owned()), "two of {:?}", element.attr("id"));
    }
    for element in select(page, "[aria-labelledby]") {
        assert!(seen.contains(element.attr("aria-labelledby").unwrap()));
    }
    for link in select(page, "main a[href], nav a[href]") {
        assert!(seen.contains(link.attr("href").unwrap().trim_start_matches('#')), "{:?}", link.attr("href"));
    }
    for drawn in select(page, "svg[role=img]") {
        assert!(drawn.attr("aria-label").is_some_and(|label| !label.trim().is_empty()));
    }
    for table in select(page, "main table") {
        let caption = scraper::Selector::parse("caption").unwrap();
        let said = table.select(&caption).next().map(text);
        assert!(said.is_some_and(|said| !said.is_empty()), "{}", table.html());
    }
    for mark in select(page, "main [width], main [x], main [cx]") {
        for name in ["width", "x", "cx"] {
            let Some(length) = mark.attr(name).and_then(|value| value.strip_suffix('%')) else { continue };
            let length: f64 = length.parse().unwrap_or_else(|_| panic!("{}", mark.html()));
            assert!((0.0..=100.0).contains(&length), "{}", mark.html());
        }
    }
    for shape in select(page, "path[d]") {
        assert!(!shape.attr("d").unwrap().contains("NaN"), "{}", shape.html());
    }
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let run = examples::run(vec![examples::planted()]);
    let made = || page(&run, &examples::diagnosed(&run), &PageOptions::default());
    assert_eq!(made(), made());
}

#[test]
fn many_threads_are_told_by_the_first_ones() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1000));
    for thread in 0..300 {
        process.add_thread(&format!("t{thread}"), Time::from_nanos(thread), None);
    }
    let run = examples::run(vec![process]);
    let page = read(&run, &examples::diagnosed(&run));
    check(&page);
    assert_eq!(select(&page, "table.states tbody tr").len(), 128);
    assert!(texts(&page, "#threads .sub").iter().any(|text| text.contains("and 172 more threads")));
    let stack = texts(&page, "table.bars tbody th");
    assert!(stack.iter().any(|label| label.starts_with("288 others")), "{stack:?}");
}

#[test]
fn a_run_without_length_has_a_page() {
    let mut process = Process::new(Time::from_nanos(5), Time::from_nanos(5));
    process.add_thread("main", Time::from_nanos(5), None);
    let run = examples::run(vec![process]);
    let mut diagnosis = examples::diagnosed(&run).remove(0);
    check(&read(&run, std::slice::from_ref(&diagnosis)));
    diagnosis = examples::with_gains(diagnosis, "x");
    diagnosis.criticality.threads[0] = f64::NAN;
    diagnosis.wall = Nanos::ZERO;
    check(&read(&run, &[diagnosis]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_process_has_a_page(process in any_process(), gains: bool) {
        let run = examples::run(vec![process]);
        let mut diagnoses = examples::diagnosed(&run);
        if gains {
            diagnoses = diagnoses.into_iter().map(|one| examples::with_gains(one, "it")).collect();
        }
        let sources = sources(&run, &diagnoses);
        let text = page(&run, &diagnoses, &PageOptions { with_sources: true, sources });
        check(&Html::parse_document(&text));
    }
}
