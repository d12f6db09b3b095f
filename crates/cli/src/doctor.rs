//! `holdup doctor`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use holdup_collect::doctor::{Event, Machine, Room, examine};
use holdup_collect::{Emulation, Trial, opens, room};

use crate::answer;
use crate::failure::Failure;
use crate::run::PLUGIN;

/// How long each of two cores is tried.
const MOMENT_NS: u64 = 100_000_000;

/// Says what this machine allows.
pub(crate) fn doctor() -> Result<ExitCode, Failure> {
    let holdup = std::env::current_exe().unwrap_or_else(|_| "holdup".into());
    let machine = Machine {
        root: Path::new("/"),
        holdup: &holdup,
        try_event: &try_event,
        try_emulator: &|| {
            let found = Emulation::find(PLUGIN)?;
            Ok((found.version().to_owned(), found.path().to_owned()))
        },
        try_core: &|cpu| holdup_pirate::core_share(cpu, MOMENT_NS).ok(),
        room: &|path| room(path).ok().map(|(free, size)| Room { size, free }),
    };
    let mut text: String = examine(&machine).iter().map(|check| format!("{check}\n")).collect();
    text.push_str(&crate::steer::doctor_lines());
    answer::write(&text, None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn try_event(event: Event) -> io::Result<()> {
    opens(match event {
        Event::TaskClock => Trial::CpuTime,
        Event::ContextSwitches => Trial::Switches,
        Event::Cycles => Trial::Cycles,
    })
}
