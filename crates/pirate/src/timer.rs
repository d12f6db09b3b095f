//! How long one load takes.

use std::hint::black_box;

use crate::clock;
use crate::instructions::{KNOWN, ticks};
use crate::refusal::Refusal;

/// A hit and a miss of the last level are some 80 ns apart; a tick must be short beside that.
const COARSEST_NS: f64 = 12.0;

/// The processor's counter with its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    ns_per_tick: f64,
    /// Ticks that two readings with nothing between them are apart.
    idle: u64,
}

impl Timer {
    /// Measures the counter's rate, which takes 5 ms, and what reading it costs.
    pub(crate) fn new() -> Result<Timer, Refusal> {
        const RATE_NS: u64 = 5_000_000;
        if !KNOWN {
            return Err(Refusal::UnknownProcessor);
        }
        let (begin, ticks_begin) = (clock::now_ns(), ticks());
        while clock::now_ns() - begin < RATE_NS {
            std::hint::spin_loop();
        }
        let (end, ticks_end) = (clock::now_ns(), ticks());
        let ns_per_tick = (end - begin) as f64 / ticks_end.saturating_sub(ticks_begin).max(1) as f64;
        if ns_per_tick > COARSEST_NS {
            return Err(Refusal::CoarseClock { resolution_ns: ns_per_tick });
        }
        let idle = (0..1000).map(|_| {
            let before = ticks();
            ticks().saturating_sub(before)
        });
        Ok(Timer { ns_per_tick, idle: idle.min().unwrap_or(0) })
    }

    /// Nanoseconds that reading `byte` takes, with what reading the counter costs taken off.
    #[inline(always)]
    pub(crate) fn load_ns(&self, byte: &u8) -> f64 {
        let before = ticks();
        black_box(*black_box(byte));
        let after = ticks();
        after.saturating_sub(before).saturating_sub(self.idle) as f64 * self.ns_per_tick
    }
}
