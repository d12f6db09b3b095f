//! Figures that documents claim: each stands in a page of `docs/` that says how it was measured.

use crate::workspace::TextFile;

/// Pages that only repeat what others measured.
const CLAIMING: &[&str] = &["README.md", "docs/trust.md", "docs/others.md"];

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    let measured = |figure: &str| {
        let pages = files.iter().filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"));
        let mut others = pages.filter(|file| !CLAIMING.contains(&file.path.as_str()));
        others.any(|page| figures(&page.text).any(|(_, other)| other == figure))
    };
    let claiming = files.iter().filter(|file| CLAIMING.contains(&file.path.as_str()));
    claiming
        .flat_map(|file| {
            let unfounded = figures(&file.text).filter(|(_, figure)| !measured(figure));
            unfounded.map(|(line, figure)| {
                format!("{}:{line}: no page in docs says where {figure} is from; measure it there", file.path)
            })
        })
        .collect()
}

/// Numbers with a decimal point and those of per cent, outside of blocks of code, each with its line.
fn figures(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(|(number, line)| in_line(line).into_iter().map(move |figure| (number, figure)))
}

fn in_line(line: &str) -> Vec<&str> {
    let is_of_number = |one: char| one.is_ascii_digit() || one == '.';
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = line[from..].find(|one: char| one.is_ascii_digit()).map(|at| from + at) {
        let end = line[begin..].find(|one| !is_of_number(one)).map_or(line.len(), |at| begin + at);
        let number = line[begin..end].trim_end_matches('.');
        let is_version = line[..begin].ends_with(|one: char| one.is_alphanumeric() || one == '-');
        if !is_version && (number.matches('.').count() == 1 || line[end..].starts_with(" %")) {
            found.push(number);
        }
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn figures_are_decimals_and_per_cents() {
        assert_eq!(
            in_line("1.66 times (1.58 to 1.70), 20.9 % or 81 % of 44; gcc-12.2, v2.0."),
            ["1.66", "1.58", "1.70", "20.9", "81"]
        );
    }

    #[test]
    fn a_claim_without_its_measurement_is_named() {
        let files = [
            file("README.md", "It is 1.5 times as fast.\n```\n3.7 s\n```\nAnd 90 % do."),
            file("docs/truth.md", "Measured: 1.5 times."),
            file("docs/others.md", "90 % of it"),
        ];
        let lines = complaints(&files);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("README.md:5:") && lines[0].contains("90"), "{lines:?}");
    }
}
