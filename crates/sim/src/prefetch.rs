//! A stride prefetcher: it follows the lines that single instructions ask for (Chen and Baer, "Effective hardware-based
//! data prefetching for high-performance processors", IEEE Transactions on Computers 1995).
//!
//! It does not stop at the ends of pages, as the addresses are virtual and the hardware's next-page prefetchers bridge
//! most of them.

use crate::machine::PrefetchFacts;

/// A stride that repeated once is believed; one that repeated more often survives a single jump.
const STEADY: u8 = 2;

/// The longest stride that is followed, in lines: 2 KiB (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data
/// prefetching": the prefetcher of strides by instruction follows up to that). Orders of nodes in memory have longer ones now and
/// then, by which no hardware finds the next one.
const LONGEST: u64 = 2048 / 64;

/// A stream: the lines that one instruction asks for.
#[derive(Clone, Copy)]
struct Stream {
    place: u32,
    line: u64,
    /// Lines from one access to the next.
    stride: i64,
    /// How often it repeated, up to [`STEADY`].
    repeats: u8,
    /// Strides beyond `line` that were fetched already.
    ahead: u32,
}

/// The prefetcher of one core.
pub(crate) struct StridePrefetcher {
    /// The one that was used last comes first.
    streams: Vec<Stream>,
    limit: usize,
    depth: u32,
}

impl StridePrefetcher {
    /// One that follows nothing yet.
    pub(crate) fn new(facts: &PrefetchFacts) -> Self {
        let limit = facts.streams as usize;
        Self { streams: Vec::with_capacity(limit.min(1024)), limit, depth: facts.depth }
    }

    /// The instruction with this number asked for a line: adds the lines that are to be fetched for it to `out`, the
    /// nearest first and never more than the depth. Further accesses to the same line change nothing.
    pub(crate) fn train(&mut self, place: u32, line: u64, out: &mut Vec<u64>) {
        let Some(found) = self.streams.iter().position(|stream| stream.place == place) else {
            if self.limit > 0 {
                self.streams.truncate(self.limit - 1);
                self.streams.insert(0, Stream { place, line, stride: 0, repeats: 0, ahead: 0 });
            }
            return;
        };
        self.streams[..=found].rotate_right(1);
        let stream = &mut self.streams[0];
        let stride = line.wrapping_sub(stream.line).cast_signed();
        if stride == 0 {
            return;
        }
        stream.line = line;
        if stride != stream.stride {
            // One jump, as at the end of a row of a matrix, and the stride goes on behind it.
            let is_jump = stream.repeats == STEADY;
            let keeps = is_jump || stride.unsigned_abs() > LONGEST;
            stream.stride = if keeps { stream.stride } else { stride };
            stream.repeats = u8::from(is_jump);
            stream.ahead = 0;
            return;
        }
        stream.repeats = (stream.repeats + 1).min(STEADY);
        stream.ahead = stream.ahead.saturating_sub(1);
        for strides in stream.ahead + 1..=self.depth {
            if let Some(line) = line.checked_add_signed(stride.saturating_mul(i64::from(strides))) {
                out.push(line);
            }
        }
        stream.ahead = self.depth;
    }
}

#[cfg(test)]
mod tests;
