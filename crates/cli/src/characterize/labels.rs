//! What a row is of.

use holdup_characterize::Labels;

/// The labels that a row can have, as columns of tables name them.
pub(super) const LABELS: [&str; 6] = ["suite", "program", "input", "threads", "machine", "what_if"];

/// Sets the label with this place in [`LABELS`].
pub(super) fn set(labels: &mut Labels, label: usize, text: &str) {
    let known = (!text.is_empty()).then(|| text.to_owned());
    match LABELS[label] {
        "suite" => labels.suite = known,
        "program" => labels.program = text.to_owned(),
        "input" => labels.input = known,
        "threads" => labels.threads = threads(text),
        "machine" => labels.machine = known,
        _ => labels.what_if = known,
    }
}

/// A number of threads, also as tables with missing numbers have it: `4.0`.
fn threads(text: &str) -> Option<u32> {
    let number: f64 = text.parse().ok()?;
    let is_count = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number);
    is_count.then_some(number as u32)
}

/// The program and the input of a command: the name of the program, and its arguments, of which those that are the number of
/// threads are `{threads}`, so that runs with other numbers have the same input.
pub(super) fn of_command(command: &[String], threads: Option<u32>) -> Labels {
    let program = command.first().map_or("unknown", |path| path.rsplit('/').next().unwrap_or(path));
    let number = threads.map(|threads| threads.to_string());
    let word = |word: &String| match &number {
        Some(number) if word == number => "{threads}".to_owned(),
        _ => word.clone(),
    };
    let words: Vec<String> = command.iter().skip(1).map(word).collect();
    let has_input = words.iter().any(|word| word != "{threads}");
    Labels { input: has_input.then(|| words.join(" ")), threads, ..Labels::of(program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_no_input() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let labels = of_command(&words("/usr/bin/pigz -p 4 big.txt"), Some(4));
        assert_eq!(
            (labels.program.as_str(), labels.input.as_deref()),
            ("pigz", Some("-p {threads} big.txt"))
        );
        assert_eq!(of_command(&words("./fft 8"), Some(8)).input, None);
        assert_eq!(of_command(&[], None).program, "unknown");
    }
}
