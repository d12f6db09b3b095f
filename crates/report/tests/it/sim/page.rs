//! The page: what it says without its scripts, and that it does no harm whatever the names in it.

use holdup_report::{SimTold, sim_page};
use proptest::prelude::*;
use scraper::{ElementRef, Html, Selector};

use crate::shared::page::{NAMES, check, length, select, texts};
use crate::sim::examples;

fn read(told: &SimTold) -> Html {
    Html::parse_document(&sim_page(told))
}

#[test]
fn every_page_is_whole() {
    for (_, told) in examples::all() {
        check(&sim_page(&told));
    }
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    for name in NAMES {
        check(&sim_page(&examples::hostile(name)));
    }
    let page = read(&examples::hostile(NAMES[1]));
    for place in [
        "h1",
        ".command",
        "#answer th",
        "#runs th",
        "#speedup h3",
        "#places th",
        "#places code",
        "#shared tbody th",
        "#shared .found",
        "#notes",
    ] {
        assert!(texts(&page, place).concat().contains("<img src=x onerror=alert(1)>"), "{place}");
    }
}

#[test]
fn the_answer_is_read_without_scripts() {
    let page = read(&examples::fft());
    assert_eq!(
        texts(&page, "h1")[0].replace('\u{2011}', "-"),
        "8 threads on 8 cores of dunnington: 12.3 M cycles (4.6 ms), CPI 3.00; 22 % of the cycles are depend-fp (floating-point or \
         vector operations that wait for each other), mostly in twiddle (fft.c:240)."
    );
    assert_eq!(texts(&page, ".command"), ["$ ./fft -p8"]);
    assert_eq!(
        texts(&page, "#answer .families h4"),
        ["Core 38 %", "Memory 44 %", "Synchronization 17 %", "Away 1.2 %"]
    );
    assert_eq!(texts(&page, "#answer table:first-of-type tbody th")[..2], ["slave_start (7)", "main"]);
    assert_eq!(
        texts(&page, "#places .spent th b")[..5],
        ["twiddle (fft.c:240)", "transpose (fft.c:120)", "swap (fft.c:88)", "count (fft.c:31)", "0x9999"]
    );
    assert!(texts(&page, "#places code")[0].starts_with("dst[i * n + j] = src[j * n + i];"));
    assert!(
        texts(&page, "#shared .found li")[0]
            .starts_with("False sharing in count (fft.c:31): counters[0] (thread 0 writes)")
    );
    let sections: Vec<_> =
        select(&page, "section").iter().map(|one| one.attr("id").expect("an id")).collect();
    let links: Vec<_> =
        select(&page, "nav a").iter().map(|one| &one.attr("href").expect("a place")[1..]).collect();
    assert_eq!(sections, links);
}

/// The lengths of the pieces of a bar.
fn pieces(bar: ElementRef<'_>) -> Vec<f64> {
    bar.select(&Selector::parse("rect").expect("a selector")).map(|piece| length(piece, "width")).collect()
}

#[test]
fn bars_are_filled_and_as_long_as_what_they_stand_for() {
    for told in [examples::fft(), examples::streamcluster(), examples::many(64)] {
        let page = read(&told);
        for bar in select(&page, "svg.cycles") {
            let sum: f64 = pieces(bar).iter().sum();
            assert!((sum - 100.0).abs() < 0.02, "{sum}");
        }
    }
    let page = read(&examples::streamcluster());
    let bars = select(&page, "#runs svg.cycles");
    let lengths: Vec<f64> = bars.iter().map(|bar| length(*bar, "data-absolute")).collect();
    let expected = [60.0, 26.0, 10.8, 8.3, 8.1, 8.25].map(|cycles| cycles / 60.0 * 100.0);
    assert!(lengths.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{lengths:?}");
    // Cycles of all threads for each instruction: 2 × 60, 4 × 26, … 16 × 8.3.
    let cpi: Vec<f64> = bars.iter().map(|bar| length(*bar, "data-cpi")).collect();
    assert!((cpi[1] / cpi[0] - 104.0 / 120.0).abs() < 1e-3, "{cpi:?}");
    assert_eq!(texts(&page, "#runs tbody tr:nth-child(4) td.r")[3], "7.23");
}

#[test]
fn a_speedup_stack_fills_its_bar() {
    let page = read(&examples::streamcluster());
    let bar = select(&page, "#speedup svg.losses")[0];
    assert!((pieces(bar).iter().sum::<f64>() - 100.0).abs() < 0.02);
    assert!(bar.select(&Selector::parse(".mark").expect("a selector")).next().is_some());
}

#[test]
fn many_threads_stay_a_page() {
    let text = sim_page(&examples::many(1000));
    let page = Html::parse_document(&text);
    assert_eq!(select(&page, "#answer .many tbody tr").len(), 256);
    assert!(text.len() < 1_000_000, "{}", text.len());
}

#[test]
fn the_same_simulations_give_the_same_bytes() {
    let made = || sim_page(&examples::streamcluster());
    assert_eq!(made(), made());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_name_is_harmless(name in prop_oneof![any::<String>(), "[<>\"'&/=a-z!-]{0,60}"]) {
        check(&sim_page(&examples::hostile(&name)));
    }
}
