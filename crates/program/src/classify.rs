//! The question itself, asked in the order in which the kernel and the dynamic linker would meet the
//! obstacles.

use crate::bytes::{FileBytes, read_up_to};
use crate::dynamic::Dynamic;
use crate::elf::{Elf, Loader, MAGIC};
use crate::facts::Facts;
use crate::sanitizer::{Sanitizer, sanitizer_library};
use crate::script::{self, HEAD, Interpreter};
use crate::verdict::{Reason, Verdict};

/// Says what a program file is and whether the injected library may enter it.
///
/// Never panics and always ends, whatever the bytes. Costs about 20 calls of
/// [`read_at`](FileBytes::read_at) for an ordinary program, and one more for each library that it needs.
pub fn classify<F: FileBytes + ?Sized>(file: &F, facts: Facts) -> Verdict {
    match answer(file, facts) {
        Ok(verdict) => verdict,
        Err(reason) => Verdict::LeaveAlone(reason),
    }
}

fn answer<F: FileBytes + ?Sized>(file: &F, facts: Facts) -> Result<Verdict, Reason> {
    if !facts.is_executable() {
        return Err(Reason::NotExecutable);
    }
    if let Some(interpreter) = first_look(file)? {
        return Ok(Verdict::Script(interpreter));
    }
    // Only now: the kernel ignores the set-user-id bit and the capabilities of a script.
    facts.gained_rights().map_or(Ok(()), Err)?;
    enter(file)?;
    Ok(Verdict::Enter)
}

/// A script's interpreter; `None` for an ELF file. Not inlined, to give its buffer back before `enter` runs.
#[inline(never)]
fn first_look<F: FileBytes + ?Sized>(file: &F) -> Result<Option<Interpreter>, Reason> {
    let mut head = [0; HEAD];
    let head = read_up_to(file, 0, &mut head)?;
    if head.starts_with(MAGIC) {
        return Ok(None);
    }
    script::interpreter(head).map(Some).ok_or(Reason::NotAProgram)
}

/// Whether the library can be loaded into an ELF program.
#[inline(never)]
fn enter<F: FileBytes + ?Sized>(file: &F) -> Result<(), Reason> {
    let elf = Elf::open(file)?;
    let loader = elf.loader()?;
    let dynamic = Dynamic::open(&elf)?;
    let loader = match (loader, &dynamic) {
        (Some(loader), _) => loader,
        // The dynamic linker started as a program, as in `ld.so ./app`, names no interpreter.
        (None, Some(dynamic)) => {
            let own = |name: &[u8]| matches!(Loader::named(name), Loader::Glibc).then_some(Loader::Glibc);
            dynamic.own_name(own)?.ok_or(Reason::Static)?
        }
        (None, None) => return Err(Reason::Static),
    };
    match loader {
        Loader::Glibc => {}
        Loader::Musl => return Err(Reason::Musl),
        Loader::Other => return Err(Reason::OtherLoader),
    }
    match dynamic.map(|dynamic| sanitizer_inside(&dynamic)).transpose()?.flatten() {
        Some(sanitizer) => Err(Reason::Sanitizer(sanitizer)),
        None => Ok(()),
    }
}

/// The sanitizer in a program: a library that it needs, or one linked into it.
fn sanitizer_inside<F: FileBytes + ?Sized>(
    dynamic: &Dynamic<'_, '_, F>,
) -> Result<Option<Sanitizer>, Reason> {
    if let Some(sanitizer) = dynamic.needed(sanitizer_library)? {
        return Ok(Some(sanitizer));
    }
    for (sanitizer, _, entry_point) in Sanitizer::NAMED {
        if dynamic.defines(entry_point)? {
            return Ok(Some(sanitizer));
        }
    }
    // gcc hides the entry points of a static run-time library. Seen in all of its sanitizers: the program
    // then defines pthread_create itself, because libraries refer to it (some malloc replacements do that
    // too), and refers to this weak symbol of the sanitizers' common part (UndefinedBehaviorSanitizer does
    // that too).
    let hidden = dynamic.defines(b"pthread_create")? && dynamic.refers_to(b"__sanitizer_symbolize_code")?;
    Ok(hidden.then_some(Sanitizer::Unnamed))
}
