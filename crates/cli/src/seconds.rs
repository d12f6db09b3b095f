//! Lengths of time, as options have them.

use std::time::Duration;

/// Seconds, perhaps with a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let length = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    length.ok_or_else(|| "give seconds, such as 2 or 0.5".to_owned())
}
