//! The columns of the page: whole numbers in as few bytes as they need, compressed, and written in base64.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};

/// A part of the columns that can be read alone.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) bytes: Vec<u8>,
}

impl Columns {
    /// A whole number: seven bits a byte, lowest first; the highest bit says that more follow (LEB128).
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A number that may be missing: 0, or one more than it.
    pub(super) fn maybe(&mut self, value: Option<usize>) {
        self.number(value.map_or(0, |value| value as u64 + 1));
    }

    /// A difference: even numbers are its positive values, odd ones the negative (zigzag).
    pub(super) fn difference(&mut self, from: u64, to: u64) {
        match to.checked_sub(from) {
            Some(after) => self.number(after.saturating_mul(2)),
            None => self.number((from - to).saturating_mul(2) - 1),
        }
    }
}

/// Parts one behind the other, each compressed on its own, so that the first picture waits for the first part only.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    /// The compressed length of each part.
    pub(super) lengths: Vec<usize>,
}

impl Packed {
    /// Compresses a part. The header of the stream names no time and no system, so that the same columns always give
    /// the same bytes.
    pub(super) fn add(&mut self, columns: &Columns) {
        let before = self.bytes.len();
        let mut encoder = GzBuilder::new().mtime(0).write(&mut self.bytes, Compression::default());
        encoder.write_all(&columns.bytes).expect("a Vec takes all that is written to it");
        encoder.finish().expect("a Vec takes all that is written to it");
        self.lengths.push(self.bytes.len() - before);
    }

    /// All parts as text.
    pub(super) fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}
