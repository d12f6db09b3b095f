//! The two names that QEMU looks for.

use std::ffi::{CStr, c_char, c_int};

use crate::api::{Api, QemuInfo};
use crate::callbacks;
use crate::options::Options;
use crate::threads;
use crate::watch::Watch;

/// The version of the interface that we speak.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU's name")]
pub static qemu_plugin_version: c_int = 1;

/// QEMU has loaded the plugin. Anything but 0 ends QEMU, after one line that says why.
///
/// # Safety
/// To be called by QEMU, as its plugin interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const QemuInfo,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU's promise: `info` is good while this function runs, and there are `count` arguments.
    let (info, arguments) = unsafe {
        let count = usize::try_from(count).unwrap_or(0);
        let arguments = if arguments.is_null() { &[] } else { std::slice::from_raw_parts(arguments, count) };
        (&*info, arguments.iter().map(|argument| CStr::from_ptr(*argument).to_string_lossy()))
    };
    let arguments: Vec<_> = arguments.collect();
    match install(id, info, arguments.iter().map(|argument| &**argument)) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("holdup: the program's instructions cannot be recorded: {why}");
            1
        }
    }
}

fn install<'a>(id: u64, info: &QemuInfo, arguments: impl Iterator<Item = &'a str>) -> Result<(), String> {
    // SAFETY: QEMU's promise, as above.
    let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    if info.system_emulation || target != "x86_64" {
        let mode = if info.system_emulation { "whole machine" } else { "program" };
        return Err(format!(
            "QEMU emulates a {mode} of {target} here, only programs of x86_64 can be watched"
        ));
    }
    let api = Api::find().map_err(|name| {
        format!(
            "QEMU has no function {name}: it is of another version than the plugin, which is made for 7.2"
        )
    })?;
    let options = Options::parse(arguments)?;
    threads::prepare()?;
    Watch::begin(api, options)?;
    callbacks::register(&api, id);
    Ok(())
}
