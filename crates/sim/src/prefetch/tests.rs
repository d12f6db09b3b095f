use proptest::prelude::*;

use super::*;

fn prefetcher(streams: u32, depth: u32) -> StridePrefetcher {
    StridePrefetcher::new(&PrefetchFacts { streams, depth })
}

/// What is fetched for each of the lines that one instruction asks for.
fn fetched(prefetcher: &mut StridePrefetcher, place: u32, lines: &[u64]) -> Vec<Vec<u64>> {
    lines
        .iter()
        .map(|line| {
            let mut out = Vec::new();
            prefetcher.train(place, *line, &mut out);
            out
        })
        .collect()
}

#[test]
fn a_stride_that_repeats_is_followed_and_nothing_is_fetched_twice() {
    let mut prefetcher = prefetcher(16, 3);
    let none = Vec::new;
    let lines = fetched(&mut prefetcher, 1, &[100, 102, 104, 104, 106, 108]);
    assert_eq!(lines, [none(), none(), vec![106, 108, 110], none(), vec![112], vec![114]]);
    let down = fetched(&mut prefetcher, 2, &[1000, 999, 998, 997]);
    assert_eq!(down, [none(), none(), vec![997, 996, 995], vec![994]]);
}

#[test]
fn a_stride_goes_on_behind_a_jump() {
    let mut prefetcher = prefetcher(16, 2);
    fetched(&mut prefetcher, 1, &[10, 11, 12, 13]);
    assert_eq!(fetched(&mut prefetcher, 1, &[500, 501]), [vec![], vec![502, 503]]);
}

#[test]
fn lines_without_a_stride_are_left_alone() {
    let mut prefetcher = prefetcher(16, 4);
    let lines = [5, 900, 17, 333, 1200, 4, 77, 2048, 91];
    assert!(fetched(&mut prefetcher, 1, &lines).iter().all(Vec::is_empty));
}

#[test]
fn the_stream_that_was_not_used_for_the_longest_time_is_given_up() {
    let mut prefetcher = prefetcher(2, 1);
    fetched(&mut prefetcher, 1, &[10, 11]);
    fetched(&mut prefetcher, 2, &[20, 21]);
    fetched(&mut prefetcher, 1, &[12]);
    fetched(&mut prefetcher, 3, &[30]);
    assert_eq!(fetched(&mut prefetcher, 1, &[13]), [vec![14]]);
    assert_eq!(fetched(&mut prefetcher, 2, &[22, 23]), [vec![], vec![]]);
}

#[test]
fn lines_stay_in_the_address_space() {
    let mut prefetcher = prefetcher(2, 3);
    assert_eq!(fetched(&mut prefetcher, 1, &[3, 2, 1])[2], [0]);
    let last = u64::MAX;
    assert_eq!(fetched(&mut prefetcher, 2, &[last - 3, last - 2, last - 1])[2], [last]);
}

proptest! {
    #[test]
    fn it_never_fetches_more_than_its_depth_or_follows_more_than_its_streams(
        streams in 0u32..5, depth in 0u32..6,
        accesses in prop::collection::vec((0u32..8, any::<u64>().prop_map(|any| if any % 2 == 0 { any >> 57 } else { any })), 0..300),
    ) {
        let mut prefetcher = prefetcher(streams, depth);
        for (place, line) in accesses {
            let mut out = Vec::new();
            prefetcher.train(place, line, &mut out);
            prop_assert!(out.len() <= depth as usize);
            prop_assert!(prefetcher.streams.len() <= streams as usize);
        }
    }
}
