//! Sorting of lists that people read.
//!
//! The sort of the standard library is compiled anew for each list and each order, with several kilobytes each time: a
//! hundred lists of findings, threads or lines came to a megabyte. These lists are short, and sorted by one function.

use std::cmp::Ordering;

/// Stable sorting of short lists: what [`slice::sort_by`] gives, in less code and at some more time for each comparison.
pub trait Arrange<T> {
    /// As [`slice::sort_by`].
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As [`slice::sort_by_key`].
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let order = order_of(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        put_in(order, &mut |one, other| self.swap(one, other));
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|one, other| key(one).cmp(&key(other)));
    }
}

/// For each place of the sorted list, where its element is now.
fn order_of(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

/// Moves each element to its place, along the cycles of the permutation: with as many exchanges as there are elements at most.
fn put_in(mut order: Vec<usize>, exchange: &mut dyn FnMut(usize, usize)) {
    for first in 0..order.len() {
        let mut place = first;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == first || from == place {
                break;
            }
            exchange(place, from);
            place = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn it_is_the_stable_sort() {
        // Every list of up to seven elements of which some are equal.
        for length in 0..8_u32 {
            for code in 0..3_u32.pow(length) {
                let list: Vec<(u32, u32)> = (0..length).map(|at| (code / 3_u32.pow(at) % 3, at)).collect();
                let (mut arranged, mut sorted) = (list.clone(), list);
                arranged.arrange_by_key(|(key, _)| *key);
                sorted.sort_by_key(|(key, _)| *key);
                assert_eq!(arranged, sorted);
                arranged.arrange_by(|one, other| other.0.cmp(&one.0));
                sorted.sort_by_key(|(key, _)| Reverse(*key));
                assert_eq!(arranged, sorted);
            }
        }
    }
}
