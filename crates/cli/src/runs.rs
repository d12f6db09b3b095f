//! Several runs of a program, one after another: what is the same for each, what they read, and what stops them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use holdup_collect::Output;
use holdup_model::Nanos;
use holdup_recording::{Clock, Outline};
use rustix::fs::{FileType, SeekFrom};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::answer;
use crate::failure::Failure;
use crate::options::RecordingOptions;

/// What becomes of what each of several runs of a program gives.
#[derive(Args, Clone, Debug)]
pub(crate) struct Outputs {
    /// Use runs that end with a status other than 0 too
    #[arg(long)]
    pub ignore_status: bool,
    /// Let what the program prints through, to standard error [default: its standard output is dropped]
    #[arg(long)]
    pub show_output: bool,
}

impl Outputs {
    /// Where a program's standard output goes.
    pub(crate) fn output(&self) -> Output {
        if self.show_output { Output::Diverted } else { Output::Dropped }
    }
}

/// How each of several runs of a program is done.
#[derive(Args, Clone, Debug)]
pub(crate) struct EachRun {
    #[command(flatten)]
    pub outputs: Outputs,
    #[command(flatten)]
    pub recording: RecordingOptions,
}

/// What the program reads from, which several runs share.
pub(crate) enum Input {
    /// A file, and where it was to be read from.
    File(u64),
    /// A terminal or another device, which each run reads on from; or nothing.
    Device,
    /// A pipe or a socket: what one run has read is gone.
    Stream,
}

impl Input {
    pub(crate) fn now() -> Input {
        let stdin = std::io::stdin();
        match rustix::fs::fstat(&stdin).map(|facts| FileType::from_raw_mode(facts.st_mode)) {
            Ok(FileType::RegularFile) => rustix::fs::tell(&stdin).map_or(Input::Device, Input::File),
            Ok(FileType::Fifo | FileType::Socket) => Input::Stream,
            _ => Input::Device,
        }
    }

    /// Lets the next run read what the first one did, or says at the second that it cannot.
    pub(crate) fn back(&self, is_second: bool) {
        match self {
            Input::File(start) => _ = rustix::fs::seek(std::io::stdin(), SeekFrom::Start(*start)),
            Input::Stream if is_second => eprintln!(
                "holdup: standard input is a pipe, which only the first run can read; give a file (< FILE) if the program \
                 reads it"
            ),
            Input::Stream | Input::Device => {}
        }
    }
}

/// A signal that asks holdup to stop: the program that runs gets it too, and no other is started.
pub(crate) struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    pub(crate) fn listen() -> Interrupt {
        let flag = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&flag), signal as usize);
        }
        Interrupt(flag)
    }

    /// The signal, if one came.
    pub(crate) fn came(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed) as u8).filter(|signal| *signal != 0)
    }
}

/// Finds the names in a recording that was just made, in this file, puts them into it, and gives the wall time.
pub(crate) fn finish(path: &Path, made: &File) -> Result<Nanos, Failure> {
    answer::name(path, made)?;
    let recording = Outline::read(made, path)?.recording;
    let clock = Clock::new(&recording.session, &recording.samples);
    let end = recording.end.as_ref().map_or(recording.session.start, |end| end.end);
    Ok(clock.time(end).since(clock.time(recording.session.start)))
}
