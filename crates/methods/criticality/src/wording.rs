//! Figures and sentences of findings.

use holdup_model::Nanos;
use holdup_model::figures::percent;

/// Which states the ones that were waited for were in, other than at work, as a sentence; `None` where they
/// were at work nearly all the time.
pub(crate) fn meanwhile(charge: &crate::blame::Charge) -> Option<String> {
    let total = charge.total();
    let parts: Vec<String> = [
        (charge.descheduled, "without a core"),
        (charge.io, "waiting for I/O"),
        (charge.outside, "waiting for something outside of the program"),
        (charge.asleep, "asleep"),
        (charge.waking, "woken but not yet running"),
    ]
    .into_iter()
    .filter(|(time, _)| time.share_of(total) >= 0.05)
    .map(|(time, word)| format!("{word} {} of the time", percent(time.share_of(total))))
    .collect();
    (!parts.is_empty()).then(|| format!("Meanwhile the one that was waited for was {}.", parts.join(", ")))
}

/// The mean of `count` parts of `time`.
pub(crate) fn mean(time: Nanos, count: u64) -> Nanos {
    Nanos::new(time.get() / count.max(1))
}
