//! Counts as they are written: [`Other::Counts`] entries.

use holdup_trace::instructions::{Entry, Other, zigzag};

use crate::numbers::number;

/// How many elements of each list one entry has at most, so that it fits into a buffer whatever its numbers are. Entries
/// that follow each other add up.
const MOST: usize = 4096;

/// What a thread executed between two cuts.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// (from, to, how often).
    pub(crate) edges: Vec<(u32, u32, u64)>,
    /// (block, how often).
    pub(crate) executed: Vec<(u32, u64)>,
    /// (calling block, instructions).
    pub(crate) library: Vec<(u32, u64)>,
    /// Instructions of the program's own code.
    pub(crate) own_instructions: u64,
    /// Instructions of libraries, those without a calling block among them.
    pub(crate) library_instructions: u64,
    /// Instructions that are not counted.
    pub(crate) other_instructions: u64,
}

impl Sums {
    pub(crate) fn clear(&mut self) {
        self.edges.clear();
        self.executed.clear();
        self.library.clear();
        (self.own_instructions, self.library_instructions, self.other_instructions) = (0, 0, 0);
    }

    /// Sorts, and adds up what is about the same block.
    pub(crate) fn order(&mut self) {
        self.edges.sort_unstable();
        self.library.sort_unstable();
        self.executed.sort_unstable();
        self.executed.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }

    /// Instructions that count.
    pub(crate) fn counted(&self) -> u64 {
        self.own_instructions + self.library_instructions
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.executed.is_empty() && self.library.is_empty() && self.counted() + self.other_instructions == 0
    }

    /// Gives the entries, whole ones, one after the other.
    pub(crate) fn write(&self, scratch: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
        let parts = [self.edges.len(), self.executed.len(), self.library.len()];
        let parts = parts.map(|length| length.div_ceil(MOST)).into_iter().max().unwrap_or(0).max(1);
        for part in 0..parts {
            scratch.clear();
            number(scratch, (Other::Counts as u64) << 2 | Entry::Other as u64);
            let edges = piece(&self.edges, part);
            number(scratch, edges.len() as u64);
            let mut last = 0;
            for (from, to, times) in edges {
                number(scratch, zigzag(i64::from(*from) - last));
                number(scratch, u64::from(*to));
                number(scratch, *times);
                last = i64::from(*from);
            }
            for list in [&self.executed, &self.library] {
                let list = piece(list, part);
                number(scratch, list.len() as u64);
                let mut last = 0;
                for (block, sum) in list {
                    number(scratch, zigzag(i64::from(*block) - last));
                    number(scratch, *sum);
                    last = i64::from(*block);
                }
            }
            let totals = [self.own_instructions, self.library_instructions, self.other_instructions];
            for total in if part == 0 { totals } else { [0; 3] } {
                number(scratch, total);
            }
            take(scratch);
        }
    }
}

fn piece<T>(list: &[T], part: usize) -> &[T] {
    let from = (part * MOST).min(list.len());
    &list[from..(from + MOST).min(list.len())]
}

#[cfg(test)]
mod tests {
    use holdup_trace::instructions::{BUFFER_BYTES, take, unzigzag};

    use super::*;

    fn numbers(mut bytes: &[u8]) -> Vec<u64> {
        let mut found = Vec::new();
        while let Some((value, length)) = take(bytes) {
            found.push(value);
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn a_small_entry_is_as_the_format_says() {
        let mut sums = Sums {
            edges: vec![(5, 1, 9), (2, 3, 7)],
            executed: vec![(3, 7), (1, 2), (1, 7)],
            library: vec![(5, 100)],
            own_instructions: 50,
            library_instructions: 120,
            other_instructions: 3,
        };
        sums.order();
        let mut written = Vec::new();
        sums.write(&mut Vec::new(), |bytes| written.extend_from_slice(bytes));
        let head = (Other::Counts as u64) << 2 | 3;
        let (two, three, five) = (zigzag(2), zigzag(3), zigzag(5));
        let expected = [head, 2, two, 3, 7, three, 1, 9, 2, zigzag(1), 9, two, 7, 1, five, 100, 50, 120, 3];
        assert_eq!(numbers(&written), expected);
    }

    /// That of docs/counts.md.
    #[test]
    fn the_example_is_written_as_it_is_described() {
        let sums = Sums {
            edges: vec![(7, 8, 1), (8, 8, 998)],
            executed: vec![(7, 1), (8, 999)],
            own_instructions: 2001,
            ..Sums::default()
        };
        let mut written = Vec::new();
        sums.write(&mut Vec::new(), |bytes| written.extend_from_slice(bytes));
        let expected = [
            0x17, 0x05, 0x1d, 0x11, 0x03, 0x05, 0x11, 0x9a, 0x0f, 0x05, 0x1d, 0x03, 0x05, 0x9e, 0x0f, 0x01,
            0x46, 0x1f, 0x01, 0x01,
        ];
        assert_eq!(written, expected, "{written:02x?}");
    }

    #[test]
    fn large_counts_are_cut_into_entries_that_fit() {
        let mut sums = Sums { own_instructions: 1, ..Sums::default() };
        for block in 0..10_000 {
            sums.edges.push((u32::MAX - block * 77, block, u64::MAX));
            sums.executed.push((block, u64::MAX >> 8));
            sums.library.push((block * 3, u64::MAX));
        }
        let (mut entries, mut edges, mut total) = (0, Vec::new(), 0);
        sums.write(&mut Vec::new(), |bytes| {
            assert!(bytes.len() <= BUFFER_BYTES);
            let numbers = numbers(bytes);
            let mut last = 0;
            for edge in numbers[2..].chunks(3).take(numbers[1] as usize) {
                last += unzigzag(edge[0]);
                edges.push((last as u32, edge[1] as u32, edge[2]));
            }
            total += numbers[numbers.len() - 3];
            entries += 1;
        });
        assert_eq!((entries, total), (3, 1));
        assert_eq!(edges, sums.edges);
    }
}
