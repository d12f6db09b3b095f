//! Terminals that have been made raw and show their other screen: how they were, and giving that back.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr,
};

/// Modes of input, output, control and of the line, as `termios(3)` has them. The characters of a raw terminal (VMIN, VTIME)
/// stay: they are those that every terminal has at first.
pub(crate) type Modes = [u32; 4];

/// Leaves the other screen (xterm's private mode 1049), and shows the cursor.
const GIVES_BACK: &[u8] = b"\x1b[?1049l\x1b[?25h";

fn modes(attributes: &Termios) -> Modes {
    [
        attributes.input_modes.bits(),
        attributes.output_modes.bits(),
        attributes.control_modes.bits(),
        attributes.local_modes.bits(),
    ]
}

fn open(path: &Path) -> io::Result<File> {
    const NO_CONTROLLING_TERMINAL: i32 = libc::O_NOCTTY;
    OpenOptions::new().read(true).write(true).custom_flags(NO_CONTROLLING_TERMINAL).open(path)
}

/// The modes of a terminal, and those that it has when it is made raw.
pub(crate) fn modes_and_raw(path: &Path) -> io::Result<(Modes, Modes)> {
    let attributes = tcgetattr(open(path)?)?;
    let mut raw = attributes.clone();
    raw.make_raw();
    Ok((modes(&attributes), modes(&raw)))
}

/// Leaves the other screen; sets these modes, if it still has those that it was given: a shell may be quicker.
pub(crate) fn give_back(path: &Path, from: Modes, to: Modes) -> io::Result<()> {
    // Who is not in the foreground is stopped by the signal when it changes a terminal.
    let _ignored = Ignored::new();
    let mut terminal = open(path)?;
    terminal.write_all(GIVES_BACK)?;
    let mut attributes = tcgetattr(&terminal)?;
    if modes(&attributes) == from {
        attributes.input_modes = InputModes::from_bits_retain(to[0]);
        attributes.output_modes = OutputModes::from_bits_retain(to[1]);
        attributes.control_modes = ControlModes::from_bits_retain(to[2]);
        attributes.local_modes = LocalModes::from_bits_retain(to[3]);
        tcsetattr(&terminal, OptionalActions::Now, &attributes)?;
    }
    Ok(())
}

/// SIGTTOU is ignored as long as this is there.
struct Ignored {
    before: libc::sighandler_t,
}

impl Ignored {
    fn new() -> Ignored {
        // SAFETY: no handler of ours is set.
        Ignored { before: unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) } }
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        // SAFETY: what was there before.
        unsafe { libc::signal(libc::SIGTTOU, self.before) };
    }
}
