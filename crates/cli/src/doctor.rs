//! `holdup doctor`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use holdup_collect::doctor::{Event, Machine, Room, examine};
use holdup_collect::{event_opens, room};

use crate::answer;
use crate::failure::Failure;

/// Says what this machine allows.
pub(crate) fn doctor() -> Result<ExitCode, Failure> {
    let holdup = std::env::current_exe().unwrap_or_else(|_| "holdup".into());
    let machine = Machine {
        root: Path::new("/"),
        holdup: &holdup,
        try_event: &try_event,
        room: &|path| room(path).ok().map(|(free, size)| Room { size, free }),
    };
    let text: String = examine(&machine).iter().map(|check| format!("{check}\n")).collect();
    answer::write(&text, None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// `PERF_TYPE_…` and `PERF_COUNT_…` of the kernel's interface.
fn try_event(event: Event) -> io::Result<()> {
    const HARDWARE: u32 = 0;
    const SOFTWARE: u32 = 1;
    match event {
        Event::TaskClock => event_opens(SOFTWARE, 1, false),
        Event::ContextSwitches => event_opens(SOFTWARE, 9, true),
        Event::Cycles => event_opens(HARDWARE, 0, false),
    }
}
