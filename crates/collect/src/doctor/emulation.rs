//! Can instructions be recorded?

use super::{Check, Setting};
use crate::error::CollectError;

const NAME: &str = "instructions";
const LOST: &str = "which branch, loop or call makes threads unequal (holdup why)";

pub(super) fn check(setting: &Setting<'_>) -> Check {
    match (setting.machine.try_emulator)() {
        Ok((version, path)) => {
            Check::available(NAME, format!("QEMU {version} with plugins ({})", path.display()))
        }
        Err(CollectError::NoEmulator { what, advice }) => Check::missing(NAME, what, LOST)
            .remedy(advice, "programs can be run under emulation; nothing else changes"),
        Err(error) => Check::missing(NAME, error.to_string(), LOST),
    }
}
