//! `holdup doctor`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use holdup_collect::doctor::{Event, Machine, Room, examine};
use holdup_collect::{Emulation, Trial, opens, room};
use holdup_pirate::allowed_cpus;
use holdup_steer::{Found, Rights};

use crate::answer;
use crate::collectors::PLUGIN;
use crate::failure::Failure;

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
    text.push_str(&steer_lines());
    answer::write(&text, None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// By which means `holdup steer` can help here.
fn steer_lines() -> String {
    let (_, found) = holdup_steer::examine(Path::new("/"), &allowed_cpus(), Rights::of_this_process());
    let line = |found: &Found| {
        let state = if found.usable { "available" } else { "missing" };
        let name = format!("steer: {}", found.tool.word());
        format!("{name:<20} {state:<10} {}\n", found.what)
    };
    found.iter().map(line).collect()
}

fn try_event(event: Event) -> io::Result<()> {
    opens(match event {
        Event::TaskClock => Trial::CpuTime,
        Event::ContextSwitches => Trial::Switches,
        Event::Cycles => Trial::Cycles,
    })
}
