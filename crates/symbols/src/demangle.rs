//! Linker names to source names.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// No name is longer than this, in bytes: template and mangling tricks can make a short symbol expand to megabytes.
pub const MAX_NAME_BYTES: usize = 4096;

/// Nesting at which the C++ demangler gives up. Real names stay far below.
const RECURSION_LIMIT: u32 = 96;

/// Suffixes that compilers put on copies and parts of a function. The source knows one name only.
const CLONE_SUFFIXES: [&str; 6] = [".cold", ".part.", ".isra.", ".constprop.", ".lto_priv.", ".llvm."];

/// The source name for a linker name: C++ without parameter lists, Rust without its hash, others as they are.
///
/// Never longer than [`MAX_NAME_BYTES`].
pub fn demangle(raw: &str) -> String {
    let versioned = raw.find('@').filter(|at| *at > 0).map_or(raw, |at| &raw[..at]);
    let end = CLONE_SUFFIXES.iter().filter_map(|s| versioned.find(s)).filter(|at| *at > 0).min();
    let name = end.map_or(versioned, |end| &versioned[..end]);
    let name = shortened(name);
    rust(name).or_else(|| cpp(name)).unwrap_or_else(|| name.to_owned())
}

fn rust(name: &str) -> Option<String> {
    let parsed = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    // The alternate form leaves the hash out. An error means that the limit was reached: what fits is kept.
    let _ = write!(out, "{parsed:#}");
    out.text().map(without_brackets)
}

/// `a::B<C>::new` for `<a::B<C>>::new`, as the second of Rust's manglings (RFC 2603) has functions of types: the first one, and
/// debug information, have them as they are written, and a function is to have one name. `<a::B as c::D>::new` stays as it is.
fn without_brackets(name: String) -> String {
    let Some(inner) = name.strip_prefix('<') else { return name };
    let path = inner.find(['<', '>', ' ']).map_or("", |end| &inner[..end]);
    if !path.contains("::") || inner[path.len()..].starts_with(' ') {
        return name;
    }
    let (mut depth, mut before) = (1, ' ');
    for (at, character) in inner.char_indices() {
        match character {
            '<' => depth += 1,
            // Of a function pointer's arrow.
            '>' if before == '-' => {}
            '>' => depth -= 1,
            _ if depth == 1 && inner[at..].starts_with(" as ") => break,
            _ => {}
        }
        if depth == 0 {
            return format!("{}{}", &inner[..at], &inner[at + 1..]);
        }
        before = character;
    }
    name
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("___Z") {
        return None;
    }
    let limits = ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let parsed = Symbol::new_with_options(name, &limits).ok()?;
    let style = DemangleOptions::new().no_params().no_return_type().recursion_limit(RECURSION_LIMIT);
    let mut out = Bounded::default();
    match parsed.structured_demangle(&mut out, &style) {
        Err(_) if !out.full => None,
        _ => out.text(),
    }
}

/// The longest start of `name` that is within the limit and ends between characters.
pub(crate) fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}

/// Text that stops to grow at the limit, and says so by an error, which ends the demangler's work too.
#[derive(Default)]
struct Bounded {
    out: String,
    full: bool,
}

impl Bounded {
    fn text(self) -> Option<String> {
        (!self.out.is_empty()).then_some(self.out)
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_NAME_BYTES - self.out.len();
        let fits = &text[..text.floor_char_boundary(room)];
        self.out.push_str(fits);
        if fits.len() < text.len() {
            self.full = true;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: &str) {
        assert_eq!(demangle(raw), expected, "{raw}");
    }

    #[test]
    fn source_names_come_back() {
        check("main", "main");
        check("_ZN5cache5Store3putERKSsi", "cache::Store::put");
        check("_ZN12_GLOBAL__N_16workerEPv", "(anonymous namespace)::worker");
        check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
        check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
        check("pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock");
        check("compress_block.constprop.0.isra.0", "compress_block");
        check("_ZN5cache5Store3putERKSsi.cold", "cache::Store::put");
    }

    #[test]
    fn rust_s_functions_of_types_have_one_name() {
        let one = |name: &str| without_brackets(name.to_owned());
        assert_eq!(one("<std::sys::Mutex>::lock_contended"), "std::sys::Mutex::lock_contended");
        assert_eq!(
            one("<alloc::vec::Vec<fn(u8) -> a::B<u8>>>::push"),
            "alloc::vec::Vec<fn(u8) -> a::B<u8>>::push"
        );
        check(
            "_RNvMs_NtNtNtNtCs1234_3std3sys4sync5mutex5futexNtB4_5Mutex14lock_contended",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
        );
        for other in [
            "<a::B as c::D>::new",
            "<a::B<u8> as c::D>::new",
            "<[u8]>::sort",
            "<str>::len",
            "<dyn a::B>::f",
            "<a::B",
            "<",
            "",
        ] {
            assert_eq!(one(other), other);
        }
    }

    #[test]
    fn rubbish_stays_as_it_is() {
        check("", "");
        check("_Z", "_Z");
        check("_ZNNNNN", "_ZNNNNN");
        check("@plt", "@plt");
        check(".cold", ".cold");
    }

    #[test]
    fn expansion_is_bounded() {
        // Each template level doubles the text: 2 to the 60th power if nobody stops it.
        let mut name = String::from("_Z1fI1AIii");
        for _ in 0..60 {
            name.push_str("EIS0_S0_");
        }
        assert!(demangle(&name).len() <= MAX_NAME_BYTES.max(name.len()));
        assert!(demangle(&"x".repeat(100_000)).len() == MAX_NAME_BYTES);
        assert!(demangle(&"é".repeat(100_000)).len() <= MAX_NAME_BYTES);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "(_Z|_R|_ZN)?[A-Za-z0-9_.$@]{0,200}") {
            assert!(demangle(&text).len() <= MAX_NAME_BYTES);
        }
    }
}
