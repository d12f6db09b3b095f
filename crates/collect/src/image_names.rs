//! Names for what the kernel collector saw of code, and which of it are loops that wait.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holdup_code::{Code, Helper, Loop, WINDOW_BYTES, waiting_loop};
use holdup_recording::RawImage;
use holdup_recording::facts::{ImageNames, NamedFrame};
use holdup_recording::is_own_frame;
use holdup_symbols::{Files, JitCode, Mapping, Options, Symbolizer};

use crate::polling::{Polling, named_helper};
use crate::process_names::{named, unnamed, unnamed_made_code};

/// The names of what was executed and called in an image.
pub(crate) fn names(image: &RawImage, files: Files) -> ImageNames {
    let process = PathBuf::from(format!("/proc/{}", image.pid));
    let process = Some(process).filter(|process| process.exists());
    let mut symbolizer = Symbolizer::live(process, Options::default(), files);
    let mut jit = JitCode::default();
    let mut warnings = Vec::new();
    let map = PathBuf::from(format!("/tmp/perf-{}.map", image.pid));
    warnings.extend(jit.read_perf_map(&map).err().map(|warning| warning.to_string()));
    for mapping in &image.mappings {
        let path = PathBuf::from(OsStr::from_bytes(&mapping.path));
        if is_jitdump(&path) {
            warnings.extend(jit.read_jitdump(&path).err().map(|warning| warning.to_string()));
        }
        let (start, end, offset) = (mapping.start, mapping.end, mapping.offset);
        symbolizer.add(&Mapping { path, start, end, offset, build_id: None });
    }
    symbolizer.name_jit(jit);
    let mut named_at = |address: u64, is_return_address: bool| {
        symbolizer.frames(address, is_return_address).into_iter().map(named).collect::<Vec<_>>()
    };
    let executed: BTreeMap<u64, Vec<NamedFrame>> =
        image.executed.keys().map(|&address| (address, named_at(address, false))).collect();
    let callers: BTreeMap<u64, Vec<NamedFrame>> =
        image.callers.iter().map(|&address| (address, named_at(address, true))).collect();
    let helpers = |frames: &BTreeMap<u64, Vec<NamedFrame>>| -> BTreeSet<u64> {
        frames.iter().filter(|(_, frames)| is_helper(frames)).map(|(address, _)| *address).collect()
    };
    let asked = helpers(&executed);
    let seen = |address: u64| image.executed.get(&address).copied().unwrap_or(0);
    let mut waiting_loops: BTreeSet<u64> = executed.keys().copied().collect();
    let mut is_wait = |address: u64| waits(&mut symbolizer, address, &seen).is_some();
    waiting_loops.retain(|address| !asked.contains(address) && is_wait(*address));
    let mut all_helpers = asked;
    if !all_helpers.is_empty() {
        all_helpers.extend(helpers(&callers));
        let asking = callers.keys().copied().filter(|address| !all_helpers.contains(address));
        waiting_loops.extend(asking.filter(|&address| is_wait(address)));
    }
    // Who is alone waits for nobody.
    let polling = if image.has_threads {
        polling(&executed, &callers, &waiting_loops, &all_helpers, &mut symbolizer)
    } else {
        Polling::default()
    };
    let all = || executed.keys().chain(callers.keys()).copied();
    let called = |address: &u64| polling.called.contains(address) && !waiting_loops.contains(address);
    all_helpers.extend(all().filter(called));
    waiting_loops.extend(all().filter(|address| polling.turns.contains(address)));
    let named = |&address: &u64| Some((address, symbolizer.data_symbol(address)?.name));
    let variables = image.shared.iter().filter_map(named).collect();
    let mut unnamed = unnamed(&symbolizer);
    let frames = executed.values().chain(callers.values()).flatten();
    let modules = image.mappings.iter().map(|mapping| Path::new(OsStr::from_bytes(&mapping.path)));
    unnamed.extend(unnamed_made_code(frames, modules));
    let [waiting_loops, helpers] =
        [waiting_loops, all_helpers].map(|addresses| addresses.into_iter().collect());
    ImageNames {
        image: image.number,
        executed,
        callers,
        waiting_loops,
        helpers,
        warnings,
        unnamed,
        variables,
    }
}

/// The loops in which threads look for work, where they were found at work so far.
fn polling(
    executed: &BTreeMap<u64, Vec<NamedFrame>>,
    callers: &BTreeMap<u64, Vec<NamedFrame>>,
    waiting_loops: &BTreeSet<u64>,
    helpers: &BTreeSet<u64>,
    symbolizer: &mut Symbolizer,
) -> Polling {
    let mut found = Polling::default();
    for &address in executed.keys().chain(callers.keys()) {
        if !waiting_loops.contains(&address) && !helpers.contains(&address) {
            found.look_at(address, symbolizer);
        }
    }
    found
}

/// True for code of a function that a waiting loop may call: what it waits for, the loop knows. The kernel's own functions in a
/// process tell the time, in a loop of theirs; the injected library's stand before those that it calls.
fn is_helper(frames: &[NamedFrame]) -> bool {
    frames.last().is_some_and(|frame| {
        let is_in = |part: &str| frame.module.as_deref().is_some_and(|module| module.contains(part));
        frame.function.as_deref().and_then(Helper::of).is_some() || is_in("vdso") || is_own_frame(frame)
    })
}

/// A file that a runtime maps to tell profilers where it writes down the code that it makes: `jit-PID.dump`.
fn is_jitdump(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.starts_with("jit-") && name.ends_with(".dump")
}

/// The loop around the address that only another thread, or time, can end; `None` if there is none. `seen` is how often threads were
/// found at an address.
pub(crate) fn waits(symbolizer: &mut Symbolizer, address: u64, seen: &dyn Fn(u64) -> u64) -> Option<Loop> {
    let code = symbolizer.code_bytes(address, 2 * WINDOW_BYTES, 2 * WINDOW_BYTES)?;
    let (start, bytes) = (code.start, code.bytes.to_vec());
    let names = RefCell::new(symbolizer);
    let helper = |target: u64| named_helper(target, &names);
    waiting_loop(&Code { start, bytes: &bytes }, address, &helper, seen)
}
