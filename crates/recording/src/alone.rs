//! Runs in which one thread was to run by itself: their stretches and counts as the model has them.

use holdup_model::{AloneCount, AloneSpan, Nanos, NotAlone, ThreadId};
use holdup_trace::alone::{AloneCode, Stretch};
use holdup_trace::wire::UNKNOWN;

use crate::clock::Clock;
use crate::facts::AloneCounted;

/// Others may have run for this share of a stretch, in percent, and it still counts as alone: threads that get a lock pass
/// it on before they are held.
const MOMENTS_PERCENT: u64 = 3;

/// A stretch as the model has it; `None` where its CPU time is not known.
pub(crate) fn span(thread: ThreadId, stretch: &Stretch, clock: &Clock) -> Option<AloneSpan> {
    if stretch.cpu_begin == UNKNOWN || stretch.cpu_end == UNKNOWN {
        return None;
    }
    let length = stretch.end.saturating_sub(stretch.begin);
    let quiet = stretch.disturbed.saturating_mul(100) <= length.saturating_mul(MOMENTS_PERCENT);
    let alone = quiet && !matches!(stretch.why, AloneCode::Unready | AloneCode::Spun);
    let why = match stretch.why {
        AloneCode::Held => NotAlone::Woken,
        AloneCode::Bound => NotAlone::Bound,
        AloneCode::Asleep => NotAlone::Asleep,
        AloneCode::Watchdog => NotAlone::Watchdog,
        AloneCode::GivenUp => NotAlone::GivenUp,
        AloneCode::Unready => NotAlone::Unready,
        AloneCode::Spun => NotAlone::Spun,
    };
    let begin = clock.time(stretch.begin);
    Some(AloneSpan {
        thread,
        begin,
        end: clock.time(stretch.end).max(begin),
        cpu: Nanos::new(stretch.cpu_end.saturating_sub(stretch.cpu_begin)),
        alone,
        reason: (!alone).then_some(why),
    })
}

/// What the processor's counters said of a thread, as the model has it.
pub(crate) fn count(counted: &AloneCounted, clock: &Clock) -> AloneCount {
    let begin = clock.time(counted.begin);
    AloneCount {
        begin,
        end: clock.time(counted.end).max(begin),
        cycles: counted.cycles,
        instructions: counted.instructions,
        misses: counted.misses,
        time: Nanos::new(counted.time_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Session;

    fn span_of(disturbed: u64, why: AloneCode) -> AloneSpan {
        let session = Session { clock: "monotonic".into(), ticks_per_second: 1e9, ..Session::default() };
        let stretch = Stretch { begin: 1000, end: 2000, cpu_begin: 10, cpu_end: 910, disturbed, why };
        span(ThreadId::new(1), &stretch, &Clock::new(&session, &[])).expect("its CPU time is known")
    }

    #[test]
    fn others_that_ran_for_moments_do_not_spoil_a_stretch() {
        let span = span_of(30, AloneCode::Held);
        assert!(span.alone && span.reason.is_none());
        assert_eq!(span.cpu, Nanos::new(900));
        assert_eq!(span_of(31, AloneCode::Held).reason, Some(NotAlone::Woken));
        assert!(span_of(0, AloneCode::Bound).alone, "the last of them became quiet at once");
        assert_eq!(span_of(500, AloneCode::Bound).reason, Some(NotAlone::Bound));
    }

    #[test]
    fn a_stretch_without_its_pirate_is_never_alone() {
        assert_eq!(span_of(0, AloneCode::Unready).reason, Some(NotAlone::Unready));
    }
}
