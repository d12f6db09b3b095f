//! Names for what a recording holds as addresses, taken from the files of the programs that ran.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use holdup_recording::facts::UnnamedCode;
use holdup_recording::format::FrameKind;
use holdup_recording::{Instructions, Outline, RawImage, RawStack, ReadError, Recording, Writer};
use holdup_symbols::{DEBUGINFOD_CLIENT, DEBUGINFOD_SERVERS, Files, asks_debuginfod};

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
/// nobody had when it was made too.
pub fn name_all(recording: &mut Recording) {
    let files = Files::default();
    if asks_debuginfod() {
        let all_named = |unnamed: &Vec<UnnamedCode>| unnamed.is_empty();
        for process in &mut recording.processes {
            process.names.take_if(|names| !all_named(&names.unnamed));
        }
        recording.image_names.retain(|_, names| all_named(&names.unnamed));
    }
    for process in &mut recording.processes {
        if process.names.is_none() && !process.is_empty() {
            let addresses = process.addresses();
            let stacks = &mut |with: &mut dyn FnMut(RawStack)| process.stacks().for_each(with);
            process.names = Some(process_names::names(&addresses, stacks, files.clone()));
        }
    }
    name_rest(recording, recording.images(), files, &mut |_| ());
}

/// Finds the names that the recording in an open file has not yet, and adds them to it for all later readers, with the lines
/// of source that they lead to. That takes memory for the program's code, however long it ran. `path` is only named in errors.
///
/// # Errors
/// Those of reading a recording. A file that cannot be written to stays as it is.
pub fn name_file(file: &File, path: &Path) -> Result<(), ReadError> {
    let mut outline = Outline::read(file, path)?;
    let files = Files::default();
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
