//! The faces of `holdup characterize`: terminal, JSON, page and pictures.

use std::collections::BTreeSet;

use holdup_characterize::{Choice, Keep, Labels, Options, PcaOptions, TableBuilder, characterize};
use holdup_report::{
    CharacterizeTold, Look, characterize_json, characterize_json_text, characterize_page,
    characterize_pictures, render_characterize,
};

use crate::shared::schema::{all_follow, schema_of, undescribed};

const WIDE: Look = Look::plain(100);

/// Programs of four kinds in two suites, with two inputs, on 4 and on 16 threads. Those of the third kind wait for memory with
/// the large input only, those of the fourth for a lock on 16 threads only.
pub(crate) fn programs(options: &Options) -> CharacterizeTold {
    let kinds: [(&str, [f64; 4]); 4] = [
        ("vector", [0.2, 0.7, 0.1, 0.0]),
        ("branchy", [0.8, 0.1, 0.1, 0.0]),
        ("stream", [0.3, 0.3, 0.4, 0.0]),
        ("locked", [0.4, 0.3, 0.2, 0.1]),
    ];
    let mut table = TableBuilder::new(["depend-int", "depend-fp", "mem-dram", "sync-crit_sect"]).unwrap();
    for (at, (name, shares)) in kinds.iter().enumerate() {
        for twin in ["a", "b"] {
            for input in ["small", "large"] {
                for threads in [4, 16] {
                    let mut shares = *shares;
                    let mut grow = |part: usize, by: f64| {
                        shares.iter_mut().for_each(|share| *share *= 1.0 - by);
                        shares[part] += by;
                    };
                    grow(0, if twin == "a" { 0.0 } else { 0.01 });
                    grow(2, if at == 2 && input == "large" { 0.5 } else { 0.0 });
                    grow(3, if at == 3 && threads == 16 { 0.6 } else { 0.0 });
                    let labels = Labels {
                        suite: Some(if at < 2 { "core" } else { "rest" }.to_owned()),
                        program: format!("{name}-{twin}"),
                        input: Some(input.to_owned()),
                        threads: Some(threads),
                        ..Labels::default()
                    };
                    table.push(labels, &shares).unwrap();
                }
            }
        }
    }
    table.push(Labels::of("broken"), &[f64::NAN, 0.0, 0.0, 0.0]).unwrap();
    told(table, options)
}

pub(crate) fn told(table: TableBuilder, options: &Options) -> CharacterizeTold {
    let found = characterize(table.build().unwrap(), options).unwrap();
    CharacterizeTold {
        found,
        what: "cycle stacks".to_owned(),
        is_share: true,
        in_full: true,
        notes: Vec::new(),
    }
}

/// Answers of all shapes.
pub(crate) fn all() -> Vec<(String, CharacterizeTold)> {
    let mut all = vec![("programs".to_owned(), programs(&Options::default()))];
    let uncentred = PcaOptions { centred: false, scaled: true };
    let options =
        Options { pca: uncentred, keep: Keep::Count(2), clusters: Choice::Count(3), ..Options::default() };
    all.push(("uncentred".to_owned(), programs(&options)));
    for rows in [1, 2, 5] {
        let mut table = TableBuilder::new(["x", "y"]).unwrap();
        for row in 0..rows {
            table.push(Labels::of("same \u{1b}[31m<b>"), &[f64::from(row / 3), 1.0]).unwrap();
        }
        all.push((format!("{rows} rows"), told(table, &Options::default())));
    }
    let mut table = TableBuilder::new(["x", "y"]).unwrap();
    for row in 0..2_500 {
        let row = f64::from(row);
        table.push(Labels::of("many"), &[(row * 0.618).fract(), (row * 0.414).fract()]).unwrap();
    }
    all.push(("many".to_owned(), told(table, &Options::default())));
    all
}

#[test]
fn every_answer_follows_the_schema_which_describes_all_of_it() {
    let schema = schema_of("characterize");
    let mut unknown = BTreeSet::new();
    for (_, told) in all().iter().filter(|(name, _)| name != "many") {
        undescribed(&characterize_json(told), &schema, &schema, "", &mut unknown);
    }
    // Members of these are named by the table's columns.
    let by_column = ["weights", "values", "grew", "centre", "scale"];
    unknown
        .retain(|path: &String| !path.rsplit('/').nth(1).is_some_and(|parent| by_column.contains(&parent)));
    assert_eq!(unknown, BTreeSet::new());
    all_follow(&schema, all().into_iter().map(|(name, told)| (name, characterize_json(&told))));
}

#[test]
fn what_is_planted_alike_is_told_together_and_moves_as_planted() {
    let told = programs(&Options::default());
    let text = render_characterize(&told, WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("32 runs of 8 programs: three components tell 100 %"), "{text}");
    assert!(text.contains("locked-a small 4 → 16: sync-crit_sect +54"), "{text}");
    assert!(text.contains("stream-a ×4 small → large: mem-dram +30"), "{text}");
    assert!(
        text.contains(
            "1 row has no number in some column and are left out; the first is broken, without depend-int"
        ),
        "{text}"
    );
    let (_, stand) = text.split_once("where a small input stands for the large one").expect(&text);
    let stand = stand.split("where no").next().unwrap_or_default();
    assert!(stand.contains("vector-a") && stand.contains("locked-b") && !stand.contains("stream"), "{stand}");
    let found = &told.found;
    let cluster = |name: &str| {
        let names = found.table.names();
        found.cluster_of[names.iter().position(|known| known == name).expect(name)]
    };
    for kind in ["vector", "branchy", "stream", "locked"] {
        for run in ["small ×4", "small ×16", "large ×4", "large ×16"] {
            assert_eq!(
                cluster(&format!("{kind}-a {run}")),
                cluster(&format!("{kind}-b {run}")),
                "{kind} {run}"
            );
        }
    }
    assert_ne!(cluster("locked-a small ×4"), cluster("locked-a small ×16"));
}

/// A table of thousands of columns has an answer that can be read: those that weigh most, in their own order.
#[test]
fn of_many_columns_the_weightiest_are_told() {
    let columns = 2_000;
    let mut table = TableBuilder::new((0..columns).map(|column| format!("c{column}"))).unwrap();
    for row in 0..6_u32 {
        let value = |column: u32| {
            let spread = if column % 400 == 7 { 50.0 } else { 1.0 };
            f64::from((column * 31 + row * 17) % 101) / 101.0 * spread
        };
        table
            .push(Labels::of(&format!("program{row}")), &(0..columns).map(value).collect::<Vec<_>>())
            .unwrap();
    }
    let mut told = told(table, &Options::default());
    let rows = |told: &CharacterizeTold| {
        let text = render_characterize(told, WIDE);
        let (_, weights) = text.split_once("  weights").expect("a table");
        let rows = weights.lines().skip(1).take_while(|line| line.starts_with("  c"));
        let names: Vec<String> =
            rows.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
        (names, text)
    };
    let (all, _) = rows(&told);
    told.in_full = false;
    let (names, text) = rows(&told);
    assert_eq!(names.len(), 40);
    for heavy in ["c7", "c407", "c807", "c1207", "c1607"] {
        assert!(names.iter().any(|name| name == heavy), "{heavy} in {names:?}");
    }
    assert!(all.len() > 1_000 && text.contains(" columns of less weight: --all"), "{} of {text}", all.len());
    assert!(names.is_sorted_by_key(|name| name[1..].parse::<u32>().ok()), "{names:?}");
}

#[test]
fn no_line_is_too_wide_and_nothing_acts_on_the_terminal() {
    for (name, told) in all() {
        for (width, unicode) in [(40, true), (80, false), (120, true)] {
            let look = Look { unicode, ..Look::plain(width) };
            for line in render_characterize(&told, look).lines() {
                assert!(textwrap::core::display_width(line) <= width, "{name}: {line}");
                assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
                assert!(unicode || line.is_ascii(), "{name}: {line}");
            }
        }
        let json = characterize_json_text(&told);
        assert!(!json.chars().any(|c| c.is_control() && c != '\n'), "{name}");
    }
}

#[test]
fn pages_and_pictures_take_names_for_text_and_are_the_same_each_time() {
    for (name, told) in all() {
        let page = characterize_page(&told);
        assert!(!page.contains("\u{1b}") && !page.contains("[31m<"), "{name}");
        assert!(!page.contains(" style=") && !page.contains("NaN"), "{name}");
        assert_eq!(page, characterize_page(&told), "{name}");
        for picture in characterize_pictures(&told) {
            assert!(
                !picture.svg.contains("var(") && !picture.svg.contains("[31m<"),
                "{name}: {}",
                picture.name
            );
        }
    }
    let pictures = characterize_pictures(&programs(&Options::default()));
    let names: Vec<_> = pictures.iter().map(|picture| picture.name).collect();
    assert_eq!(names, ["components", "further", "scaling", "inputs", "dendrogram"]);
}

#[test]
#[cfg(feature = "png")]
fn pictures_can_be_drawn() {
    let pictures = characterize_pictures(&programs(&Options::default()));
    // The dendrogram alone: drawing takes long in a build for tests.
    let picture = pictures.last().expect("a picture");
    let png = holdup_report::picture_png(picture).expect("a picture that can be drawn");
    assert!(png.starts_with(b"\x89PNG"));
}
