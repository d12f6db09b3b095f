//! From recordings to what the analysis takes.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use holdup_model::{Arrange, Nanos, Run};
use holdup_scaling::{ScalePoint, Scaling, scale};

use super::manifest::Manifest;
use crate::answer;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::thread_count::Control;
use crate::threads_used::{self, Seen};

/// Where a sweep is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// What an earlier call kept with -o.
    Directory(PathBuf),
    /// A recording of a run with so many threads.
    Recording(u32, PathBuf),
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let Some((threads, path)) = text.split_once('=') else {
            return Ok(Origin::Directory(PathBuf::from(text)));
        };
        match threads.parse() {
            Ok(threads @ 1..) => Ok(Origin::Recording(threads, PathBuf::from(path))),
            // A directory may be called so.
            _ => Ok(Origin::Directory(PathBuf::from(text))),
        }
    }
}

/// The runs at one number of threads, read.
struct Point {
    threads: u32,
    runs: Vec<Run>,
    plain: Vec<Nanos>,
}

/// How a program scales, from the recordings that a sweep made at these numbers of threads.
pub(crate) fn of_sweep(manifest: &Manifest, directory: &Path, counts: &[u32]) -> Result<Scaling, Failure> {
    let progress = Progress::start("reading the recordings");
    let all: Vec<_> =
        counts.iter().map(|threads| (*threads, manifest.recordings(directory, *threads))).collect();
    let count = all.iter().map(|(_, paths)| paths.len()).sum();
    let mut indices = 0..;
    let mut points = Vec::new();
    for (threads, paths) in all {
        let read = paths.iter().zip(&mut indices).map(|(path, index)| {
            progress.with_recording(index, count);
            answer::run_of(path, &progress)
        });
        let runs = read.collect::<Result<_, _>>()?;
        points.push(Point { threads, runs, plain: manifest.walls(threads, false) });
    }
    let mut scaling = scaled(&points, Some(&manifest.subject.control()));
    scaling.command.clone_from(&manifest.subject.command);
    Ok(scaling)
}

/// How a program scales, from recordings of which the user says how many threads they are of.
pub(crate) fn of_recordings(recordings: &[(u32, &Path)]) -> Result<Scaling, Failure> {
    let progress = Progress::start("reading the recordings");
    let mut points: Vec<Point> = Vec::new();
    for (index, &(threads, path)) in recordings.iter().enumerate() {
        progress.with_recording(index, recordings.len());
        let run = answer::run_of(path, &progress)?;
        match points.iter_mut().find(|point| point.threads == threads) {
            Some(point) => point.runs.push(run),
            None => points.push(Point { threads, runs: vec![run], plain: Vec::new() }),
        }
    }
    points.arrange_by_key(|point| point.threads);
    Ok(scaled(&points, None))
}

fn scaled(points: &[Point], control: Option<&Control>) -> Scaling {
    let told: Vec<ScalePoint<'_>> = points
        .iter()
        .map(|point| ScalePoint { threads: point.threads, runs: &point.runs, plain: &point.plain })
        .collect();
    let mut scaling = scale(&told);
    let seen: Vec<(u32, Seen)> =
        points.iter().filter_map(|point| Some((point.threads, Seen::of(point.runs.first()?)))).collect();
    match threads_used::ignored(&seen, control) {
        Some(why) => scaling.ignores_threads(why),
        None => scaling.notes.splice(0..0, threads_used::small_teams(&seen)).for_each(drop),
    }
    scaling
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_and_directories_are_told_apart() {
        let parse = |text: &str| text.parse::<Origin>().unwrap();
        assert_eq!(parse("sweep"), Origin::Directory("sweep".into()));
        assert_eq!(parse("4=a=b.holdup"), Origin::Recording(4, "a=b.holdup".into()));
        assert_eq!(parse("x=4"), Origin::Directory("x=4".into()));
        assert_eq!(parse("0=a.holdup"), Origin::Directory("0=a.holdup".into()));
    }
}
