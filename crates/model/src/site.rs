//! Places in the code.

/// One frame of a call stack, as far as names are known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Frame {
    /// The demangled function name. It comes from the program and is hostile: escape it where it is shown.
    pub function: Option<String>,
    /// The source file as the compiler recorded it.
    pub file: Option<String>,
    /// The line in `file`, from 1.
    pub line: Option<u32>,
    /// The file name of the program or library, without its directory.
    pub module: Option<String>,
    /// The address relative to the module (bytes), or the plain address where no module covers it.
    pub address: u64,
    /// True where the compiler put this function into the next outer frame.
    pub inlined: bool,
}

/// A call stack, innermost frame first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Site {
    /// The frames, innermost (or most deeply inlined) first.
    pub frames: Vec<Frame>,
    /// True where the stack could not be followed to the start of its thread.
    pub broken: bool,
    /// True where the innermost address lies in a loop that only another thread, or time, can end: one that stores
    /// nothing and loads the same addresses each time (paper 4, section 3.1).
    pub in_waiting_loop: bool,
}

/// Modules that carry a program's waits but are not its own code, by the start of their file name.
const RUNTIME_MODULES: &[&str] = &[
    "libholdup",
    "libc.so",
    "libc-",
    "libpthread",
    "ld-linux",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libm.so",
    "linux-vdso",
    "[vdso]",
];

/// Functions of language runtimes that are compiled into the program itself, by the start of their name.
const RUNTIME_FUNCTIONS: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "<std::",
    "<core::",
    "<alloc::",
    "__gnu_cxx::",
    "__gthread",
    "parking_lot",
    "lock_api::",
    "rayon",
    "<rayon",
    "crossbeam",
    "<crossbeam",
    "tokio::",
    "<tokio::",
    "runtime.",
    "sync.",
    "sync/atomic.",
    "internal/",
    "pthread_",
    "__pthread",
    "_start",
    "__libc_start",
    "start_thread",
    "clone",
    "rust_begin",
    "__rust_",
    "holdup_",
];

impl Frame {
    /// True for code of the program itself or of a library that it chose, false for the language's and the
    /// system's own runtime.
    pub fn is_program(&self) -> bool {
        let runtime_module = self
            .module
            .as_deref()
            .is_some_and(|module| RUNTIME_MODULES.iter().any(|p| module.starts_with(p)));
        let runtime_function = self
            .function
            .as_deref()
            .is_some_and(|name| RUNTIME_FUNCTIONS.iter().any(|p| name.starts_with(p)));
        !runtime_module && !runtime_function
    }
}

impl Site {
    /// The frame to show to a person: the innermost one of the program's own code, else the innermost of all.
    pub fn place(&self) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.is_program()).or(self.frames.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, module: &str) -> Frame {
        Frame { function: Some(function.into()), module: Some(module.into()), ..Frame::default() }
    }

    #[test]
    fn the_place_of_a_wait_is_in_the_program() {
        let site = Site {
            frames: vec![
                frame("pthread_mutex_lock", "libholdup.so"),
                frame("std::mutex::lock", "app"),
                frame("cache_put", "app"),
                frame("main", "app"),
            ],
            ..Site::default()
        };
        assert_eq!(site.place().unwrap().function.as_deref(), Some("cache_put"));
    }

    #[test]
    fn a_stack_of_runtime_code_only_still_has_a_place() {
        let site = Site { frames: vec![frame("read", "libc.so.6")], ..Site::default() };
        assert_eq!(site.place().unwrap().function.as_deref(), Some("read"));
        assert_eq!(Site::default().place(), None);
    }
}
