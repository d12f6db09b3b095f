//! Numbers for people: two or three significant digits, a unit, and never more than the data holds.
//!
//! Lengths of time are told by [`Nanos`](crate::Nanos)' `Display`.

/// A share of a whole as `71 %`; small ones as `4.2 %`, and what would round to nothing as `under 0.1 %`.
pub fn percent(share: f64) -> String {
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

/// A range of shares as `3.1 to 5.2 %`; one whose ends read the same as one share, one from next to nothing on as
/// `up to 0.4 %`.
pub fn percent_range(least: f64, most: f64) -> String {
    let (from, to) = (percent(least), percent(most));
    if from == to {
        to
    } else if least * 100.0 < 0.05 {
        format!("up to {to}")
    } else {
        format!("{} to {to}", from.trim_end_matches(" %"))
    }
}

/// A plain figure with two or three significant digits: `3.1`, `12.4`, `431`.
pub fn figure(value: f64) -> String {
    if value.abs() < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A factor, or a speedup: `2.43`, `12.4`; `-` where it is no number.
pub fn factor(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        value if value.abs() < 9.995 => format!("{value:.2}"),
        value => figure(value),
    }
}

/// A whole number in groups of three: `12 345 678`.
pub fn grouped(value: u64) -> String {
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
pub fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(value), if value == 1 { one } else { many })
}

/// `1 thread`, `8 threads`.
pub fn threads(count: u32) -> String {
    counted(u64::from(count), "thread", "threads")
}

/// `once`, `12 times`.
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { counted(count, "time", "times") }
}

/// `1 CPU`, `1.5 CPUs`.
pub fn cpus(count: f64) -> String {
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

/// A size in powers of two: `512 bytes`, `2.5 MiB`, `3 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    let value = bytes as f64 / 1024_f64.powi(power as i32);
    let rounded = if value < 9.95 { (value * 10.0).round() / 10.0 } else { value.round() };
    format!("{rounded} {}", UNITS[power as usize])
}

/// A small number as a word, as in a sentence: `five`.
pub fn in_words(value: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(value).map_or_else(|| grouped(value as u64), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!([times(1), times(12)], ["once", "12 times"]);
        assert_eq!(in_words(5), "five");
        assert_eq!(in_words(1_300), "1 300");
    }

    #[test]
    fn sizes_are_in_powers_of_two() {
        let told = [0, 512, 512 << 10, 1 << 20, (5 << 20) / 2, 480 << 20, 3 << 30, u64::MAX].map(bytes);
        let expected =
            ["0 bytes", "512 bytes", "512 KiB", "1 MiB", "2.5 MiB", "480 MiB", "3 GiB", "16777216 TiB"];
        assert_eq!(told, expected);
    }
}
