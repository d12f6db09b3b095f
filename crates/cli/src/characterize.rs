//! `holdup characterize`: which programs behave alike, and how each moves with cores and input (paper 3, sections 2.4, 2.5 and
//! 4.2 to 4.4).
//!
//! Whatever the files are, each becomes [`rows`] of [`labels`] and numbers ([`gather`]): answers in JSON ([`answers`]), recordings
//! ([`recordings`]), and tables ([`tables`]).

mod answers;
mod components;
mod gather;
mod labels;
mod parquet;
mod recordings;
mod rows;
mod stacks;
mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use holdup_characterize::{Choice, Keep, Labels, Options, PcaOptions, characterize as characterized};
use holdup_report::{
    CharacterizeTold, characterize_json_text, characterize_page, characterize_pictures, render_characterize,
};

use crate::failure::Failure;
use crate::options::Faces;
use crate::progress::Progress;
use gather::gather;
use labels::LABELS;
use rows::Gathered;
use stacks::StackKind;

const AFTER: &str = "\
holdup characterize sims/*.json                      what holdup sim --json wrote, a file for each program
holdup characterize DIR                              what a sweep wrote, or all files in a directory
holdup characterize --html space.html results.csv    any table: the first column names rows, the others are numbers
holdup characterize --only threads=16 --uncentred sims/*.json    as in paper 3

A row of a table may have columns suite, program, input, threads, machine and what_if that say what it is of. Of other
files the program and input are those of the command, and the suite is the name of the folder, where there are several.
docs/sweep.md says what the parts of the answer mean.
Statuses: 0 done, 2 wrong usage or input.";

/// Options of `holdup characterize`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct CharacterizeOptions {
    /// Answers of sim, stack and report in JSON, recordings, tables as CSV or Parquet, or directories of such files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Which stacks of the files are compared [default: the only ones that are there; of recordings losses]
    #[arg(long, value_enum)]
    pub of: Option<StackKind>,
    /// Compare only these columns
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Leave these columns out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "columns")]
    pub without: Vec<String>,
    /// Compare only rows with such a label: threads=16, suite=parsec; several times for several
    #[arg(long, value_name = "LABEL=VALUE")]
    pub only: Vec<Only>,
    /// Take components of the distance from zero, not from the mean
    #[arg(long)]
    pub uncentred: bool,
    /// Divide each column by its deviation, for columns of different units
    #[arg(long)]
    pub scaled: bool,
    /// How many components are used: a number, or the fewest with such a share of the variance
    #[arg(long, value_name = "N|SHARE%", default_value = "90%")]
    pub keep: Amount,
    /// How many clusters there are: a number, or the fewest whose representatives stand for such a share of the spread
    #[arg(long, value_name = "N|SHARE%", default_value = "90%")]
    pub clusters: Amount,
    /// The names of inputs from the smallest to the largest [default: by what names such as small and large, or numbers, mean]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub inputs: Vec<String>,
    /// Tell all components, clusters, moves and notes
    #[arg(long)]
    pub all: bool,
    /// Write the pictures of the page as SVG and PNG files into this directory, which is made if it is not there (SVG alone in a
    /// build without the feature png)
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    #[command(flatten)]
    pub faces: Faces,
}

/// A number of things, or the share of something that they are to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Count(usize),
    Share(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Amount, String> {
        let wrong = || format!("{text} is neither a number from 1 on nor a share such as 90%");
        match text.strip_suffix('%') {
            Some(share) => {
                let share: f64 = share.trim().parse().map_err(|_| wrong())?;
                if share > 0.0 && share <= 100.0 { Ok(Amount::Share(share / 100.0)) } else { Err(wrong()) }
            }
            None => match text.parse() {
                Ok(count) if count > 0 => Ok(Amount::Count(count)),
                _ => Err(wrong()),
            },
        }
    }
}

/// A label that rows must have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Only {
    label: String,
    value: String,
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Only, String> {
        let known = LABELS;
        let (label, value) =
            text.split_once('=').ok_or_else(|| format!("{text} has no =: give it as threads=16"))?;
        if !known.contains(&label) {
            return Err(format!("{label} is no label; there are {}", known.join(", ")));
        }
        Ok(Only { label: label.to_owned(), value: value.to_owned() })
    }
}

impl Only {
    fn holds(&self, labels: &Labels) -> bool {
        let threads = labels.threads.map(|threads| threads.to_string());
        let value = match self.label.as_str() {
            "suite" => labels.suite.as_deref(),
            "program" => Some(labels.program.as_str()),
            "input" => labels.input.as_deref(),
            "threads" => threads.as_deref(),
            "machine" => labels.machine.as_deref(),
            _ => labels.what_if.as_deref(),
        };
        value.unwrap_or_default() == self.value
    }
}

/// Reads, compares, tells.
pub(crate) fn characterize(options: &CharacterizeOptions) -> Result<ExitCode, Failure> {
    options.faces.check_writable()?;
    options.faces.check_apart(options.files.iter().map(PathBuf::as_path))?;
    let told = {
        let _progress = Progress::start("reading what is compared");
        told(options)?
    };
    if let Some(folder) = &options.pictures {
        draw(&told, folder)?;
    }
    options.faces.show(
        || characterize_page(&told),
        || characterize_json_text(&told),
        |look| render_characterize(&told, look),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Writes each picture as SVG, and as PNG if this build can draw.
fn draw(told: &CharacterizeTold, folder: &Path) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::input(format!("{}: pictures cannot be written here ({error})", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(refused)?;
    for picture in characterize_pictures(told) {
        std::fs::write(folder.join(format!("{}.svg", picture.name)), &picture.svg).map_err(refused)?;
        #[cfg(feature = "png")]
        if let Some(png) = holdup_report::picture_png(&picture) {
            std::fs::write(folder.join(format!("{}.png", picture.name)), png).map_err(refused)?;
        }
    }
    if cfg!(not(feature = "png")) {
        eprintln!(
            "holdup: pictures are written as SVG only: this build has no PNG; build it with --features png"
        );
    }
    Ok(())
}

fn told(options: &CharacterizeOptions) -> Result<CharacterizeTold, Failure> {
    let mut gathered: Gathered = gather(&options.files, options.of)?;
    let before = gathered.rows.len();
    gathered.rows.retain(|(labels, _)| options.only.iter().all(|only| only.holds(labels)));
    if gathered.rows.is_empty() && before > 0 {
        return Err(Failure::input(format!(
            "--only: none of the {before} rows has these labels; holdup characterize --json tells what they have"
        )));
    }
    gathered.choose(&options.columns, &options.without)?;
    let (what, is_share, notes) = (gathered.what(), gathered.is_share(), gathered.notes.clone());
    let how = Options {
        pca: PcaOptions { centred: !options.uncentred, scaled: options.scaled },
        keep: match options.keep {
            Amount::Count(count) => Keep::Count(count),
            Amount::Share(share) => Keep::Share(share),
        },
        clusters: match options.clusters {
            Amount::Count(count) => Choice::Count(count),
            Amount::Share(share) => Choice::Share(share),
        },
        inputs: options.inputs.clone(),
    };
    let found = characterized(gathered.table().map_err(Failure::input)?, &how).map_err(Failure::input)?;
    Ok(CharacterizeTold { found, what, is_share, in_full: options.all, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_numbers_or_shares() {
        assert_eq!("6".parse(), Ok(Amount::Count(6)));
        assert_eq!("90%".parse(), Ok(Amount::Share(0.9)));
        for wrong in ["0", "-1", "101%", "0%", "many", "%", "NaN%"] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_are_chosen_by_labels() {
        let only: Only = "threads=16".parse().unwrap();
        assert!(only.holds(&Labels { threads: Some(16), ..Labels::of("fft") }));
        assert!(!only.holds(&Labels::of("fft")));
        assert!("color=red".parse::<Only>().unwrap_err().contains("there are suite"));
        assert!("threads".parse::<Only>().is_err());
    }
}
