//! Writing to the recording, whatever becomes of it: a full disk must not stop the program.

use std::fs::File;
use std::io;
use std::path::Path;

use holdup_recording::Writer;
use holdup_recording::facts::{ClockSample, SessionEnd};
use holdup_recording::format::FrameKind;

use crate::kernel::Kernel;
use crate::machine::ClockSource;
use crate::output;

/// A recording that is being written.
pub(crate) struct Log {
    pub(crate) clock: ClockSource,
    writer: Writer,
    /// The first error in writing; nothing is written after it.
    failure: Option<io::Error>,
}

impl Log {
    /// Begins a recording in the file at `path` ([`crate::output`]); gives the file too, for what is added later.
    pub(crate) fn create(
        path: &Path,
        size_limit: Option<u64>,
        clock: ClockSource,
    ) -> io::Result<(Log, File)> {
        let file = output::create(path)?;
        let mut writer = Writer::new(file.try_clone()?)?;
        writer.limit(size_limit);
        Ok((Log { clock, writer, failure: None }, file))
    }

    /// Writes, unless that has failed before.
    pub(crate) fn keep<T>(&mut self, write: impl FnOnce(&mut Writer) -> io::Result<T>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match write(&mut self.writer) {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// Compares the clock.
    pub(crate) fn sample(&mut self) {
        let (ticks, monotonic_ns) = self.clock.sample();
        self.keep(|writer| writer.facts(FrameKind::Clock, 0, &ClockSample { ticks, monotonic_ns }));
    }

    /// Takes over what the kernel collector has ready. True if there was something.
    pub(crate) fn take(&mut self, kernel: &Kernel) -> bool {
        let mut busy = false;
        for words in kernel.words() {
            busy = true;
            self.keep(|writer| writer.kernel(&words));
        }
        busy
    }

    /// Stops the kernel collector, and takes over the rest.
    pub(crate) fn take_rest(&mut self, kernel: Kernel) {
        for words in kernel.finish() {
            self.keep(|writer| writer.kernel(&words));
        }
    }

    /// Writes the end, with what kept the recording from being whole among its warnings; gives that too.
    pub(crate) fn end(mut self, mut facts: SessionEnd) -> Option<io::Error> {
        if let Some(error) = &self.failure {
            facts.warnings.push(format!("the recording could not be written to its end ({error})"));
        }
        if self.writer.dropped() > 0 {
            facts.warnings.push(format!(
                "the recording reached its size limit: {} runs of events after that were left out",
                self.writer.dropped()
            ));
        }
        // Short enough to fit where a run of events did not.
        let written = self.writer.facts(FrameKind::SessionEnd, 0, &facts);
        self.failure.or(written.err())
    }
}
