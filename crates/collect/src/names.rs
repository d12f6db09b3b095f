//! Names for what a recording holds as addresses, taken from the files of the programs that ran.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holdup_recording::facts::{NamedFrame, NamedStack, Names};
use holdup_recording::format::FrameKind;
use holdup_recording::{
    Addresses, Instructions, Outline, RawImage, RawModule, RawStack, ReadError, Recording, Writer,
};
use holdup_symbols::{Files, Frame, Module, Options, StackCopy, Symbolizer, UnwindEnd};

use crate::{block_names, image_names, source_text};

/// What the file name of the injected library starts with: its own frames are nobody's business.
const OWN_LIBRARY: &str = "libholdup";

/// Finds the names that a recording has not yet, while the files that hold them are at hand.
pub fn name_all(recording: &mut Recording) {
    let files = Files::default();
    for process in &mut recording.processes {
        if process.names.is_none() && !process.is_empty() {
            let addresses = process.addresses();
            process.names =
                Some(names(&addresses, &mut |with| process.stacks().for_each(with), files.clone()));
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
            let found = names(addresses, stacks, files.clone());
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

/// Gives all stacks of a process to whom it is given.
type EachStack<'a> = dyn FnMut(&mut dyn FnMut(RawStack)) + 'a;

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

/// The names of a process. `each_stack` gives its stacks, one after the other.
fn names(addresses: &Addresses, each_stack: &mut EachStack<'_>, files: Files) -> Names {
    let (mut symbolizer, warnings) =
        Symbolizer::sharing(modules(&addresses.modules), Options::default(), files);
    let mut names = Names {
        warnings: warnings
            .iter()
            .map(ToString::to_string)
            .filter(|text| !text.contains("linux-vdso"))
            .collect(),
        ..Names::default()
    };
    each_stack(&mut |stack| {
        let copy = StackCopy { ip: stack.ip, sp: stack.sp, bp: Some(stack.bp), bytes: &stack.bytes };
        let unwound = symbolizer.unwind(&copy);
        let mut frames = Vec::new();
        for (depth, address) in unwound.addresses.iter().enumerate() {
            frames.extend(symbolizer.frames(*address, depth > 0).into_iter().map(named));
        }
        frames.retain(|frame| !frame.module.as_deref().is_some_and(|module| module.starts_with(OWN_LIBRARY)));
        names.stacks.insert(stack.id, NamedStack { frames, broken: unwound.end != UnwindEnd::Root });
    });
    for &(address, is_return_address) in &addresses.code {
        let frames = symbolizer.frames(address, is_return_address).into_iter().map(named).collect();
        names.code.insert(address, NamedStack { frames, broken: false });
    }
    for &address in &addresses.objects {
        if let Some(symbol) = symbolizer.data_symbol(address) {
            names.data.insert(address, symbol.expression());
        }
    }
    names.warnings.extend(missing_names(&symbolizer));
    names
}

/// The files that the process had in memory.
pub(crate) fn modules(modules: &[RawModule]) -> Vec<Module> {
    let modules = modules.iter().map(|module| Module {
        path: PathBuf::from(OsStr::from_bytes(&module.path)),
        bias: module.bias,
        start: module.start,
        end: module.end,
        build_id: (!module.build_id.is_empty()).then(|| module.build_id.clone()),
    });
    modules.collect()
}

/// Which modules' names are missed: the program's, not those of the C library.
pub(crate) fn missing_names(symbolizer: &Symbolizer) -> Vec<String> {
    let of_program = |path: &Path| {
        let module = path.file_name().map(|name| name.to_string_lossy().into_owned());
        holdup_model::Frame { module, ..Default::default() }.is_program()
    };
    let missing = symbolizer.missing_names().into_iter().filter(|missing| of_program(&missing.module));
    missing.map(|missing| missing.hint).collect()
}

pub(crate) fn named(frame: Frame) -> NamedFrame {
    NamedFrame {
        function: frame.function,
        file: frame.file,
        line: frame.line,
        module: frame.module,
        address: frame.address,
        inlined: frame.inlined,
    }
}
