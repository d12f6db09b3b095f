//! What the words of all records have in common: their header, and how numbers and bytes are packed.

/// A header word.
pub const fn header(tag: u8, flags: u8, words: usize, small: u32) -> u64 {
    tag as u64 | (flags as u64) << 8 | (words as u64 & 0xffff) << 16 | (small as u64) << 32
}

/// Two numbers in a word.
pub(crate) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// The words that `bytes` bytes need.
pub const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Bytes packed into words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a> {
    words: &'a [u64],
    len: usize,
}

impl<'a> Text<'a> {
    /// The first `len` bytes of these words; `None` if they are fewer.
    pub(crate) fn new(words: &'a [u64], len: usize) -> Option<Self> {
        (len <= words.len() * 8).then_some(Text { words, len })
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes in order.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        let len = self.len;
        self.words.iter().flat_map(|word| word.to_le_bytes()).take(len)
    }
}

/// Why words could not be read as a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadRecord {
    /// The length is zero or reaches past the end: nothing after it can be read.
    Length,
    /// The tag or a code is not known; the record can be skipped, it has this many words.
    Unknown(usize),
}
