//! Names for what a recording holds as addresses, taken from the files of the programs that ran.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holdup_recording::facts::{NamedFrame, NamedStack, Names};
use holdup_recording::format::FrameKind;
use holdup_recording::{Instructions, RawProcess, Recording, Writer};
use holdup_symbols::{Files, Frame, Module, Options, StackCopy, Symbolizer, UnwindEnd};

use crate::{block_names, image_names, source_text};

/// What the file name of the injected library starts with: its own frames are nobody's business.
const OWN_LIBRARY: &str = "libholdup";

/// Finds the names of each process that has none yet, while the files that hold them are at hand, and puts them into
/// the recording: into `recording` for now, and, with `Some`, into its file ([`crate::Ended::file`]) for later readers, with
/// the lines of source that they lead to. A file that cannot be written to stays as it is.
pub fn name_all(recording: &mut Recording, file: Option<&File>) {
    let files = Files::default();
    let mut writer = file.and_then(|file| Writer::adding_to(file.try_clone().ok()?).ok());
    for (index, process) in recording.processes.iter_mut().enumerate() {
        if process.names.is_some() || process.is_empty() {
            continue;
        }
        let found = names(process, files.clone());
        if let Some(writer) = &mut writer {
            let _ = writer.facts(FrameKind::Names, index as u32, &found);
        }
        process.names = Some(found);
    }
    if recording.block_names.is_none()
        && let Some(read) = Instructions::of(recording)
    {
        let found = block_names::names(&read, files.clone());
        if let Some(writer) = &mut writer {
            let _ = writer.facts(FrameKind::BlockNames, 0, &found);
        }
        recording.block_names = Some(found);
    }
    for image in recording.images() {
        if image.executed.is_empty() || recording.image_names.contains_key(&image.number) {
            continue;
        }
        let found = image_names::names(&image, files.clone());
        if let Some(writer) = &mut writer {
            let _ = writer.facts(FrameKind::ImageNames, 0, &found);
        }
        recording.image_names.insert(image.number, found);
    }
    if let Some(writer) = &mut writer
        && recording.source_text.is_none()
        && !recording.session.no_source
    {
        let found = source_text::of_names(recording);
        let _ = writer.facts(FrameKind::SourceText, 0, &found);
        recording.source_text = Some(found);
    }
}

fn names(process: &RawProcess, files: Files) -> Names {
    let (mut symbolizer, warnings) = Symbolizer::sharing(modules(process), Options::default(), files);
    let mut names = Names {
        warnings: warnings
            .iter()
            .map(ToString::to_string)
            .filter(|text| !text.contains("linux-vdso"))
            .collect(),
        ..Names::default()
    };
    for stack in process.stacks() {
        let copy = StackCopy { ip: stack.ip, sp: stack.sp, bp: Some(stack.bp), bytes: &stack.bytes };
        let unwound = symbolizer.unwind(&copy);
        let mut frames = Vec::new();
        for (depth, address) in unwound.addresses.iter().enumerate() {
            frames.extend(symbolizer.frames(*address, depth > 0).into_iter().map(named));
        }
        frames.retain(|frame| !frame.module.as_deref().is_some_and(|module| module.starts_with(OWN_LIBRARY)));
        names.stacks.insert(stack.id, NamedStack { frames, broken: unwound.end != UnwindEnd::Root });
    }
    for (address, is_return_address) in process.code() {
        let frames = symbolizer.frames(address, is_return_address).into_iter().map(named).collect();
        names.code.insert(address, NamedStack { frames, broken: false });
    }
    for address in process.objects() {
        if let Some(symbol) = symbolizer.data_symbol(address) {
            names.data.insert(address, symbol.expression());
        }
    }
    names.warnings.extend(missing_names(&symbolizer));
    names
}

/// The files that the process had in memory.
pub(crate) fn modules(process: &RawProcess) -> Vec<Module> {
    let modules = process.modules().into_iter().map(|module| Module {
        path: PathBuf::from(OsStr::from_bytes(&module.path)),
        bias: module.bias,
        start: module.start,
        end: module.end,
        build_id: (!module.build_id.is_empty()).then_some(module.build_id),
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
