//! What was measured, a line for each answer, written as it comes: a measurement that was interrupted goes on from there.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use holdup_stage::planted::Gain;

use super::case::Answer;
use super::machine::Where;

const HEAD: &str = "row\twhere\tround\tfirst\tplace\tgone\tgain low\tgain\tgain high\tplanted s\tfixed s\trepeated\tdisturbed\tsaid";

/// An answer, and how it was measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) place: Where,
    /// From 1.
    pub(super) round: u32,
    /// Runs that were repeated because others used the machine.
    pub(super) repeated: u32,
    /// Runs that counted though others did.
    pub(super) disturbed: u32,
    pub(super) answer: Answer,
}

/// The file of results, to which lines are added.
pub(super) struct Results {
    file: File,
}

impl Results {
    /// Opens the file to add to it; with `resume` what is there stays, else it is moved out of the way.
    pub(super) fn open(path: &Path, resume: bool) -> Result<Results> {
        if !resume && path.exists() {
            std::fs::rename(path, path.with_extension("before.tsv"))?;
        }
        let file = OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.with_context(|| path.display().to_string())?;
        if file.metadata()?.len() == 0 {
            writeln!(file, "{HEAD}")?;
        }
        Ok(Results { file })
    }

    /// Adds lines, all or none of them.
    pub(super) fn push(&mut self, measured: &[Measured]) -> Result<()> {
        let lines: String = measured.iter().map(|measured| line(measured) + "\n").collect();
        Ok(self.file.write_all(lines.as_bytes())?)
    }
}

/// All that is in a file of results; a last line that is cut off is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Measured>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let parsed = |(number, line): (usize, &str)| {
        parse(line).with_context(|| format!("{}: line {} is no result", path.display(), number + 1))
    };
    whole.lines().enumerate().skip(1).map(parsed).collect()
}

fn line(measured: &Measured) -> String {
    let Answer { row, first, place, gone, gain, planted_s, fixed_s, said } = &measured.answer;
    let truth = |value: &Option<bool>| value.map_or(String::new(), |value| u8::from(value).to_string());
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6}"));
    let said: String = said.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    [
        row.clone(),
        measured.place.name().to_owned(),
        measured.round.to_string(),
        truth(first),
        truth(place),
        truth(gone),
        number(gain.map(|gain| gain.low)),
        number(gain.map(|gain| gain.likely)),
        number(gain.map(|gain| gain.high)),
        number(*planted_s),
        number(*fixed_s),
        measured.repeated.to_string(),
        measured.disturbed.to_string(),
        said,
    ]
    .join("\t")
}

fn parse(line: &str) -> Option<Measured> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [row, place, round, first, right, gone, low, likely, high, planted, fixed, repeated, disturbed, said] =
        fields[..]
    else {
        return None;
    };
    let truth = |text: &str| match text {
        "" => Some(None),
        "0" => Some(Some(false)),
        "1" => Some(Some(true)),
        _ => None,
    };
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let gain = match (number(low)?, number(likely)?, number(high)?) {
        (Some(low), Some(likely), Some(high)) => Some(Gain { low, likely, high }),
        _ => None,
    };
    Some(Measured {
        place: Where::of(place)?,
        round: round.parse().ok()?,
        repeated: repeated.parse().ok()?,
        disturbed: disturbed.parse().ok()?,
        answer: Answer {
            row: row.to_owned(),
            first: truth(first)?,
            place: truth(right)?,
            gone: truth(gone)?,
            gain,
            planted_s: number(planted)?,
            fixed_s: number(fixed)?,
            said: said.to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(round: u32) -> Measured {
        let gain = Some(Gain { low: 0.25, likely: 0.5, high: 0.75 });
        let answer = Answer {
            row: "report demo".to_owned(),
            first: Some(true),
            place: Some(false),
            gain,
            planted_s: Some(1.5),
            said: "a tab is here".to_owned(),
            ..Answer::default()
        };
        Measured { place: Where::Load, round, repeated: 2, disturbed: 1, answer }
    }

    #[test]
    fn lines_go_there_and_back_and_are_added_to() {
        let stage = tempfile::tempdir().expect("a directory");
        let path = stage.path().join("results.tsv");
        let mut with_a_tab = measured(1);
        with_a_tab.answer.said = "a\ttab\nis here".replace('\n', "\t");
        Results::open(&path, false).expect("a file").push(&[with_a_tab]).expect("a line");
        Results::open(&path, true).expect("a file").push(&[measured(2)]).expect("a line");
        assert_eq!(read(&path).expect("results"), [measured(1), measured(2)]);
        Results::open(&path, false).expect("a file");
        assert_eq!(read(&path).expect("no results"), []);
        assert_eq!(read(&path.with_extension("before.tsv")).expect("the former ones").len(), 2);
    }

    #[test]
    fn a_line_that_is_cut_off_is_left_out_and_rubbish_is_named() {
        let stage = tempfile::tempdir().expect("a directory");
        let path = stage.path().join("results.tsv");
        Results::open(&path, false).expect("a file").push(&[measured(1), measured(2)]).expect("lines");
        let text = std::fs::read_to_string(&path).expect("the file");
        std::fs::write(&path, &text[..text.len() - 4]).expect("the file");
        assert_eq!(read(&path).expect("results"), [measured(1)]);
        std::fs::write(&path, text.replace("load\t2", "nowhere\t2")).expect("the file");
        assert!(read(&path).expect_err("rubbish").to_string().contains("line 3"));
    }
}
