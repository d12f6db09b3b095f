//! The page: what it says without its scripts, and that it does no harm whatever the names in it.

use holdup_report::scale_page;
use holdup_scaling::Scaling;
use proptest::prelude::*;
use scraper::{ElementRef, Html, Selector};

use crate::scaling::examples;
use crate::shared::page::{NAMES, check, length, select, texts};

fn read(scaling: &Scaling) -> Html {
    Html::parse_document(&scale_page(scaling))
}

#[test]
fn every_page_is_whole() {
    for (_, scaling) in examples::all() {
        check(&scale_page(&scaling));
    }
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    for name in NAMES {
        check(&scale_page(&examples::hostile(name)));
    }
    let page = read(&examples::hostile(NAMES[1]));
    for place in ["h1", ".command", "#answer", "#regions", "#law", "#efficiencies", "#notes"] {
        assert!(texts(&page, place).concat().contains("<img src=x onerror=alert(1)>"), "{place}");
    }
}

#[test]
fn the_answer_is_read_without_scripts() {
    let page = read(&examples::lu());
    assert!(texts(&page, "h1")[0].starts_with("lu ran 12.4 s with 1 thread and 3.1 s with 8 on 8 cores:"));
    assert_eq!(texts(&page, ".command"), ["$ ./lu -n 512 'two words'"]);
    assert_eq!(texts(&page, "#answer li h3")[0], "deal the work out in another way blts (lu.c:91)");
    assert_eq!(texts(&page, "#answer li h3 + p")[0], format!("{}.", examples::UNEVEN));
    assert_eq!(
        texts(&page, "#answer li .saves b"),
        ["710 ms (640 to 760 ms), 1.30 times faster", "at most 260 ms, 1.09 times faster", "not known"]
    );
    let regions = texts(&page, "#regions table.regions th > b");
    assert_eq!(regions, ["blts (lu.c:88)", "rhs (rhs.c:31)", "what one thread does alone"]);
    assert!(
        texts(&page, "#law .lead")[0].starts_with("At 64 threads: 9–11 % efficiency; blts (lu.c:88) takes")
    );
    assert_eq!(
        texts(&page, "#notes li"),
        ["With 8 threads the machine was busy with 0.4 other threads on average."]
    );
    let sections: Vec<_> =
        select(&page, "section").iter().map(|one| one.attr("id").expect("an id")).collect();
    let links: Vec<_> =
        select(&page, "nav a").iter().map(|one| &one.attr("href").expect("a place")[1..]).collect();
    assert_eq!(sections, links);
}

#[test]
fn parts_of_a_bar_add_up_to_all_of_it() {
    for (_, scaling) in examples::all().into_iter().take(7) {
        let page = read(&scaling);
        let rect = Selector::parse("rect").expect("a selector");
        for stack in select(&page, "#losses table.stacked") {
            let bars: Vec<_> = stack.select(&Selector::parse("svg.losses").expect("a selector")).collect();
            let zero = |bar: ElementRef<'_>| {
                let mark = bar.select(&Selector::parse("line").expect("a selector")).next();
                // With nothing left of it, the zero line is the edge.
                mark.map_or(0.0, |mark| length(mark, "x1"))
            };
            let has_gains =
                bars.iter().any(|bar| bar.select(&rect).any(|piece| length(piece, "x") < zero(*bar)));
            let sums: Vec<f64> = (bars.iter())
                .map(|bar| {
                    let zero = if has_gains { zero(*bar) } else { 0.0 };
                    let sign =
                        |piece: ElementRef<'_>| if length(piece, "x") + 1e-6 < zero { -1.0 } else { 1.0 };
                    bar.select(&rect).map(|piece| sign(piece) * length(piece, "width")).sum()
                })
                .collect();
            // Each of them adds up to the time, which is as long in all of them.
            for sum in &sums {
                assert!((sum - sums[0]).abs() < 0.1 && *sum > 0.0, "{sums:?}");
            }
        }
    }
}

#[test]
fn curves_keep_their_numbers() {
    let page = read(&examples::lu());
    assert_eq!(texts(&page, "#scales figure h3"), ["Speedup", "Efficiency"]);
    for figure in ["#scales figure:nth-child(1)", "#scales figure:nth-child(2)"] {
        let dots = select(&page, &format!("{figure} .dot:not(.hollow)"));
        let places: Vec<f64> = dots.iter().map(|dot| length(*dot, "cx")).collect();
        // Powers of two from 1 to 64 are a sixth of the axis apart.
        for (index, place) in places.iter().enumerate() {
            assert!((place - index as f64 * 100.0 / 6.0).abs() < 0.01, "{places:?}");
        }
        assert_eq!((places.len(), select(&page, &format!("{figure} .hollow")).len()), (4, 3));
        assert_eq!(select(&page, &format!("{figure} .whisker")).len(), 4);
    }
    let numbers = texts(&page, "#scales details tbody tr:nth-child(4) > *");
    assert_eq!(numbers, ["8", "3.1 s", "3.1 to 3.2 s", "3", "4.00", "50 %"]);
}

#[test]
fn many_regions_are_told_by_the_first_ones() {
    let text = scale_page(&examples::large());
    let page = Html::parse_document(&text);
    assert_eq!(select(&page, "#regions table.regions > tbody > tr").len(), 120);
    assert!(texts(&page, "#regions > .sub")[0].contains("and 80 more"));
    assert_eq!(select(&page, "#losses table.stacked tbody tr").len(), 64);
    assert!(text.len() < 5_000_000, "{}", text.len());
}

#[test]
fn the_same_analysis_gives_the_same_bytes() {
    assert_eq!(scale_page(&examples::lu()), scale_page(&examples::lu()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_name_is_harmless(name in prop_oneof![any::<String>(), "[<>\"'&/=a-z!-]{0,60}"]) {
        check(&scale_page(&examples::hostile(&name)));
    }
}
