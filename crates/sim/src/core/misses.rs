//! Lines that are on their way to the first level.

use holdup_model::cycles::Level;

use super::piece::Piece;

/// Lines whose arrival is remembered, a power of two.
const LINES: usize = 64;
/// Loads that missed and are remembered for what they hide: no more lines are ever under way at once in the cores of today.
const LOADS: usize = 64;

/// A line and when it is there.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    line: u64,
    at: u64,
    by: Level,
}

/// A load that missed.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    sequence: u64,
    piece: Piece,
}

#[derive(Debug)]
pub(super) struct Misses {
    arrivals: Box<[Arrival; LINES]>,
    /// When the last of them is there.
    last: u64,
    /// When each fill buffer is free; empty if there is no limit.
    buffers: Vec<u64>,
    /// When the first of them is.
    free: u64,
    loads: Box<[Load; LOADS]>,
    /// How many loads missed.
    count: usize,
}

impl Misses {
    /// None of `buffers` for no limit.
    pub(super) fn new(buffers: u32) -> Self {
        Self {
            arrivals: Box::new([Arrival { line: u64::MAX, at: 0, by: Level::L1 }; LINES]),
            last: 0,
            buffers: vec![0; buffers as usize],
            free: 0,
            loads: Box::new([Load::default(); LOADS]),
            count: 0,
        }
    }

    /// Whether anything is on its way at this time.
    #[inline]
    pub(super) fn any_after(&self, cycle: u64) -> bool {
        self.last > cycle
    }

    /// When an access that is ready at `ready` begins, if it misses: when a fill buffer is free, but for a line that is on its way.
    #[inline]
    pub(super) fn begins(&self, line: u64, ready: u64) -> u64 {
        let is_free = self.free <= ready || self.arrival(line).is_some_and(|(at, _)| at > ready);
        if is_free { ready } else { self.free }
    }

    /// An access that misses is ready to begin at `begin` and then takes `latency`: when the line is there, which is later if no
    /// fill buffer is free.
    pub(super) fn fetch(&mut self, line: u64, begin: u64, latency: u64, by: Level) -> u64 {
        let arrival = &self.arrivals[line as usize % LINES];
        if !self.buffers.is_empty() && arrival.line == line && arrival.at > begin {
            // One buffer is for the whole line.
            return arrival.at;
        }
        let at = match self.buffers.iter_mut().min() {
            Some(free) => {
                *free = begin.max(*free) + latency;
                let at = *free;
                self.free = self.buffers.iter().copied().min().unwrap_or(0);
                at
            }
            None => begin + latency,
        };
        self.arrivals[line as usize % LINES] = Arrival { line, at, by };
        self.last = self.last.max(at);
        at
    }

    /// When a line comes that is on its way, and from where.
    #[inline]
    pub(super) fn arrival(&self, line: u64) -> Option<(u64, Level)> {
        let found = self.arrivals[line as usize % LINES];
        (found.line == line).then_some((found.at, found.by))
    }

    /// The micro-op with this number is a load that missed; its piece of the path, if it is the longest, would be this.
    pub(super) fn remember(&mut self, sequence: u64, piece: Piece) {
        self.loads[self.count % LOADS] = Load { sequence, piece };
        self.count += 1;
    }

    /// Of the cycles of a stall of the front end from `now` on: how many would have been lost to a load under way, and which.
    ///
    /// The window holds `window` micro-ops, the next has number `sequence`. Without the stall, the core would dispatch at its
    /// width until the load is at the window's head and all is full; then it would wait for the load's data. What the stall
    /// takes of that wait costs nothing.
    pub(super) fn hidden(&self, now: u64, sequence: u64, window: u64, width: u64) -> Option<(u64, Piece)> {
        let mut best: Option<(u64, Piece)> = None;
        for back in 1..=self.count.min(LOADS) {
            let load = &self.loads[(self.count - back) % LOADS];
            let room = (load.sequence + window).saturating_sub(sequence);
            if room == 0 {
                break;
            }
            let hidden = load.piece.end.saturating_sub(now + room.div_ceil(width));
            if hidden > best.map_or(0, |(most, _)| most) {
                best = Some((hidden, load.piece));
            }
        }
        best
    }
}
