//! The page: what it says without its scripts, and that it does no harm whatever the names in it.

use holdup_imbalance::Why;
use holdup_report::{WhyScene, why_page};
use proptest::prelude::*;
use scraper::{Html, Selector};

use crate::shared::page::{NAMES, check, length, select, texts};
use crate::why::examples;

fn read(why: &Why, scene: &WhyScene) -> Html {
    Html::parse_document(&why_page(why, scene))
}

#[test]
fn every_page_is_whole() {
    for (_, why, scene) in examples::all() {
        check(&why_page(&why, &scene));
    }
}

fn poisoned(name: &str) -> String {
    let (why, scene) = examples::hostile(name);
    why_page(&why, &scene)
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    for name in NAMES {
        check(&poisoned(name));
    }
    let page = Html::parse_document(&poisoned(NAMES[1]));
    for place in [
        "h1",
        ".command",
        "#answer h3",
        "#answer h4",
        "#answer .source",
        "#answer .listing",
        "#answer .did",
        "#sections td",
        "#notes",
    ] {
        assert!(texts(&page, place).concat().contains("<img src=x onerror=alert(1)>"), "{place}");
    }
}

#[test]
fn the_answer_is_read_without_scripts() {
    let page = read(&examples::lu(), &examples::scene());
    assert_eq!(
        texts(&page, "h1")[0],
        "Threads of lu are unequal: they idle 36 % of the time before the barrier at lu (lu.c:420). Threads take the \
         branch at lu.c:407 (`owner(i, j) == me`) to lu.c:408 differently often: 0.88 of the imbalance."
    );
    assert_eq!(texts(&page, ".command"), ["$ ./lu -n 512"]);
    assert_eq!(
        texts(&page, "#answer .part h3"),
        ["1 barrier at lu (lu.c:420)", "2 join at main (main.c:61)"]
    );
    assert_eq!(
        texts(&page, "#section-1 .scored p"),
        [
            "0.88 score · 85 % go through it",
            "0.14 score · 9.0 % go through it",
            "0.20 score · 1.0 % go through it",
        ]
    );
    let marked = texts(&page, "#section-1 .source:first-of-type .has-cost");
    assert_eq!(marked[0], "a407 if (owner(i, j) == me) { /* parcel out blocks */");
    assert_eq!(marked[2], "b412 while (rows > 0) {");
    assert_eq!(texts(&page, "#section-1 .did tbody tr:nth-child(2) > *")[..3], ["1", "", "11.3 M"]);
    assert_eq!(texts(&page, "#sections tbody th"), ["lu (lu.c:420)", "main (main.c:61)", "work (main.c:30)"]);
    assert!(texts(&page, "#notes li")[0].starts_with("Counted under emulation; executed instructions"));
    let sections: Vec<_> =
        select(&page, "section").iter().map(|one| one.attr("id").expect("an id")).collect();
    let links: Vec<_> =
        select(&page, "nav a").iter().map(|one| &one.attr("href").expect("a place")[1..]).collect();
    assert_eq!(sections, links);
}

#[test]
fn charts_keep_their_numbers() {
    let page = read(&examples::lu(), &examples::scene());
    let bars = select(&page, "#section-1 .did tbody tr:nth-child(8) rect");
    // Time, native time, and the causes' counts of the last thread, of the most of each.
    for (bar, share) in bars.iter().zip([4.7 / 12.4, 27.0 / 90.0, 30.0 / 240.0]) {
        assert!((length(*bar, "width") - 100.0 * share).abs() < 0.01, "{}", bar.html());
    }
    assert_eq!(bars.len(), 5);
    let given = select(&page, "#section-1 .given")[0];
    let of = |selector: &str, attribute: &str| {
        let mark = given.select(&Selector::parse(selector).expect("a selector")).next().expect("a mark");
        length(mark, attribute)
    };
    assert_eq!((of(".range", "x"), of(".range", "width"), of(".dot", "cx")), (81.0, 12.0, 88.0));
}

#[test]
fn no_score_is_shown_where_there_are_no_statistics() {
    let page = read(&examples::two_threads(), &examples::scene());
    assert_eq!(texts(&page, ".scored"), ["93 % go through it"]);
    assert!(!texts(&page, "h1")[0].contains("of the imbalance") && select(&page, ".given").is_empty());
}

#[test]
fn instructions_are_open_where_the_source_misleads() {
    let page = read(&examples::misplaced(), &WhyScene::default());
    assert_eq!(select(&page, "#answer details[open]").len(), 1);
    assert_eq!(texts(&page, ".listing li")[2], "0x4068ec jne 0x4069f0");
}

#[test]
fn many_sections_are_told_by_the_first_ones() {
    let text = why_page(&examples::large(), &WhyScene::default());
    let page = Html::parse_document(&text);
    assert_eq!(select(&page, "#answer .part").len(), 24);
    assert_eq!(select(&page, "#section-1 .causes > li").len(), 12);
    assert_eq!(select(&page, "#sections tbody tr").len(), 200);
    assert!(texts(&page, "#answer > .sub")[0].contains("and 276 more"));
    assert!(text.len() < 5_000_000, "{}", text.len());
}

#[test]
fn the_same_analysis_gives_the_same_bytes() {
    let made = || why_page(&examples::lu(), &examples::scene());
    assert_eq!(made(), made());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_name_is_harmless(name in prop_oneof![any::<String>(), "[<>\"'&/=a-z!-]{0,60}"]) {
        check(&poisoned(&name));
    }
}
