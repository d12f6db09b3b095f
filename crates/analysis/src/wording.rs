//! Figures and sentences of findings.

use holdup_model::Nanos;

/// `71 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        value if value > 0.0 && value < 0.95 => "under 1 %".to_owned(),
        value => format!("{value:.0} %"),
    }
}

/// `1 CPU`, `1.5 CPUs`.
pub(crate) fn cpus(count: f64) -> String {
    let digits = if (count - count.round()).abs() < 0.005 {
        0
    } else if (count * 10.0 - (count * 10.0).round()).abs() < 0.05 {
        1
    } else {
        2
    };
    let noun = if (count - 1.0).abs() < 0.005 { "CPU" } else { "CPUs" };
    format!("{count:.digits$} {noun}")
}

/// `one time`, `12 times`.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

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
