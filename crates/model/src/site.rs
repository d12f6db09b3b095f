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
    /// Where a function without a name begins, relative to the module (bytes), if that is known;
    /// [`OUTSIDE`](Frame::OUTSIDE) where the code is of no function that the module's call frame information knows.
    pub begin: Option<u64>,
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
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libm.so",
    "linux-vdso",
    "[vdso]",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libboost_thread",
];

/// Dynamic loaders, by the start of their name; these are runtimes as well.
const LOADERS: &[&str] = &["ld-linux", "ld-musl"];

/// Modules of OpenMP's runtimes, by the start of their name; these are runtimes as well.
const OPENMP_MODULES: &[&str] = &["libgomp", "libomp", "libiomp"];

/// Folders with the sources of language runtimes. Not all functions of the C++ library that are compiled into a program begin with
/// `std`, nor do those of Rust's (`<u64>::unchecked_add`).
const RUNTIME_FILES: &[&str] = &["/include/c++/", "/rustc/", "/rustlib/src/rust/library/", "/rust/deps/"];

/// Folders in which Cargo keeps the sources of other people's crates, and systems the headers of C and C++ libraries.
const DEPENDENCY_FILES: &[&str] =
    &["/registry/src/", "/.cargo/git/checkouts/", "/usr/include/", "/usr/local/include/"];

/// Functions of libraries that programs take from others, by the start of their name.
const DEPENDENCY_FUNCTIONS: &[&str] = &["absl::", "AbslInternal"];

/// Functions of language runtimes, and of libraries that take their place, that are compiled into the program itself, by the start of their name.
const RUNTIME_FUNCTIONS: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "<std::",
    "<core::",
    "<alloc::",
    "__gnu_cxx::",
    "boost::",
    "__gthread",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "<parking_lot::",
    "<parking_lot_core::",
    "<lock_api::",
    "rayon::",
    "<rayon::",
    "rayon_core::",
    "<rayon_core::",
    "crossbeam::",
    "crossbeam_channel::",
    "<crossbeam_channel::",
    "crossbeam_deque::",
    "<crossbeam_deque::",
    "crossbeam_epoch::",
    "<crossbeam_epoch::",
    "crossbeam_queue::",
    "crossbeam_utils::",
    "<crossbeam_utils::",
    "tokio::",
    "<tokio::",
    "pthread_",
    "__pthread",
    "__libc_start",
    "rust_begin",
    "__rust_",
    "holdup_",
    // The C library in a static program: names that no program gives a function of its own.
    "__lll_",
    "__GI_",
    "__libc_",
    "__nptl",
    "__futex",
    "__new_sem_",
    "___pthread",
    "__GI___",
    "_IO_",
    "_int_malloc",
    "_int_free",
    "_int_realloc",
    "_int_memalign",
    "_dl_",
    "__dl_",
    "_Unwind_",
    "__cxa_",
    "__gxx_",
    "__memcpy_",
    "__memmove_",
    "__memset_",
    "__memcmp_",
    "__memchr_",
    "__strlen_",
    "__strcmp_",
    "__strncmp_",
    "__strchr_",
    "operator new",
    "operator delete",
    "__lockfile",
    "__syscall_cp",
    "__timedwait",
];

/// Whole names of functions of the C library, for static programs, and of what is linked into every program and library. Sorted.
const C_LIBRARY: &[&str] = &[
    "__GI___clone",
    "__accept",
    "__brk",
    "__clock_nanosleep",
    "__clone",
    "__clone3",
    "__close",
    "__connect",
    "__default_morecore",
    "__do_global_ctors_aux",
    "__do_global_dtors_aux",
    "__epoll_pwait",
    "__fdatasync",
    "__fprintf_chk",
    "__fsync",
    "__fxstat",
    "__getrandom",
    "__ioctl",
    "__kernel_vsyscall",
    "__lock",
    "__madvise",
    "__mmap",
    "__mmap64",
    "__morecore",
    "__mprotect",
    "__mremap",
    "__msync",
    "__munmap",
    "__nanosleep",
    "__open",
    "__open64",
    "__openat",
    "__overflow",
    "__poll",
    "__ppoll",
    "__pread64",
    "__printf_chk",
    "__pwrite64",
    "__random",
    "__read",
    "__readv",
    "__recv",
    "__recvfrom",
    "__recvmsg",
    "__sbrk",
    "__sched_yield",
    "__select",
    "__send",
    "__sendmsg",
    "__sendto",
    "__syscall",
    "__uflow",
    "__underflow",
    "__unlock",
    "__unlockfile",
    "__vfprintf_chk",
    "__vfprintf_internal",
    "__wait",
    "__wait3",
    "__wait4",
    "__waitpid",
    "__write",
    "__writev",
    "_fini",
    "_init",
    "_start",
    "accept",
    "accept4",
    "aligned_alloc",
    "arena_get2",
    "arena_get_retry",
    "brk",
    "calloc",
    "cfree",
    "clock_nanosleep",
    "clone",
    "clone3",
    "cnd_broadcast",
    "cnd_signal",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "deregister_tm_clones",
    "dl_iterate_phdr",
    "dlclose",
    "dlopen",
    "dlsym",
    "epoll_pwait",
    "epoll_wait",
    "fdatasync",
    "fflush",
    "fgetc",
    "fgets",
    "flockfile",
    "fprintf",
    "fputc",
    "fputs",
    "frame_dummy",
    "fread",
    "free",
    "fsync",
    "funlockfile",
    "fwrite",
    "getc",
    "getchar",
    "getdelim",
    "getline",
    "heap_trim",
    "madvise",
    "malloc",
    "malloc_consolidate",
    "memalign",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap",
    "mmap64",
    "mprotect",
    "mremap",
    "msync",
    "mtx_lock",
    "mtx_timedlock",
    "mtx_unlock",
    "munmap",
    "nanosleep",
    "poll",
    "posix_memalign",
    "ppoll",
    "pread",
    "pread64",
    "printf",
    "pselect",
    "putc",
    "putchar",
    "puts",
    "pvalloc",
    "pwrite",
    "pwrite64",
    "rand",
    "random",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "register_tm_clones",
    "sbrk",
    "sched_yield",
    "select",
    "sem_clockwait",
    "sem_post",
    "sem_timedwait",
    "sem_trywait",
    "sem_wait",
    "send",
    "sendmsg",
    "sendto",
    "sleep",
    "srand",
    "srandom",
    "start_thread",
    "strcmp",
    "strlen",
    "strncmp",
    "syscall",
    "sysmalloc",
    "sysmalloc_mmap",
    "systrim",
    "tcache_init",
    "thrd_join",
    "thrd_sleep",
    "thrd_yield",
    "unlink_chunk",
    "usleep",
    "valloc",
    "vfprintf",
    "vprintf",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];

/// The packages of Go's own library, by the part before the last dot of a function's name.
const GO_LIBRARY: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "encoding",
    "errors",
    "fmt",
    "hash",
    "html",
    "image",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "text",
    "time",
    "unicode",
    "vendor",
];

/// True for a function of Go's own library: `sort.Slice`, `encoding/json.(*Decoder).Decode`. A compiler's clone of a C
/// function (`sort.part.0`) is none.
fn is_go_library(name: &str) -> bool {
    let Some((package, rest)) = name.split_once(['.', '/']) else { return false };
    let is_clone = ["part.", "isra.", "constprop.", "cold", "lto_priv.", "llvm."];
    GO_LIBRARY.contains(&package) && !rest.is_empty() && !is_clone.iter().any(|clone| rest.starts_with(clone))
}

fn is_runtime_function(name: &str) -> bool {
    RUNTIME_FUNCTIONS.iter().any(|start| name.starts_with(start))
        || C_LIBRARY.binary_search(&name).is_ok()
        || is_go_library(name)
}

impl Frame {
    /// True for code of the program itself or of a library that it chose, false for the language's and the
    /// system's own runtime.
    pub fn is_program(&self) -> bool {
        let runtime_function = self.function.as_deref().is_some_and(is_runtime_function);
        !self.is_in_runtime() && !runtime_function && !self.is_in_file_of(RUNTIME_FILES)
    }

    /// True for code of a library that is the language's or the system's own runtime; false where such code is compiled into the
    /// program.
    pub fn is_in_runtime(&self) -> bool {
        [RUNTIME_MODULES, LOADERS, OPENMP_MODULES].iter().any(|names| self.is_of(names))
    }

    /// True for code of a runtime of OpenMP.
    pub fn is_of_openmp(&self) -> bool {
        self.is_of(OPENMP_MODULES)
    }

    /// True for code of a module whose name begins with one of these.
    fn is_of(&self, names: &[&str]) -> bool {
        self.module.as_deref().is_some_and(|module| names.iter().any(|name| module.starts_with(name)))
    }

    /// Of a stack, innermost first, the frames of the program's own code; where it has none, those of what it uses of others.
    pub fn own_of(stack: &[Frame]) -> impl Iterator<Item = &Frame> {
        let has_own = stack.iter().any(Frame::is_own);
        stack.iter().filter(move |frame| if has_own { frame.is_own() } else { frame.is_program() })
    }

    fn is_own(&self) -> bool {
        self.is_program() && !self.is_dependency()
    }

    /// See [`Site::place`].
    pub fn place_of(stack: &[Frame]) -> Option<&Frame> {
        Frame::own_of(stack).next().or(stack.first())
    }

    /// True for code that the program's author took from others: what is compiled into the program, and what has no name in a library.
    fn is_dependency(&self) -> bool {
        let is_in_library = || self.module.as_deref().is_some_and(|module| module.contains(".so"));
        let is_of_one = |name: &str| DEPENDENCY_FUNCTIONS.iter().any(|start| name.starts_with(start));
        match self.function.as_deref() {
            Some(name) => is_of_one(name) || self.is_in_file_of(DEPENDENCY_FILES),
            None => is_in_library() || self.is_in_file_of(DEPENDENCY_FILES),
        }
    }

    fn is_in_file_of(&self, folders: &[&str]) -> bool {
        self.file.as_deref().is_some_and(|file| folders.iter().any(|folder| file.contains(folder)))
    }

    /// Its function with its source line, else with its module; with the `lines` from the first to the last instead of its own,
    /// as `show` gives names.
    pub fn told(&self, lines: Option<(u32, u32)>, show: &dyn Fn(&str) -> String) -> String {
        let file = self.file.as_deref().map(|file| show(file.rsplit('/').next().unwrap_or(file)));
        let line = match lines.filter(|(first, last)| first < last) {
            Some((first, last)) => Some(format!("{first}-{last}")),
            None => self.line.map(|line| line.to_string()),
        };
        let source = file.map(|file| line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")));
        let module = self.module.as_deref().map(show);
        match (self.function.as_deref().map(show), source, module) {
            (Some(function), Some(within), _) | (Some(function), None, Some(within)) => {
                format!("{function} ({within})")
            }
            (Some(function), None, None) => function,
            (None, Some(source), _) => source,
            (None, None, Some(module)) => format!("{module}+{:#x}", self.address),
            (None, None, None) => format!("{:#x}", self.address),
        }
    }

    /// The same, with names as they are.
    pub fn name(&self) -> String {
        self.told(None, &str::to_owned)
    }

    /// See [`Frame::begin`]: at the beginning of a module lies its header.
    pub const OUTSIDE: u64 = 0;

    /// All of its function, as [`Frame::told`] has it: `function at libz.so.1+0x4f00` where it has no name, and all code of
    /// the module that is of no known function: `libz.so.1 (code without names)`.
    pub fn by_function(&self, lines: Option<(u32, u32)>, show: &dyn Fn(&str) -> String) -> String {
        match (&self.function, self.module.as_deref().map(show), self.begin) {
            (None, Some(module), Some(Self::OUTSIDE)) => format!("{module} (code without names)"),
            (None, Some(module), Some(begin)) => format!("function at {module}+{begin:#x}"),
            _ => self.told(lines, show),
        }
    }

    /// Its function alone, by its address where it has no name: `libz.so.1+0x4f2c`.
    pub fn told_function(&self, show: &dyn Fn(&str) -> String) -> String {
        let nameless = Frame { file: None, line: None, ..self.clone() };
        self.function.as_deref().map_or_else(|| nameless.told(None, show), show)
    }
}

impl Site {
    /// The frame to show to a person: the innermost one of the program's own code, else of what it uses of others, else the innermost
    /// of all.
    pub fn place(&self) -> Option<&Frame> {
        Frame::place_of(&self.frames)
    }

    /// True if a function of this name is on the stack.
    pub fn stands_in(&self, function: &str) -> bool {
        self.frames.iter().any(|frame| frame.function.as_deref() == Some(function))
    }

    /// True where the dynamic loader is at work.
    pub fn is_in_loader(&self) -> bool {
        self.frames.first().is_some_and(|innermost| innermost.is_of(LOADERS))
    }

    /// True if an OpenMP runtime called what is innermost here, and not the program itself: the memory for a task, say.
    pub fn is_called_by_openmp(&self) -> bool {
        self.frames.iter().take_while(|frame| !frame.is_program()).any(Frame::is_of_openmp)
    }

    /// True where the stack breaks off before it comes to code of the program's author: then the [`place`](Site::place) is none.
    pub fn lacks_place(&self) -> bool {
        self.broken && !self.frames.iter().any(Frame::is_own)
    }

    /// Its place, with the `lines` from the first to the last instead of its own, as `show` gives names.
    pub fn told(&self, lines: Option<(u32, u32)>, show: &dyn Fn(&str) -> String) -> String {
        self.place().map_or_else(|| "an unknown place".to_owned(), |frame| frame.told(lines, show))
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
    fn what_the_library_of_cpp_compiles_into_a_program_is_not_the_program() {
        let file = Some("/usr/include/c++/12/shared_mutex".to_owned());
        let header = Frame { file, line: Some(78), ..frame("__glibcxx_rwlock_rdlock", "app") };
        let site = Site { frames: vec![header, frame("look_up", "app")], ..Site::default() };
        assert_eq!(site.place().unwrap().function.as_deref(), Some("look_up"));
    }

    #[test]
    fn the_user_of_a_crate_is_the_place_and_not_the_crate() {
        let in_file =
            |function: &str, file: &str| Frame { file: Some(file.to_owned()), ..frame(function, "app") };
        let library =
            in_file("<u64>::unchecked_add", "/rustc/59807616e1fa/library/core/src/num/uint_macros.rs");
        let table =
            in_file("<Table<K> as Map>::insert", "/src/.cargo/registry/src/index-1/table-1.2.0/src/lib.rs");
        let own = in_file("app::remember", "/src/app/src/main.rs");
        let place = |frames: &[&Frame]| {
            let site =
                Site { frames: frames.iter().map(|&frame| frame.clone()).collect(), ..Site::default() };
            site.place().and_then(|frame| frame.function.clone())
        };
        assert_eq!(place(&[&library, &table, &own]).as_deref(), Some("app::remember"));
        let header = in_file("Matrix<double>::row", "/usr/include/eigen3/Eigen/src/Core/Block.h");
        assert_eq!(place(&[&header, &own]).as_deref(), Some("app::remember"));
        assert_eq!(place(&[&frame("absl::Mutex::Lock", "app"), &own]).as_deref(), Some("app::remember"));
        let nameless = Frame { function: None, ..frame("", "libcodec.so.3") };
        assert_eq!(place(&[&nameless, &own]).as_deref(), Some("app::remember"));
        // What the standard library itself has from others.
        let vendored =
            in_file("hashbrown::raw::alloc::inner::do_alloc", "/rust/deps/hashbrown-0.16.1/src/raw/alloc.rs");
        assert_eq!(place(&[&vendored, &library, &own]).as_deref(), Some("app::remember"));
        assert_eq!(place(&[&vendored, &table]).as_deref(), Some("<Table<K> as Map>::insert"));
        // A program that was installed from there.
        assert_eq!(place(&[&library, &table]).as_deref(), Some("<Table<K> as Map>::insert"));
        assert_eq!(place(&[&library]).as_deref(), Some("<u64>::unchecked_add"));
    }

    #[test]
    fn the_c_library_in_a_static_program_is_not_the_program() {
        assert!(C_LIBRARY.is_sorted());
        let stack = |names: &[&str]| Site {
            frames: names.iter().map(|name| frame(name, "app")).collect(),
            ..Site::default()
        };
        for (names, place) in [
            (&["__lll_lock_wait_private", "_int_free", "free", "drop_row"][..], "drop_row"),
            (&["__lll_lock_wait", "_IO_puts", "report"], "report"),
            (&["read", "read_all", "main"], "read_all"),
            (&["__memmove_avx_unaligned_erms", "copy_rows"], "copy_rows"),
            (&["runtime.memmove", "sort.Slice", "main.rank"], "main.rank"),
            (&["runtime.selectgo", "net/http.(*conn).serve"], "runtime.selectgo"),
            (&["sort.part.0", "main"], "sort.part.0"),
            (&["malloc_table", "main"], "malloc_table"),
            (&["rayon_core::join::join", "rayon_scene::shade"], "rayon_scene::shade"),
            (&["clone3", "clone_table"], "clone_table"),
        ] {
            let site = stack(names);
            assert_eq!(site.place().and_then(|frame| frame.function.as_deref()), Some(place));
        }
    }

    #[test]
    fn a_stack_of_runtime_code_only_still_has_a_place() {
        let site = Site { frames: vec![frame("read", "libc.so.6")], ..Site::default() };
        assert_eq!(site.place().unwrap().function.as_deref(), Some("read"));
        assert_eq!(Site::default().place(), None);
    }
}
