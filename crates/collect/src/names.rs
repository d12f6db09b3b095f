//! Names for what a recording holds as addresses, taken from the files of the programs that ran.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use holdup_recording::facts::{ImageNames, NamedFrame, Names, UnnamedCode};
use holdup_recording::format::FrameKind;
use holdup_recording::{Instructions, Outline, RawImage, RawStack, ReadError, Recording, Writer};
use holdup_symbols::{DEBUGINFOD_CLIENT, DEBUGINFOD_SERVERS, FileCounts, Files, asks_debuginfod};

use crate::{block_names, image_names, process_names, source_text};

/// Lets names come from servers too, if there is what that takes.
///
/// # Errors
/// A sentence that says what is missing.
pub fn may_ask_debuginfod() -> Result<(), String> {
    if std::env::var_os(DEBUGINFOD_SERVERS).is_none_or(|servers| servers.is_empty()) {
        return Err(format!(
            "{DEBUGINFOD_SERVERS} does not say which servers to ask; set it, such as \
             {DEBUGINFOD_SERVERS}=https://debuginfod.debian.net"
        ));
    }
    let mut client = Command::new(DEBUGINFOD_CLIENT);
    let tried =
        client.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match tried {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "{DEBUGINFOD_CLIENT} cannot be run ({error}); install it (Debian: apt-get install debuginfod)"
        )),
    }
}

/// Finds the names that a recording has not yet, while the files that hold them are at hand; where servers are asked, those that
/// nobody had when it was made too. How far that is, `counts` says meanwhile.
pub fn name_all(recording: &mut Recording, counts: &Arc<FileCounts>) {
    let files = Files::counted(counts);
    let is_improvable = |unnamed: &[UnnamedCode]| asks_debuginfod() && !unnamed.is_empty();
    for process in &mut recording.processes {
        if process.is_empty() || process.names.as_ref().is_some_and(|names| !is_improvable(&names.unnamed)) {
            continue;
        }
        let addresses = process.addresses();
        let stacks = &mut |with: &mut dyn FnMut(RawStack)| process.stacks().for_each(with);
        let found = process_names::names(&addresses, stacks, files.clone());
        match &mut process.names {
            Some(known) => improve(known, found),
            none => *none = Some(found),
        }
    }
    let images = recording.images();
    for image in &images {
        let known = recording.image_names.get_mut(&image.number);
        if let Some(known) = known.filter(|names| is_improvable(&names.unnamed)) {
            improve_image(known, image_names::names(image, files.clone()));
        }
    }
    name_rest(recording, images, files, &mut |_| ());
}

/// Adds what is named now and was not before. What was found when the files were at hand stays: they may be gone since.
fn improve(known: &mut Names, found: Names) {
    let mut gained = BTreeSet::new();
    let stacks = known.stacks.iter_mut().map(|(id, stack)| (stack, found.stacks.get(id)));
    let code = known.code.iter_mut().map(|(address, stack)| (stack, found.code.get(address)));
    for (stack, better) in stacks.chain(code) {
        if let Some(better) = better
            && take_better(&mut stack.frames, &better.frames, &mut gained)
        {
            stack.broken = better.broken;
        }
    }
    for (address, name) in found.data {
        known.data.entry(address).or_insert(name);
    }
    forget_named(&mut known.unnamed, &found.unnamed, &gained);
}

fn improve_image(known: &mut ImageNames, found: ImageNames) {
    let mut gained = BTreeSet::new();
    let executed = known.executed.iter_mut().map(|(address, frames)| (frames, found.executed.get(address)));
    let callers = known.callers.iter_mut().map(|(address, frames)| (frames, found.callers.get(address)));
    for (frames, better) in executed.chain(callers) {
        if let Some(better) = better {
            take_better(frames, better, &mut gained);
        }
    }
    for (known, found) in
        [(&mut known.waiting_loops, found.waiting_loops), (&mut known.helpers, found.helpers)]
    {
        known.extend(found);
        known.sort_unstable();
        known.dedup();
    }
    forget_named(&mut known.unnamed, &found.unnamed, &gained);
}

/// Takes frames in the place of others if more of them have a function, and notes the modules of those.
fn take_better(known: &mut Vec<NamedFrame>, found: &[NamedFrame], gained: &mut BTreeSet<String>) -> bool {
    let named = |frames: &[NamedFrame]| frames.iter().filter(|frame| frame.function.is_some()).count();
    let is_better = named(found) > named(known);
    if is_better {
        let with_names = found.iter().filter(|frame| frame.function.is_some());
        gained.extend(with_names.filter_map(|frame| frame.module.clone()));
        *known = found.to_vec();
    }
    is_better
}

/// Takes away what has its names now.
fn forget_named(known: &mut Vec<UnnamedCode>, found: &[UnnamedCode], gained: &BTreeSet<String>) {
    let lacks = |module: &str| found.iter().any(|unnamed| unnamed.module == module);
    known.retain(|unnamed| lacks(&unnamed.module) || !gained.contains(&unnamed.module));
}

/// Finds the names that the recording in an open file has not yet, and adds them to it for all later readers, with the lines
/// of source that they lead to. That takes memory for the program's code, however long it ran. `path` is only named in errors.
/// How far it is, `counts` says meanwhile.
///
/// # Errors
/// Those of reading a recording. A file that cannot be written to stays as it is.
pub fn name_file(file: &File, path: &Path, counts: &Arc<FileCounts>) -> Result<(), ReadError> {
    let mut outline = Outline::read(file, path)?;
    let files = Files::counted(counts);
    let mut writer = file.try_clone().and_then(Writer::adding_to).ok();
    let mut add = |write: &mut dyn FnMut(&mut Writer) -> io::Result<()>| {
        let _ = writer.as_mut().map(write);
    };
    for index in 0..outline.recording.processes.len() {
        if let (None, Some(addresses)) =
            (&outline.recording.processes[index].names, &outline.addresses[index])
        {
            let stacks = &mut |with: &mut dyn FnMut(RawStack)| outline.each_stack(index, with);
            let found = process_names::names(addresses, stacks, files.clone());
            add(&mut |writer| writer.facts(FrameKind::Names, index as u32, &found));
            outline.recording.processes[index].names = Some(found);
        }
    }
    let images = std::mem::take(&mut outline.images);
    let recording = &mut outline.recording;
    name_rest(recording, images, files, &mut add);
    if recording.source_text.is_none() && !recording.session.no_source {
        let found = source_text::of_names(recording);
        add(&mut |writer| writer.facts(FrameKind::SourceText, 0, &found));
    }
    Ok(())
}

/// Takes what writes facts to a recording.
type Add<'a> = dyn FnMut(&mut dyn FnMut(&mut Writer) -> io::Result<()>) + 'a;

/// Names what is not of one process: executed blocks, and what the kernel collector saw. What is found is given to `add`.
fn name_rest(recording: &mut Recording, images: Vec<RawImage>, files: Files, add: &mut Add<'_>) {
    if recording.block_names.is_none()
        && let Some(read) = Instructions::of(recording)
    {
        let found = block_names::names(&read, files.clone());
        add(&mut |writer| writer.facts(FrameKind::BlockNames, 0, &found));
        recording.block_names = Some(found);
    }
    for image in images {
        if image.executed.is_empty() || recording.image_names.contains_key(&image.number) {
            continue;
        }
        let found = image_names::names(&image, files.clone());
        add(&mut |writer| writer.facts(FrameKind::ImageNames, 0, &found));
        recording.image_names.insert(image.number, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_recording::facts::NamedStack;

    fn frame(module: &str, function: Option<&str>) -> NamedFrame {
        let function = function.map(str::to_owned);
        NamedFrame { module: Some(module.to_owned()), function, ..NamedFrame::default() }
    }

    fn names(frames: [NamedFrame; 2], unnamed: &[&str]) -> Names {
        let stack = NamedStack { frames: frames.to_vec(), broken: false };
        let unnamed =
            unnamed.iter().map(|&module| UnnamedCode { module: module.to_owned(), ..Default::default() });
        Names { stacks: [(1, stack)].into(), unnamed: unnamed.collect(), ..Names::default() }
    }

    #[test]
    fn names_are_added_and_none_is_lost() {
        let before = || names([frame("libz", None), frame("app", Some("pack"))], &["libz"]);
        let mut known = before();
        improve(&mut known, names([frame("libz", Some("deflate")), frame("app", Some("pack"))], &[]));
        assert_eq!(known.stacks[&1].frames[0].function.as_deref(), Some("deflate"));
        assert_eq!(known.unnamed, []);
        // On another machine neither file is there.
        let mut known = before();
        improve(&mut known, names([frame("libz", None), frame("app", None)], &[]));
        assert_eq!(known.stacks[&1].frames, before().stacks[&1].frames);
        assert_eq!(known.unnamed, before().unnamed, "it has no names still");
    }
}
