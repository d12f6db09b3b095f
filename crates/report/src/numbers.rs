//! Numbers for people: two or three significant digits, a unit, and never more than the data holds.

use holdup_model::Nanos;

use crate::Look;

/// A length of time: `12.4 s`, `5.1 s`, `431 ms`, `87 ns`.
pub(crate) fn time(time: Nanos, look: Look) -> String {
    let micro = if look.unicode { "µs" } else { "us" };
    let nanos = time.get();
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    // A value that rounds up to 1000 of its unit is shown in the next one.
    let units = [(1e3, micro), (1e6, "ms"), (1e9, "s")];
    let (scale, unit) = *units.iter().find(|(scale, _)| nanos as f64 / scale < 999.5).unwrap_or(&units[2]);
    format!("{} {unit}", figure(nanos as f64 / scale))
}

/// A share of a whole as `71 %`; small ones as `4.2 %`, and what would round to nothing as `under 0.1 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value == 0.0 {
        "0 %".to_owned()
    } else if value.abs() < 0.05 {
        "under 0.1 %".to_owned()
    } else if value.abs() < 9.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A plain figure with two or three significant digits: `3.1`, `12.4`, `431`.
pub(crate) fn figure(value: f64) -> String {
    if value.abs() < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A whole number in groups of three: `12 345 678`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun: `1 thread`, `8 threads`.
pub(crate) fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(value), if value == 1 { one } else { many })
}

/// A small number as a word, as in a sentence: `five`.
pub(crate) fn in_words(value: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(value).map_or_else(|| grouped(value as u64), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, color: false, unicode: true };

    #[test]
    fn times_have_two_or_three_digits() {
        let shown = |nanos| time(Nanos::new(nanos), LOOK);
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(999), "999 ns");
        assert_eq!(shown(1_049), "1.0 µs");
        assert_eq!(shown(999_400), "999 µs");
        assert_eq!(shown(999_700), "1.0 ms");
        assert_eq!(shown(5_100_000_000), "5.1 s");
        assert_eq!(shown(12_437_000_000), "12.4 s");
        assert_eq!(shown(4_000_000_000_000), "4000 s");
    }

    #[test]
    fn shares_do_not_pretend() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "under 0.1 %");
        assert_eq!(percent(0.006), "0.6 %");
        assert_eq!(percent(0.0994), "9.9 %");
        assert_eq!(percent(0.0996), "10 %");
        assert_eq!(percent(0.7149), "71 %");
    }

    #[test]
    fn whole_numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1 000");
        assert_eq!(grouped(12_345_678), "12 345 678");
        assert_eq!(counted(1, "thread", "threads"), "1 thread");
        assert_eq!(in_words(5), "five");
        assert_eq!(in_words(1_300), "1 300");
    }
}
