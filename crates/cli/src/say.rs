//! Lines on standard error, and what is said and given where holdup itself fails.
//!
//! The measured program's status must come through whatever becomes of holdup's own words: a terminal that is closed, a
//! full disk, a pipe that nobody reads. The standard library's macros end the program there, so these take their place
//! in the whole command.

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;

use crate::status::status_of;

/// As the standard library's, and goes on where nobody can be told.
macro_rules! eprint {
    ($($words:tt)*) => { $crate::say::on_stderr(format_args!($($words)*)) };
}

/// As the standard library's, and goes on where nobody can be told.
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::say::on_stderr(format_args!("{}\n", format_args!($($words)*))) };
}

pub(crate) fn on_stderr(words: fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(words);
}

/// The status of a command that ended by a defect of its own, where no program was started.
const DEFECT: u8 = 101;

/// Does a command. Where that meets a defect of holdup, one line says so, and the status is that of the program which was
/// started, once it has ended.
pub(crate) fn outlive_defects(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(tell));
    // Nothing of what the command had is used any more.
    catch_unwind(AssertUnwindSafe(command))
        .unwrap_or_else(|_| ExitCode::from(holdup_collect::status_of_started().map_or(DEFECT, status_of)))
}

fn tell(defect: &PanicHookInfo<'_>) {
    let place = defect.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
    let words = defect.payload_as_str().unwrap_or("no words");
    let words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!(
        "holdup: a defect of holdup{}: {}; the program is not touched by it, and its status is kept; please report this line",
        place.unwrap_or_default(),
        holdup_report::escaped(&words)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_a_line_and_a_status() {
        let before = std::panic::take_hook();
        let status = outlive_defects(|| panic!("a defect of\n a test"));
        std::panic::set_hook(before);
        assert_eq!(format!("{status:?}"), format!("{:?}", ExitCode::from(DEFECT)));
    }
}
