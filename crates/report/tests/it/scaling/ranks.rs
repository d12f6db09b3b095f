//! Ranks of an MPI program, as text and as JSON.

use std::collections::BTreeSet;

use holdup_criticality::{Rank, Ranks};
use holdup_model::Nanos;
use holdup_report::{Look, ranks_json, render_ranks};

use crate::shared::schema::{all_follow, schema_of, undescribed};

fn rank(name: &str, busy: u64, busiest: u64, active: u64) -> Rank {
    let ms = |ms: u64| Nanos::new(ms * 1_000_000);
    Rank {
        name: name.to_owned(),
        wall: ms(100),
        workers: 2,
        busy: ms(busy),
        busiest: ms(busiest),
        active: ms(active),
        on_core: ms(active),
    }
}

#[test]
fn ranks_are_told_as_text_and_json() {
    let ranks = Ranks::of(vec![rank("run.0", 100, 100, 200), rank("run.\u{1b}[1m", 50, 50, 75)]);
    let text = render_ranks(&ranks, Look::plain(100));
    for line in [
        "2 ranks in 100 ms: parallel efficiency 69 %, of ranks 75 %, of the threads in them 92 %.",
        "    load balance of ranks",
        "      serial and synchronization efficiency",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let schema = schema_of("ranks");
    let json = ranks_json(&ranks);
    let mut missing = BTreeSet::new();
    undescribed(&json, &schema, &schema, "", &mut missing);
    assert!(missing.is_empty(), "{missing:?}");
    all_follow(&schema, [("ranks".to_owned(), json)]);
}
