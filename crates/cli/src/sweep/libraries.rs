//! Which shared libraries a program loads: its results depend on them as on its own file.
//!
//! The program's loader itself is asked (`ld.so --list`, as `ldd` does): only it knows its cache, its search paths and the
//! variants of libraries for this processor. What a program loads later, by `dlopen`, nobody knows before.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

/// Scripts that are for scripts are followed so far, as the kernel does.
const SCRIPT_DEPTH: usize = 4;

/// Of a script the first line is read, up to so many bytes.
const FIRST_LINE: u64 = 256;

/// What the loader is to see of holdup's environment.
const SEARCH: &str = "LD_";

/// The libraries that are mapped before the program's first instruction; of a script its interpreter and those of that. A
/// static program has none.
///
/// # Errors
/// Why they are not known.
pub(super) fn libraries(
    program: &Path,
    directory: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<PathBuf>, String> {
    let mut program = program.to_owned();
    let mut found = Vec::new();
    for _ in 0..=SCRIPT_DEPTH {
        match kind(&program).map_err(|error| format!("it cannot be read ({error})"))? {
            Kind::Static => return Ok(found),
            Kind::Dynamic(loader) => {
                found.extend(listed(&loader, &program, directory, environment)?);
                return Ok(found);
            }
            Kind::Script(interpreter) => {
                program = directory.join(interpreter);
                found.push(program.clone());
            }
            Kind::Other => return Err("it is neither a program for this system nor a script".to_owned()),
        }
    }
    Err("its interpreters are scripts themselves".to_owned())
}

/// What a file is for the kernel.
enum Kind {
    Static,
    /// The loader's path.
    Dynamic(PathBuf),
    /// The interpreter's path.
    Script(PathBuf),
    Other,
}

fn kind(program: &Path) -> std::io::Result<Kind> {
    let mut file = File::open(program)?;
    let mut first = Vec::new();
    (&mut file).take(FIRST_LINE).read_to_end(&mut first)?;
    if let Some(line) = first.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        return Ok(line.split_whitespace().next().map_or(Kind::Other, |word| Kind::Script(word.into())));
    }
    let data = ReadCache::new(file);
    let loader = match FileKind::parse(&data) {
        Ok(FileKind::Elf64) => loader::<FileHeader64<Endianness>, _>(&data),
        Ok(FileKind::Elf32) => loader::<FileHeader32<Endianness>, _>(&data),
        _ => return Ok(Kind::Other),
    };
    Ok(match loader {
        Ok(Some(path)) => Kind::Dynamic(path),
        Ok(None) => Kind::Static,
        Err(_) => Kind::Other,
    })
}

/// What the program header of the loader says.
fn loader<'data, Elf, R>(data: R) -> object::Result<Option<PathBuf>>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, data)? {
        if let Some(path) = segment.interpreter(endian, data)? {
            return Ok(Some(String::from_utf8_lossy(path).into_owned().into()));
        }
    }
    Ok(None)
}

/// Asks the loader. It maps the libraries and lists them, and executes nothing of them.
fn listed(
    loader: &Path,
    program: &Path,
    directory: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<PathBuf>, String> {
    // A file that calls itself a loader is not just executed.
    let name = loader.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with("ld-") && !name.starts_with("ld64") && !name.starts_with("ld.so") {
        return Err(format!("{} is no loader that is known", loader.display()));
    }
    let search = environment.iter().filter(|(name, _)| name.starts_with(SEARCH));
    let output = Command::new(loader)
        .arg("--list")
        .arg(program)
        .envs(search)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be asked ({error})", loader.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().next().unwrap_or("its loader lists none").to_owned());
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let absolute = |path: &str| fs::canonicalize(directory.join(path)).ok();
    Ok(listed.lines().filter_map(path_of).filter_map(absolute).collect())
}

/// The path in a line of the list: `libc.so.6 => /lib/libc.so.6 (0x00007f…)`, or only the path. The kernel's own library, and
/// those that are not found, have none.
fn path_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let path = line.split_once(" => ").map_or(line, |(_, path)| path);
    let path = path.rsplit_once(" (0x").map_or(path, |(path, _)| path);
    path.contains('/').then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list_have_paths() {
        for (line, path) in [
            ("\tlinux-vdso.so.1 (0x00007ffd8c5f2000)", None),
            (
                "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1c)",
                Some("/lib/x86_64-linux-gnu/libm.so.6"),
            ),
            ("\t./odd (name)/libx.so (0x00007f1c)", Some("./odd (name)/libx.so")),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f1c)", Some("/lib64/ld-linux-x86-64.so.2")),
            ("\tlibnone.so => not found", None),
            ("\tstatically linked", None),
        ] {
            assert_eq!(path_of(line), path);
        }
    }

    #[test]
    fn this_very_program_loads_the_c_library_and_rubbish_nothing() {
        let me = std::env::current_exe().unwrap();
        let here = Path::new("/");
        let found = libraries(&me, here, &BTreeMap::new()).unwrap();
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc")), "{found:?}");
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, format!("#!{} -x\n", me.display())).unwrap();
        let of_script = libraries(&script, here, &BTreeMap::new()).unwrap();
        assert_eq!(of_script, [vec![me], found].concat());
        for rubbish in ["", "#!", "\x7fELF", "text", &format!("#!{}\n", script.display())] {
            let path = folder.path().join("rubbish");
            fs::write(&path, rubbish).unwrap();
            let found = libraries(&path, here, &BTreeMap::new());
            assert_eq!(found.is_ok(), rubbish.contains("script"), "{rubbish}: {found:?}");
        }
        fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert!(libraries(&script, here, &BTreeMap::new()).unwrap_err().contains("scripts"));
    }
}
