//! Bytes of a ring, cut into records.

use std::ops::Range;

/// The header of a record: type (4 bytes), flags (2), length with the header (2).
pub(crate) const HEADER_BYTES: usize = 8;

/// What can be read of a ring: two pieces, since it may go on at the ring's start.
///
/// Records are multiples of 8 bytes, so a header is never cut in two; one that has another length is rubbish.
pub(crate) struct Records<'a> {
    pieces: [&'a [u8]; 2],
    at: usize,
}

/// A record, or that there is none where one should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut<'r> {
    /// Its bytes, with the header.
    Record(&'r [u8]),
    /// No record begins here: this many bytes, all that there are, cannot be read.
    Rubbish(usize),
}

impl<'a> Records<'a> {
    /// The second piece follows the first one. `at` bytes of them, no more than there are, have been cut already.
    pub(crate) fn new(first: &'a [u8], second: &'a [u8], at: usize) -> Records<'a> {
        Records { pieces: [first, second], at }
    }

    /// How many bytes have been cut.
    pub(crate) fn consumed(&self) -> usize {
        self.at
    }

    /// The next one. A record that lies in both pieces is put together in `joined`.
    pub(crate) fn next<'r>(&mut self, joined: &'r mut Vec<u8>) -> Option<Cut<'r>>
    where
        'a: 'r,
    {
        let left = self.pieces[0].len() + self.pieces[1].len() - self.at;
        if left == 0 {
            return None;
        }
        let header = self.whole(self.at..self.at + HEADER_BYTES);
        let len = header.and_then(|bytes| bytes.get(6..8)).map_or(0, |len| {
            let len: [u8; 2] = len.try_into().unwrap_or_default();
            usize::from(u16::from_ne_bytes(len))
        });
        if len < HEADER_BYTES || !len.is_multiple_of(8) || len > left {
            self.at += left;
            return Some(Cut::Rubbish(left));
        }
        let range = self.at..self.at + len;
        self.at = range.end;
        if let Some(record) = self.whole(range.clone()) {
            return Some(Cut::Record(record));
        }
        let split = self.pieces[0].len();
        joined.clear();
        joined.extend_from_slice(&self.pieces[0][range.start..]);
        joined.extend_from_slice(&self.pieces[1][..range.end - split]);
        Some(Cut::Record(joined))
    }

    /// The bytes in this range, if they lie in one piece.
    fn whole(&self, range: Range<usize>) -> Option<&'a [u8]> {
        let split = self.pieces[0].len();
        if range.start < split {
            self.pieces[0].get(range)
        } else {
            self.pieces[1].get(range.start - split..range.end - split)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(fill: u8, len: u16) -> Vec<u8> {
        let mut bytes = vec![fill; usize::from(len)];
        bytes[..4].copy_from_slice(&14_u32.to_ne_bytes());
        bytes[6..8].copy_from_slice(&len.to_ne_bytes());
        bytes
    }

    fn cut(first: &[u8], second: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let mut records = Records::new(first, second, 0);
        let (mut found, mut rubbish, mut joined) = (Vec::new(), 0, Vec::new());
        while let Some(cut) = records.next(&mut joined) {
            match cut {
                Cut::Record(bytes) => found.push(bytes.to_vec()),
                Cut::Rubbish(bytes) => rubbish += bytes,
            }
        }
        assert_eq!(records.consumed(), first.len() + second.len());
        (found, rubbish)
    }

    #[test]
    fn records_are_whole_wherever_the_ring_wraps() {
        let all = [record(1, 16), record(2, 40), record(3, 8), record(4, 24)];
        let bytes = all.concat();
        for split in (0..=bytes.len()).step_by(8) {
            let (first, second) = bytes.split_at(split);
            assert_eq!(cut(first, second), (all.to_vec(), 0), "split at {split}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_end_the_reading() {
        for len in [0_u16, 7, 9, 12, 4096, u16::MAX] {
            let mut bytes = [record(1, 16), record(2, 24)].concat();
            bytes[22..24].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(cut(&bytes, &[]), (vec![record(1, 16)], 24), "length {len}");
        }
        let bytes = record(1, 16);
        assert_eq!(cut(&bytes[..12], &[]), (vec![], 12));
        assert_eq!(cut(&bytes[..5], &bytes[5..7]), (vec![], 7));
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(first in any::<Vec<u8>>(), second in any::<Vec<u8>>()) {
            let (found, rubbish) = cut(&first, &second);
            let read: usize = found.iter().map(Vec::len).sum();
            prop_assert_eq!(read + rubbish, first.len() + second.len());
        }
    }
}
