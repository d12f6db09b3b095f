//! Room for the buffers between the program and holdup.

use holdup_model::figures::bytes;

use super::{Check, Setting};
use crate::cgroups::MemoryLimit;
use crate::files::shell_word;

/// Two pools of 32 MiB: one program that execs another has both for a while.
const WANTED: u64 = 64 << 20;

pub(super) fn buffers(setting: &Setting<'_>) -> Check {
    const NAME: &str = "shared memory";
    let Some(room) = (setting.machine.room)(&setting.machine.root.join("dev/shm")) else {
        return Check::missing(NAME, "there is no /dev/shm", "everything: events travel through it").remedy(
            "sudo mkdir -p /dev/shm && sudo mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm",
            "up to half of the memory can then be used through it",
        );
    };
    let found = format!("/dev/shm has {} free of {}", bytes(room.free), bytes(room.size));
    if room.free >= WANTED {
        return Check::available(NAME, found);
    }
    let lost = format!("events, where more come than the buffers hold: they want {}", bytes(WANTED));
    let check = Check::limited(NAME, found, lost);
    if room.size >= 2 * WANTED {
        return check
            .remedy("ls -lS /dev/shm", "shows what fills it; what no process uses any more can be removed");
    }
    if setting.in_container {
        return check.remedy(
            "docker run --shm-size=256m …",
            "counts against the container's memory only as far as used",
        );
    }
    check.remedy(
        "sudo mount -o remount,size=256m /dev/shm",
        "until the next boot; memory is taken only as far as used",
    )
}

/// The tightest memory limit; `None` where no group has one.
pub(super) fn limit(setting: &Setting<'_>) -> Option<Check> {
    const NAME: &str = "memory limit";
    let MemoryLimit { left, limit, file } = setting.cgroups.memory.as_ref()?.memory_limit(setting.files)?;
    let found = format!("{} by control group, {} left", bytes(limit), bytes(left));
    if left >= WANTED {
        return Some(Check::available(NAME, found));
    }
    let lost = format!("events, where the buffers ({}) find no memory", bytes(WANTED));
    let check = Check::limited(NAME, found, lost);
    Some(if setting.in_container {
        check.remedy("docker run --memory=…", "the container may take that much from the host")
    } else {
        let file = shell_word(&file);
        check.remedy(
            format!("echo {} | sudo tee {file}", limit + 4 * WANTED),
            "the group may then take that much more of the machine's memory",
        )
    })
}
