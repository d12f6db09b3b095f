//! The page: what it says without its scripts, and that it does no harm whatever the names in it.

use holdup_report::stack_page;
use holdup_speedup::SpeedupProfile;
use proptest::prelude::*;
use scraper::{Html, Selector};

use crate::shared::page::{NAMES, check, length, select, texts};
use crate::stack::examples;

fn read(profile: &SpeedupProfile) -> Html {
    Html::parse_document(&stack_page(profile))
}

/// With `HOLDUP_PAGES` set to a folder, the pages are written there, to be looked at.
#[test]
fn every_page_is_whole() {
    for (name, profile) in examples::all() {
        let page = stack_page(&profile);
        if let Some(folder) = std::env::var_os("HOLDUP_PAGES") {
            let path = std::path::Path::new(&folder).join(format!("stack-{name}.html"));
            std::fs::write(path, &page).expect("a folder that can be written to");
        }
        check(&page);
    }
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    for name in NAMES {
        check(&stack_page(&examples::hostile(name)));
    }
    let page = read(&examples::hostile(NAMES[1]));
    for place in ["h1", ".command", "#phases", "#cache", "#copies", "#speedup", "#notes"] {
        assert!(texts(&page, place).concat().contains("<img src=x onerror=alert(1)>"), "{place}");
    }
}

#[test]
fn the_answer_is_read_without_scripts() {
    let page = read(&examples::swaptions());
    assert!(
        texts(&page, "h1")[0].starts_with(
            "swaptions is 2.81 times as fast with 4 threads: sharing the cache costs most (0.84)."
        ),
        "{:?}",
        texts(&page, "h1")
    );
    assert_eq!(texts(&page, ".command"), ["$ ./swaptions -ns 512 'two words'"]);
    assert_eq!(
        texts(&page, "#phases .of-phase > h3"),
        ["parallel region merge (merge.c:12)"],
        "what is nearly all of the program is told of once"
    );
    let answer = texts(&page, "#answer .lead").concat();
    assert!(answer.contains("one phase") && answer.contains("swaptions.c:88"), "{answer}");
    assert_eq!(
        texts(&page, "#cache .verdict")[0],
        "With its 2 MiB of the cache each thread loses 19 % of its time; with 2 MiB more it would lose 4.0 %."
    );
    assert!(texts(&page, "#notes").concat().contains("9 % of its probes"));
    let sections: Vec<_> =
        select(&page, "section").iter().map(|one| one.attr("id").expect("an id")).collect();
    let links: Vec<_> =
        select(&page, "nav a").iter().map(|one| &one.attr("href").expect("a place")[1..]).collect();
    assert_eq!(sections, links);
}

#[test]
fn what_is_missing_is_said() {
    let page = read(&examples::missing());
    assert!(texts(&page, "#notes").concat().contains("the machine has one core only"));
    assert_eq!(
        texts(&page, "#phases .none"),
        ["Its speedup is not known. The phase was not seen with 1 thread."]
    );
    assert!(texts(&page, "#answer .key").concat().contains("extra work, cache and memory together 0.90"));
    assert!(select(&page, "#speedup").len() == 1);
}

#[test]
fn parts_of_a_bar_add_up_to_its_threads() {
    let page = read(&examples::swaptions());
    let rect = Selector::parse("rect").expect("a selector");
    let line = Selector::parse("line").expect("a selector");
    let sums: Vec<f64> = select(&page, "#answer svg.losses")
        .into_iter()
        .map(|bar| {
            let zero = bar.select(&line).next().map_or(0.0, |mark| length(mark, "x1"));
            let pieces = bar.select(&rect);
            pieces
                .map(|piece| {
                    let sign = if length(piece, "x") + 1e-6 < zero { -1.0 } else { 1.0 };
                    sign * length(piece, "width")
                })
                .sum()
        })
        .collect();
    assert_eq!(sums.len(), 3);
    assert!((sums[1] / sums[0] - 2.0).abs() < 0.01 && (sums[2] / sums[0] - 4.0).abs() < 0.01, "{sums:?}");
}

#[test]
fn the_same_profile_gives_the_same_bytes() {
    assert_eq!(stack_page(&examples::swaptions()), stack_page(&examples::swaptions()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_name_is_harmless(name in prop_oneof![any::<String>(), "[<>\"'&/=a-z!-]{0,60}"]) {
        check(&stack_page(&examples::hostile(&name)));
    }
}

#[test]
fn each_group_of_threads_has_what_counters_say_of_it() {
    let shown = texts(&read(&examples::counted()), "#cache").concat();
    for group in ["read_blocks", "compress_block", "write_blocks"] {
        assert!(shown.contains(group), "{shown}");
    }
    assert!(shown.contains("cycles per instruction"), "{shown}");
}
