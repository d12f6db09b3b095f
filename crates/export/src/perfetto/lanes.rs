//! Spans that overlap, on as many tracks as are needed: on one track a slice lies within another, or beside it.

/// A span of time (ns) with what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Span<T> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) item: T,
}

/// Sorts the spans into lanes, each to the first one in which it overlaps no other in part. Within a lane they are in
/// order of time, the outer before the inner.
pub(super) fn lanes<T: Copy + Ord>(mut spans: Vec<Span<T>>) -> Vec<Vec<Span<T>>> {
    spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end), span.item));
    // Each with the ends of the spans that are open in it, the innermost last.
    let mut lanes: Vec<(Vec<Span<T>>, Vec<u64>)> = Vec::new();
    for span in spans {
        let fits = |open: &mut Vec<u64>| {
            while open.last().is_some_and(|end| *end <= span.start) {
                open.pop();
            }
            open.last().is_none_or(|end| *end >= span.end)
        };
        let lane = match lanes.iter_mut().position(|(_, open)| fits(open)) {
            Some(lane) => lane,
            None => {
                lanes.push((Vec::new(), Vec::new()));
                lanes.len() - 1
            }
        };
        lanes[lane].0.push(span);
        lanes[lane].1.push(span.end);
    }
    lanes.into_iter().map(|(spans, _)| spans).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(start: u64, end: u64) -> Span<usize> {
        Span { start, end, item: 0 }
    }

    #[test]
    fn hand_over_hand_takes_two_lanes() {
        let found = lanes(vec![span(0, 10), span(5, 15), span(10, 20), span(16, 18)]);
        assert_eq!(found, [vec![span(0, 10), span(10, 20), span(16, 18)], vec![span(5, 15)]]);
    }

    proptest! {
        #[test]
        fn spans_of_a_lane_nest(ends in prop::collection::vec((0..60u64, 0..30u64), 0..40)) {
            let spans: Vec<Span<usize>> = ends
                .iter()
                .enumerate()
                .map(|(item, (start, length))| Span { start: *start, end: start + length, item })
                .collect();
            let found = lanes(spans.clone());
            let mut all: Vec<_> = found.concat();
            all.sort_by_key(|span| span.item);
            prop_assert_eq!(&all, &spans);
            for lane in found {
                for (index, outer) in lane.iter().enumerate() {
                    for inner in &lane[index + 1..] {
                        prop_assert!(outer.start <= inner.start);
                        prop_assert!(inner.start >= outer.end || inner.end <= outer.end);
                    }
                }
            }
        }
    }
}
