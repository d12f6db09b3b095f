//! What is to be said of how an emulated program ended.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use holdup_recording::{CodeModule, Instructions, Outline, TranslatedBlock};
use iced_x86::{CpuidFeature, Decoder, DecoderOptions, Instruction, Mnemonic};
use rustix::process::Signal;

/// How a run ended.
pub(crate) struct Ending<'a> {
    /// The program's status.
    pub(crate) status: ExitStatus,
    /// The emulator's version.
    pub(crate) version: &'a str,
    /// True if the plugin was at work.
    pub(crate) works: bool,
    /// True if the recording had no room for all.
    pub(crate) full: bool,
    /// The recording, as far as it is written.
    pub(crate) recording: &'a Path,
    /// Instructions that were recorded.
    pub(crate) executed: u64,
    /// Why the library is not in the program, in a sentence; `None` if it is.
    pub(crate) unseen: Option<&'a str>,
    /// Processes beside the first one, and programs that one of them executed.
    pub(crate) others: u32,
}

/// A sentence that the reader of the answer must know; `None` if there is nothing to say.
pub(crate) fn sentence(ending: &Ending<'_>) -> Option<String> {
    let version = ending.version;
    if !ending.works {
        return Some(format!(
            "QEMU {version} did not run the program with holdup's plugin: no instructions are recorded"
        ));
    }
    if let Some(signal) = ending.status.signal() {
        return Some(match Signal::from_named_raw(signal) {
            Some(Signal::ILL) => illegal(ending.recording, version),
            Some(signal) => ended_by(signal, version),
            None => format!("the program ended by signal {signal}: what is told is what it did until then"),
        });
    }
    if ending.full {
        let way_out = "--size-limit, or a place with more room";
        return Some(format!(
            "the recording reached its size limit: what threads executed after that is not in it ({way_out})"
        ));
    }
    if let Some(unseen) = ending.unseen {
        return Some(format!(
            "{unseen}; so only what its threads executed is known, and not where they meet"
        ));
    }
    let others = match ending.others {
        0 => return None,
        1 => "a process that the program started by fork or exec was".to_owned(),
        others => format!("{others} processes that the program started by fork or exec were"),
    };
    let way_out = match ending.executed {
        0 => ": give holdup the program itself, not one that starts it",
        _ => "",
    };
    Some(format!("{others} not looked into{way_out}"))
}

/// That the program ended by a signal, and if it can have been the emulator's fault, that too.
fn ended_by(signal: Signal, version: &str) -> String {
    let until_then = "what is told is what it did until then";
    let (name, is_fault) = match signal {
        Signal::SEGV => ("SIGSEGV", true),
        Signal::BUS => ("SIGBUS", true),
        Signal::FPE => ("SIGFPE", true),
        Signal::ABORT => ("SIGABRT", true),
        Signal::TRAP => ("SIGTRAP", true),
        Signal::SYS => ("SIGSYS", true),
        Signal::KILL => ("SIGKILL", false),
        Signal::TERM => ("SIGTERM", false),
        Signal::INT => ("SIGINT", false),
        Signal::HUP => ("SIGHUP", false),
        Signal::QUIT => ("SIGQUIT", false),
        _ => return format!("the program ended by signal {}: {until_then}", signal.as_raw()),
    };
    if !is_fault {
        return format!("the program was ended by {name}: {until_then}");
    }
    format!(
        "the program ended by {name} under emulation (QEMU {version}); {until_then}, and if it does not end so by \
         itself, QEMU is at fault"
    )
}

fn illegal(recording: &Path, version: &str) -> String {
    let file = File::open(recording).ok();
    let found = file.as_ref().and_then(|file| Outline::read(file, recording).ok()).and_then(|outline| {
        let read = Instructions::of(&outline.recording)?;
        read.blocks.iter().rev().find_map(|block| culprit(block, &read.modules))
    });
    let Some((instruction, bytes)) = found else {
        return format!(
            "the program ended by SIGILL under emulation: it has instructions that QEMU {version} does not know, or ended \
             itself so; if it does not by itself, build it for a plainer processor (-march=x86-64-v3)"
        );
    };
    let address = instruction.ip();
    let text = holdup_code::listing(&bytes, address).pop().map_or_else(String::new, |(_, text)| text);
    if instruction.mnemonic() == Mnemonic::Ud2 {
        return format!("the program ended itself by an illegal instruction (`{text}` at {address:#x})");
    }
    format!(
        "the program ended at `{text}` ({address:#x}), an instruction of {} that QEMU {version} does not emulate: build it \
         for a processor without (-march=x86-64-v3), or choose its variant for such a one",
        family(&instruction)
    )
}

/// The last instruction of a block, if QEMU cannot have executed it, and its bytes. The block may end within it: the file
/// has the rest.
fn culprit(block: &TranslatedBlock, modules: &[CodeModule]) -> Option<(Instruction, Vec<u8>)> {
    const LONGEST: usize = 15;
    let starts = Decoder::with_ip(64, &block.bytes, block.address, DecoderOptions::NONE);
    let at = starts.into_iter().last().map_or(0, |instruction| (instruction.ip() - block.address) as usize);
    let mut bytes = block.bytes.get(at..)?.to_vec();
    let module = block.module.and_then(|module| modules.get(module as usize));
    if let Some(module) = module
        && let Ok(file) = File::open(Path::new(std::ffi::OsStr::from_bytes(&module.path)))
    {
        let mut more = [0; LONGEST];
        let offset = module.offset + (block.address + at as u64).checked_sub(module.start)?;
        if let Ok(length) = file.read_at(&mut more, offset) {
            bytes = more[..length].to_vec();
        }
    }
    let instruction = Decoder::with_ip(64, &bytes, block.address + at as u64, DecoderOptions::NONE).decode();
    let is_culprit = instruction.mnemonic() == Mnemonic::Ud2
        || !instruction.is_invalid()
            && !instruction.cpuid_features().iter().all(|feature| is_emulated(*feature));
    bytes.truncate(instruction.len());
    is_culprit.then_some((instruction, bytes))
}

/// False for instruction sets that compilers and libraries use and QEMU 7 and 8 do not have with the processor `max`.
fn is_emulated(feature: CpuidFeature) -> bool {
    const UNKNOWN: [&str; 13] = [
        "AVX512", "AVX_VNNI", "AVX_IFMA", "AVX_NE", "AVX10", "AMX", "APX", "SHA", "GFNI", "FMA4", "XOP",
        "TBM", "RTM",
    ];
    let name = format!("{feature:?}");
    !UNKNOWN.iter().any(|unknown| name.starts_with(unknown))
}

/// What the instruction set is called by people.
fn family(instruction: &Instruction) -> String {
    let name =
        instruction.cpuid_features().first().map_or_else(String::new, |feature| format!("{feature:?}"));
    match name.strip_prefix("AVX512") {
        Some(_) => "AVX-512".to_owned(),
        None => name.replace('_', "-"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use holdup_trace::instructions::CodeClass;

    use super::*;

    fn said(change: impl FnOnce(&mut Ending<'_>)) -> Option<String> {
        let mut ending = Ending {
            status: ExitStatus::default(),
            version: "7.2",
            works: true,
            full: false,
            recording: Path::new("/nonexistent"),
            executed: 1,
            unseen: None,
            others: 0,
        };
        change(&mut ending);
        sentence(&ending)
    }

    #[test]
    fn an_ordinary_end_needs_no_words() {
        assert_eq!(said(|_| {}), None);
        assert_eq!(said(|ending| ending.status = ExitStatus::from_raw(3 << 8)), None);
    }

    #[test]
    fn each_other_end_has_its_own() {
        let check = |change: fn(&mut Ending<'_>), words: &[&str]| {
            let text = said(change).expect("a sentence");
            for word in words {
                assert!(text.contains(word), "{word:?} is not in {text:?}");
            }
        };
        check(|ending| ending.works = false, &["no instructions are recorded"]);
        check(|ending| ending.status = ExitStatus::from_raw(9), &["SIGKILL", "until then"]);
        check(|ending| ending.status = ExitStatus::from_raw(11), &["SIGSEGV", "QEMU is at fault"]);
        check(|ending| ending.status = ExitStatus::from_raw(4), &["SIGILL", "-march=x86-64-v3"]);
        check(|ending| ending.status = ExitStatus::from_raw(34), &["signal 34"]);
        check(|ending| ending.full = true, &["size limit"]);
        check(|ending| ending.unseen = Some("it is static"), &["it is static", "not where they meet"]);
        check(
            |ending| (ending.others, ending.executed) = (1, 0),
            &["a process", "was not", "program itself"],
        );
        check(|ending| ending.others = 2, &["2 processes", "were not looked into"]);
    }

    fn block(bytes: &[u8]) -> TranslatedBlock {
        TranslatedBlock {
            address: 0x1000,
            module: None,
            class: CodeClass::Own,
            instructions: 1,
            bytes: bytes.to_vec(),
            accesses: Vec::new(),
        }
    }

    #[test]
    fn the_instruction_is_the_last_of_its_block() {
        const NOP: u8 = 0x90;
        // vaddps zmm0, zmm0, zmm0
        let avx512 = [NOP, 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0];
        let (instruction, bytes) = culprit(&block(&avx512), &[]).expect("the culprit");
        assert_eq!((instruction.ip(), bytes.as_slice()), (0x1001, &avx512[1..]));
        assert_eq!(family(&instruction), "AVX-512");
        let trap = culprit(&block(&[NOP, 0x0f, 0x0b]), &[]).expect("the trap");
        assert_eq!(trap.0.mnemonic(), Mnemonic::Ud2);
        // vaddps ymm0, ymm0, ymm0
        assert!(culprit(&block(&[NOP, 0xc5, 0xfc, 0x58, 0xc0]), &[]).is_none());
        assert!(culprit(&block(&[]), &[]).is_none());
    }

    #[test]
    fn what_the_emulator_did_not_read_is_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path: PathBuf = directory.path().join("program");
        std::fs::write(&path, [0x90, 0x90, 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0]).unwrap();
        let module = CodeModule {
            start: 0xfff,
            end: 0x2000,
            offset: 1,
            class: CodeClass::Own,
            path: path.as_os_str().as_bytes().to_vec(),
        };
        let cut_off = TranslatedBlock { module: Some(0), ..block(&[0x62]) };
        let (_, bytes) = culprit(&cut_off, &[module]).expect("the culprit");
        assert_eq!(bytes.len(), 6);
    }
}
