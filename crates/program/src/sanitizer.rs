//! Programs that carry a sanitizer's run-time library.
//!
//! UndefinedBehaviorSanitizer wraps no function and is not among them.

/// A sanitizer whose run-time library wraps the functions that holdup wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sanitizer {
    /// `-fsanitize=address`.
    Address,
    /// `-fsanitize=hwaddress`.
    HardwareAddress,
    /// `-fsanitize=thread`.
    Thread,
    /// `-fsanitize=memory`.
    Memory,
    /// `-fsanitize=leak`.
    Leak,
    /// One of these, but which cannot be told: linked in statically without exporting its functions, as
    /// gcc's `-static-libasan` and `-static-libtsan` do.
    Unnamed,
}

impl Sanitizer {
    /// Each with its short name in file names (`libasan.so.8`, `libclang_rt.asan-x86_64.so`), and a function
    /// that clang exports also where it links the run-time library statically, for the program's
    /// libraries.
    pub(crate) const NAMED: [(Sanitizer, &[u8], &[u8]); 5] = [
        (Sanitizer::Address, b"asan", b"__asan_init"),
        (Sanitizer::HardwareAddress, b"hwasan", b"__hwasan_init"),
        (Sanitizer::Thread, b"tsan", b"__tsan_init"),
        (Sanitizer::Memory, b"msan", b"__msan_init"),
        (Sanitizer::Leak, b"lsan", b"__lsan_init"),
    ];

    /// The name that its documentation uses.
    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "AddressSanitizer",
            Sanitizer::HardwareAddress => "HWAddressSanitizer",
            Sanitizer::Thread => "ThreadSanitizer",
            Sanitizer::Memory => "MemorySanitizer",
            Sanitizer::Leak => "LeakSanitizer",
            Sanitizer::Unnamed => "a sanitizer",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Sanitizer::Address => {
                "is built with AddressSanitizer, which aborts when another library comes before it; build it without -fsanitize=address to record it"
            }
            Sanitizer::HardwareAddress => {
                "is built with HWAddressSanitizer, which wraps the same functions as holdup; build it without -fsanitize=hwaddress to record it"
            }
            Sanitizer::Thread => {
                "is built with ThreadSanitizer, which wraps the same functions as holdup; build it without -fsanitize=thread to record it"
            }
            Sanitizer::Memory => {
                "is built with MemorySanitizer, which takes what holdup's library writes for uninitialised; build it without -fsanitize=memory to record it"
            }
            Sanitizer::Leak => {
                "is built with LeakSanitizer, which wraps the same functions as holdup; build it without -fsanitize=leak to record it"
            }
            Sanitizer::Unnamed => {
                "is built with a sanitizer, which wraps the same functions as holdup; build it without -fsanitize to record it"
            }
        }
    }
}

/// The sanitizer whose shared run-time library has this file name or path, for example an entry of
/// `LD_PRELOAD`.
pub fn sanitizer_library(path: &[u8]) -> Option<Sanitizer> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let follows = |prefix: &[u8], short_name: &[u8]| {
        name.strip_prefix(prefix)
            .and_then(|name| name.strip_prefix(short_name))
            .and_then(<[u8]>::first)
            .copied()
    };
    Sanitizer::NAMED
        .into_iter()
        .find(|(_, short_name, _)| {
            follows(b"lib", short_name) == Some(b'.')
                || matches!(follows(b"libclang_rt.", short_name), Some(b'.' | b'-' | b'_'))
        })
        .map(|(sanitizer, _, _)| sanitizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_both_compilers_are_known() {
        for (name, expected) in [
            ("libasan.so.8", Some(Sanitizer::Address)),
            ("/usr/lib/gcc/x86_64-linux-gnu/12/libtsan.so", Some(Sanitizer::Thread)),
            ("liblsan.so.0", Some(Sanitizer::Leak)),
            ("libhwasan.so.0", Some(Sanitizer::HardwareAddress)),
            ("libclang_rt.asan-x86_64.so", Some(Sanitizer::Address)),
            ("libclang_rt.hwasan_aliases-x86_64.so", Some(Sanitizer::HardwareAddress)),
            ("libclang_rt.tsan.so", Some(Sanitizer::Thread)),
            ("libubsan.so.1", None),
            ("libclang_rt.ubsan_standalone-x86_64.so", None),
            ("libasanas.so.1", None),
            ("libtsan", None),
            ("", None),
        ] {
            assert_eq!(sanitizer_library(name.as_bytes()), expected, "{name}");
        }
    }
}
