//! Execution of other programs: those that the library must not enter are executed without it.

use core::ffi::{CStr, c_char, c_int, c_void};

use holdup_agent::arch::{number, system_call};
use holdup_agent::{life, process};
use holdup_program::{Caller, Facts, FileBytes, SCRIPT_DEPTH, Verdict, classify};
use holdup_trace::shared::{Refusal, SESSION_VARIABLE};

use crate::entry::variable;
use crate::real;

type Strings = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD";
/// What the file name of this library starts with.
const OWN_NAME: &[u8] = b"libholdup";

#[link(name = "c")]
unsafe extern "C" {
    static environ: Strings;
}

/// An open file; closed when it is dropped.
struct File(usize);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: a descriptor that only this value knows.
        unsafe { system_call(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

impl FileBytes for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        let arguments = [self.0, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0];
        // SAFETY: the buffer and its length.
        usize::try_from(unsafe { system_call(number::PREAD, arguments) }).ok()
    }
}

const AT_FDCWD: c_int = -100;
const CLOSE_ON_EXEC: usize = 0o2000000;

unsafe fn open(directory: c_int, path: *const c_char) -> Option<File> {
    let arguments = [directory as usize, path as usize, CLOSE_ON_EXEC, 0, 0, 0];
    usize::try_from(system_call(number::OPENAT, arguments)).ok().map(File)
}

fn caller() -> Caller {
    const NO_NEW_PRIVILEGES: usize = 39;
    // SAFETY: the calls only tell.
    let ask = |number: usize, first: usize| unsafe { system_call(number, [first, 0, 0, 0, 0, 0]) };
    Caller {
        real_user: ask(number::GETUID, 0) as u32,
        effective_user: ask(number::GETEUID, 0) as u32,
        real_group: ask(number::GETGID, 0) as u32,
        effective_group: ask(number::GETEGID, 0) as u32,
        privileges_fixed: ask(number::PRCTL, NO_NEW_PRIVILEGES) == 1,
    }
}

/// `struct stat` of the kernel for x86-64.
#[repr(C)]
struct Stat {
    before: [u64; 3],
    mode: u32,
    owner: u32,
    group: u32,
    after: [u32; 27],
}

fn facts(file: &File) -> Option<Facts> {
    let mut stat = Stat { before: [0; 3], mode: 0, owner: 0, group: 0, after: [0; 27] };
    let told =
        // SAFETY: a buffer of the shape that the kernel fills.
        unsafe { system_call(number::FSTAT, [file.0, core::ptr::from_mut(&mut stat) as usize, 0, 0, 0, 0]) };
    let name = c"security.capability".as_ptr() as usize;
    // SAFETY: a NUL-ended name; no buffer, so that only the length is told.
    let capabilities = unsafe { system_call(number::FGETXATTR, [file.0, name, 0, 0, 0, 0]) };
    (told == 0).then(|| Facts {
        mode: stat.mode,
        owner: stat.owner,
        group: stat.group,
        has_capabilities: capabilities > 0,
        caller: caller(),
    })
}

/// True if the library must stay out of this program. Where that cannot be told the program is executed as it is:
/// the call will fail, or succeed, as it would without us.
unsafe fn must_leave_alone(first: Option<File>) -> bool {
    let Some(mut file) = first else { return false };
    for _ in 0..=SCRIPT_DEPTH {
        let Some(facts) = facts(&file) else { return false };
        match classify(&file, facts) {
            Verdict::Enter => return false,
            Verdict::LeaveAlone(_) => return true,
            Verdict::Script(interpreter) => {
                let mut path = [0u8; 257];
                let bytes = interpreter.path();
                let len = bytes.len().min(path.len() - 1);
                path[..len].copy_from_slice(&bytes[..len]);
                match open(AT_FDCWD, path.as_ptr().cast()) {
                    Some(next) => file = next,
                    None => return false,
                }
            }
        }
    }
    true
}

/// The part of a list in `LD_PRELOAD` that names this library.
fn own_entry(list: &[u8]) -> Option<&[u8]> {
    list.split(|byte| matches!(byte, b':' | b' ')).find(|entry| {
        entry.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(OWN_NAME))
    })
}

/// True if this library can be opened from here: not so after a `chroot`.
unsafe fn is_reachable(entry: &[u8]) -> bool {
    let mut path = [0u8; 1024];
    if entry.len() >= path.len() {
        return false;
    }
    path[..entry.len()].copy_from_slice(entry);
    open(AT_FDCWD, path.as_ptr().cast()).is_some()
}

/// An environment without this library, in memory of its own. Given back if the execution fails.
struct Environment {
    address: usize,
    length: usize,
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: a mapping of our own, which nothing points to any more.
        unsafe { system_call(number::MUNMAP, [self.address, self.length, 0, 0, 0, 0]) };
    }
}

impl Environment {
    unsafe fn without_us(environment: Strings) -> Option<Environment> {
        let mut count = 0;
        while !(*environment.add(count)).is_null() {
            count += 1;
        }
        let list = variable(environment, PRELOAD)?.to_bytes();
        let length = (count + 1) * size_of::<usize>() + PRELOAD.len() + list.len() + 2;
        const READ_WRITE: usize = 3;
        const PRIVATE_ANONYMOUS: usize = 2 | 0x20;
        let address = system_call(number::MMAP, [0, length, READ_WRITE, PRIVATE_ANONYMOUS, usize::MAX, 0]);
        if address <= 0 {
            return None;
        }
        let made = Environment { address: address as usize, length };
        let strings = address as *mut *const c_char;
        let text = strings.add(count + 1).cast::<u8>();
        let mut to = 0;
        for index in 0..count {
            let entry = *environment.add(index);
            let bytes = CStr::from_ptr(entry).to_bytes();
            let is = |name: &[u8]| bytes.starts_with(name) && bytes.get(name.len()) == Some(&b'=');
            if is(SESSION_VARIABLE.as_bytes()) {
                continue;
            }
            if is(PRELOAD) {
                if !write_list(text, list) {
                    continue;
                }
                *strings.add(to) = text.cast();
            } else {
                *strings.add(to) = entry;
            }
            to += 1;
        }
        *strings.add(to) = core::ptr::null();
        Some(made)
    }

    fn strings(&self) -> Strings {
        self.address as Strings
    }
}

/// Writes `LD_PRELOAD=` and the list without us; false if nothing is left of it.
unsafe fn write_list(to: *mut u8, list: &[u8]) -> bool {
    let mut len = 0;
    let mut put = |bytes: &[u8]| {
        for byte in bytes {
            *to.add(len) = *byte;
            len += 1;
        }
    };
    put(PRELOAD);
    put(b"=");
    let mut any = false;
    for entry in list.split(|byte| matches!(byte, b':' | b' ')) {
        if entry.is_empty() || own_entry(entry).is_some() {
            continue;
        }
        if any {
            put(b":");
        }
        put(entry);
        any = true;
    }
    put(b"\0");
    any
}

/// Executes a program that will not be seen.
unsafe fn unseen(environment: Strings, execute: impl FnOnce(Strings) -> c_int) -> c_int {
    process::executes_unseen(true);
    let result = execute(environment);
    process::executes_unseen(false);
    result
}

/// Executes with `environment`, or without us where that must be. `target` opens the program.
unsafe fn execute(
    environment: Strings,
    target: impl FnOnce() -> Option<File>,
    execute: impl FnOnce(Strings) -> c_int,
) -> c_int {
    if environment.is_null() || life::confined() || !life::in_session() {
        return execute(environment);
    }
    let was_silent = life::speaks();
    let own = variable(environment, PRELOAD).and_then(|list| own_entry(list.to_bytes()));
    let result = match own {
        None => {
            life::leaves_out(Refusal::Environment);
            unseen(environment, execute)
        }
        Some(entry) if is_reachable(entry) && !must_leave_alone(target()) => match life::acts_as_another() {
            true => {
                life::leaves_out(Refusal::Open);
                unseen(environment, execute)
            }
            false => execute(environment),
        },
        Some(_) => {
            life::leaves_out(Refusal::Program);
            match Environment::without_us(environment) {
                Some(made) => unseen(made.strings(), execute),
                None => unseen(environment, execute),
            }
        }
    };
    if was_silent {
        // The execution failed.
        life::forked();
    }
    result
}

/// Interposes `fork`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    let result = real::fork();
    if result == 0 {
        life::forked();
    }
    result
}

/// Opens the program that a search in `PATH` finds.
unsafe fn search(file: *const c_char) -> Option<File> {
    let name = CStr::from_ptr(file).to_bytes_with_nul();
    if name.contains(&b'/') {
        return open(AT_FDCWD, file);
    }
    let list = variable(environ, b"PATH").map_or(b"/bin:/usr/bin".as_slice(), CStr::to_bytes);
    list.split(|byte| *byte == b':').find_map(|directory| {
        let mut path = [0u8; 1024];
        let length = directory.len() + 1 + name.len();
        if length > path.len() {
            return None;
        }
        path[..directory.len()].copy_from_slice(directory);
        path[directory.len()] = b'/';
        path[directory.len() + 1..length].copy_from_slice(name);
        let start = if directory.is_empty() { 1 } else { 0 };
        open(AT_FDCWD, path[start..].as_ptr().cast())
    })
}

/// Interposes `execve`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    execute(environment, || open(AT_FDCWD, path), |environment| real::execve(path, arguments, environment))
}

/// Interposes `execv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    execve(path, arguments, environ)
}

/// Interposes `execvpe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    execute(environment, || search(file), |environment| real::execvpe(file, arguments, environment))
}

/// Interposes `execvp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    execvpe(file, arguments, environ)
}

/// Interposes `fexecve`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(descriptor: c_int, arguments: Strings, environment: Strings) -> c_int {
    let target = || open_again(descriptor);
    execute(environment, target, |environment| real::fexecve(descriptor, arguments, environment))
}

/// A descriptor of our own for a file that the program has open.
fn open_again(descriptor: c_int) -> Option<File> {
    const DUPLICATE_CLOSE_ON_EXEC: usize = 1030;
    let arguments = [descriptor as usize, DUPLICATE_CLOSE_ON_EXEC, 0, 0, 0, 0];
    // SAFETY: a new descriptor for a file that the program has open.
    usize::try_from(unsafe { system_call(number::FCNTL, arguments) }).ok().map(File)
}

/// Interposes `execveat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    let target = || if *path == 0 { open_again(directory) } else { open(directory, path) };
    execute(environment, target, |environment| real::execveat(directory, path, arguments, environment, flags))
}

/// Interposes `posix_spawn`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    process: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    execute(
        environment,
        || open(AT_FDCWD, path),
        |environment| real::posix_spawn(process, path, actions, attributes, arguments, environment),
    )
}

/// Interposes `posix_spawnp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    process: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    execute(
        environment,
        || search(file),
        |environment| real::posix_spawnp(process, file, actions, attributes, arguments, environment),
    )
}

/// Exports functions with a variable number of strings: they store the six argument registers below the return
/// address and pass where, so that the strings can be read one by one.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "sub rsp, 56",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "call {}",
                "add rsp, 56",
                "ret",
                sym $implementation,
            )
        }
    )*};
}

lists! {
    /// Interposes `execl`.
    execl => list_path;
    /// Interposes `execlp`.
    execlp => list_file;
    /// Interposes `execle`.
    execle => list_environment;
}

/// Variable arguments as [`lists`] leaves them: six, then 8 bytes of padding and the return address, then the rest.
#[derive(Clone, Copy)]
struct Arguments(*const *const c_char);

impl Arguments {
    unsafe fn at(self, index: usize) -> *const c_char {
        *self.0.add(if index < 6 { index } else { index + 2 })
    }

    /// How many strings follow the first argument, the null that ends them not counted.
    unsafe fn count(self) -> usize {
        let mut count = 0;
        while !self.at(count + 1).is_null() {
            count += 1;
        }
        count
    }

    /// The strings as an array, for the time of `use_it`.
    unsafe fn with_array(self, count: usize, use_it: impl FnOnce(Strings) -> c_int) -> c_int {
        const FEW: usize = 64;
        let mut few = [core::ptr::null(); FEW];
        let length = (count + 1) * size_of::<usize>();
        let mut memory = None;
        let array = if count < FEW {
            few.as_mut_ptr()
        } else {
            let address = system_call(number::MMAP, [0, length, 3, 2 | 0x20, usize::MAX, 0]);
            if address <= 0 {
                const NO_MEMORY: c_int = 12;
                real::set_errno(NO_MEMORY);
                return -1;
            }
            memory = Some(Environment { address: address as usize, length });
            address as *mut *const c_char
        };
        for index in 0..count {
            *array.add(index) = self.at(index + 1);
        }
        *array.add(count) = core::ptr::null();
        let result = use_it(array);
        drop(memory);
        result
    }
}

unsafe extern "C" fn list_path(arguments: *const *const c_char) -> c_int {
    let arguments = Arguments(arguments);
    arguments.with_array(arguments.count(), |array| execve(arguments.at(0), array, environ))
}

unsafe extern "C" fn list_file(arguments: *const *const c_char) -> c_int {
    let arguments = Arguments(arguments);
    arguments.with_array(arguments.count(), |array| execvpe(arguments.at(0), array, environ))
}

unsafe extern "C" fn list_environment(arguments: *const *const c_char) -> c_int {
    let arguments = Arguments(arguments);
    let count = arguments.count();
    let environment = arguments.at(count + 2).cast::<*const c_char>();
    arguments.with_array(count, |array| execve(arguments.at(0), array, environment))
}
