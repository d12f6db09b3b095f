//! Names for the addresses that one process recorded: of its stacks, its code and its objects.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holdup_recording::facts::{NamedFrame, NamedStack, Names, UnnamedCode};
use holdup_recording::{Addresses, RawModule, RawStack};
use holdup_symbols::{
    ANONYMOUS, Files, Frame, MissingNames, Module, Options, StackCopy, Symbolizer, UnwindEnd,
};

use crate::package::packages_of;

/// What the file name of the injected library starts with: its own frames are nobody's business.
const OWN_LIBRARY: &str = "libholdup";

/// Gives all stacks of a process to whom it is given.
type EachStack<'a> = dyn FnMut(&mut dyn FnMut(RawStack)) + 'a;

/// The names of a process. `each_stack` gives its stacks, one after the other.
pub(crate) fn names(addresses: &Addresses, each_stack: &mut EachStack<'_>, files: Files) -> Names {
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
        // What stands in our own library says nothing of the program.
        let symbol = symbolizer.data_symbol(address).filter(|symbol| !symbol.module.starts_with(OWN_LIBRARY));
        if let Some(symbol) = symbol {
            names.data.insert(address, symbol.expression());
        }
    }
    names.unnamed = unnamed(&symbolizer);
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
pub(crate) fn unnamed(symbolizer: &Symbolizer) -> Vec<UnnamedCode> {
    let of_program = |path: &Path| {
        let module = path.file_name().map(|name| name.to_string_lossy().into_owned());
        holdup_model::Frame { module, ..Default::default() }.is_program()
    };
    let mut missing = symbolizer.missing_names();
    missing.retain(|missing| of_program(&missing.module));
    let packaged = missing.iter().filter(|missing| missing.is_packaged);
    let packages = packages_of(packaged.map(|missing| missing.module.as_path()));
    let unnamed = missing.iter().map(|missing| UnnamedCode {
        module: missing
            .module
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        remedy: remedy(missing, packages.get(&missing.module)),
    });
    unnamed.collect()
}

/// What gives the names, and the name of the package that has them, where there is one.
fn remedy(missing: &MissingNames, package: Option<&String>) -> String {
    if !missing.is_packaged {
        return "compile it with -g, and do not strip it".to_owned();
    }
    match package {
        Some(package) => format!("install {package}-dbgsym, or ask a server for its names with --debuginfod"),
        None => "install its debug information, or ask a server for it with --debuginfod".to_owned(),
    }
}

/// The function that stands for all code in memory of which nobody gives names: its addresses are others in each run.
const MADE_AT_RUN_TIME: &str = "code made at run time";

/// How runtimes are asked to write down what they name the code that they make: by what the name of their file begins with.
const NAMES_OF_MADE_CODE: [(&str, &str); 4] = [
    ("libjvm.so", "run java with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (Java 17 and later)"),
    ("node", "run node with --perf-basic-prof"),
    ("libcoreclr.so", "set DOTNET_PerfMapEnabled=1"),
    ("beam.smp", "run erl with +JPperf true"),
];

/// What names the code that a program with these modules made at run time, if there is some among what was `named`.
pub(crate) fn unnamed_made_code<'a>(
    mut named: impl Iterator<Item = &'a NamedFrame>,
    modules: impl Iterator<Item = &'a Path>,
) -> Option<UnnamedCode> {
    let is_made = |frame: &NamedFrame| frame.function.as_deref() == Some(MADE_AT_RUN_TIME);
    let module = named.find(|frame| is_made(frame))?.module.clone()?;
    let remedy = modules.filter_map(Path::file_name).find_map(|name| {
        let name = name.to_string_lossy();
        NAMES_OF_MADE_CODE.iter().find(|(start, _)| name.starts_with(start)).map(|(_, remedy)| *remedy)
    });
    let remedy = remedy.unwrap_or("let what makes it write a perf map");
    Some(UnnamedCode { module, remedy: format!("for names of what is made at run time {remedy}") })
}

pub(crate) fn named(frame: Frame) -> NamedFrame {
    let is_made =
        frame.module.as_deref() == Some(ANONYMOUS) && frame.function.is_none() && frame.file.is_none();
    let frame = match is_made {
        true => Frame { function: Some(MADE_AT_RUN_TIME.to_owned()), address: 0, ..frame },
        false => frame,
    };
    NamedFrame {
        function: frame.function,
        file: frame.file,
        line: frame.line,
        module: frame.module,
        address: frame.address,
        inlined: frame.inlined,
        begin: frame.begin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_memory_is_one_place_and_its_runtime_can_name_it() {
        let at = |address: u64, function: Option<&str>, module: &str| {
            let function = function.map(str::to_owned);
            let module = Some(module.to_owned());
            named(Frame { function, file: None, line: None, module, address, inlined: false, begin: None })
        };
        assert_eq!(at(0x7f00_0000_1234, None, ANONYMOUS), at(0x7f00_0000_5678, None, ANONYMOUS));
        assert_eq!(at(16, None, "app").address, 16);
        let remedy_for = |frames: &[NamedFrame], modules: &[&str]| {
            let modules = modules.iter().map(Path::new);
            unnamed_made_code(frames.iter(), modules).map(|unnamed| (unnamed.module, unnamed.remedy))
        };
        let unnamed = [at(16, None, "app"), at(0x7f00_0000_1234, None, ANONYMOUS)];
        let (module, remedy) =
            remedy_for(&unnamed, &["/usr/bin/java", "/usr/lib/jvm/libjvm.so"]).expect("a remedy");
        assert!(module == ANONYMOUS && remedy.contains("DumpPerfMapAtExit"), "{module}: {remedy}");
        assert!(remedy_for(&unnamed, &["/opt/app"]).is_some_and(|(_, remedy)| remedy.contains("perf map")));
        assert_eq!(remedy_for(&[at(16, None, "app"), at(16, Some("run"), "[jit]")], &["libjvm.so"]), None);
    }

    #[test]
    fn who_compiled_a_program_gets_another_remedy_than_who_installed_it() {
        let of = |module: &str, is_packaged| {
            let package = packages_of([Path::new(module)].into_iter()).into_values().next();
            remedy(&MissingNames { module: module.into(), is_packaged }, package.as_ref())
        };
        assert_eq!(of("/opt/app", false), "compile it with -g, and do not strip it");
        assert!(of("/usr/lib/of/no/package.so", true).starts_with("install its debug information"));
        // Only where dpkg knows it.
        let shell = of("/bin/sh", true);
        assert!(shell.starts_with("install ") && shell.ends_with("with --debuginfod"), "{shell}");
    }
}
