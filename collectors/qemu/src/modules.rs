//! Which file an address belongs to, and whose code that is.

use crate::code::Role;

/// A file with code, as the memory map shows it: neighbouring mappings of one file that continue each other are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    pub(crate) path: Vec<u8>,
}

/// Understands a line of `/proc/self/maps`; `None` if it is not the mapping of a file.
fn mapping(line: &[u8]) -> Option<Module> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let hexadecimal = |text: &[u8]| u64::from_str_radix(str::from_utf8(text).ok()?, 16).ok();
    let range = fields.next()?;
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let (start, end) = (hexadecimal(&range[..dash])?, hexadecimal(&range[dash + 1..])?);
    let offset = hexadecimal(fields.nth(1)?)?;
    let path = fields.nth(2)?.trim_ascii_start();
    (path.starts_with(b"/") || path == b"[vdso]").then(|| Module { start, end, offset, path: path.to_vec() })
}

/// All modules of a memory map, by address.
pub(crate) fn modules(map: &[u8]) -> Vec<Module> {
    let mut found: Vec<Module> = Vec::new();
    for module in map.split(|byte| *byte == b'\n').filter_map(mapping) {
        match found.last_mut() {
            Some(last)
                if last.path == module.path
                    && last.end == module.start
                    && last.offset + (last.end - last.start) == module.offset =>
            {
                last.end = module.end;
            }
            _ => found.push(module),
        }
    }
    found
}

/// Whose code a file holds. `program` is the executable; `own` are beginnings of paths that the user calls his own.
pub(crate) fn role(path: &[u8], program: &[u8], own: &[String]) -> Role {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let named = |names: &[&str]| names.iter().any(|wanted| is_library(name, wanted));
    if named(&["ld", "ld-linux-x86-64", "ld-musl-x86_64"]) && path != program {
        return Role::Linker;
    }
    if path == b"[vdso]" || name.starts_with(b"libholdup") || named(&["libgomp", "libomp", "libiomp5"]) {
        return Role::Runtime;
    }
    if path == program || own.iter().any(|own| path.starts_with(own.as_bytes())) {
        return Role::Own;
    }
    if is_of_the_language(path) || is_of_the_system(path) { Role::Library } else { Role::Own }
}

/// True for the libraries of C and C++, wherever they are.
pub(crate) fn is_of_the_language(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    ["libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libstdc++", "libgcc_s", "libc++"]
        .into_iter()
        .any(|wanted| is_library(name, wanted))
}

/// True if `name` is `wanted` with whatever versions are written behind it: `libc.so.6`, `libc-2.31.so`,
/// `libgomp-24e2ab19.so.1`.
fn is_library(name: &[u8], wanted: &str) -> bool {
    name.strip_prefix(wanted.as_bytes()).is_some_and(|rest| {
        rest.starts_with(b".so") || rest.starts_with(b"-") && rest.windows(3).any(|part| part == b".so")
    })
}

/// True for where distributions put their libraries. What is in `/usr/local`, `/opt` or a home came with the program.
fn is_of_the_system(path: &[u8]) -> bool {
    let below = |folder: &str| path.starts_with(folder.as_bytes());
    ["/lib/", "/lib32/", "/lib64/", "/libx32/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/", "/usr/libexec/"]
        .into_iter()
        .any(below)
        // Nix and Guix have a folder for each package.
        || ["/nix/store/", "/gnu/store/"].into_iter().any(below) && path.windows(5).any(|part| part == b"/lib/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_one_file_are_put_together_where_they_continue() {
        let map = b"00400000-00401000 r--p 00000000 08:01 11 /srv/me/my app\n\
            00401000-00403000 r--p 00001000 08:01 11                         /srv/me/my app\n\
            00404000-00405000 rw-p 00002000 08:01 11 /srv/me/my app\n\
            01000000-01021000 rw-p 00000000 00:00 0                          [heap]\n\
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
            nonsense\n\
            7fff00000000-7fff00002000 r-xp 00000000 00:00 0                  [vdso]\n";
        let found = modules(map);
        let path = b"/srv/me/my app".to_vec();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], Module { start: 0x40_0000, end: 0x40_3000, offset: 0, path: path.clone() });
        assert_eq!(found[1], Module { start: 0x40_4000, end: 0x40_5000, offset: 0x2000, path });
        assert_eq!(found[2].path, b"[vdso]");
    }

    #[test]
    fn classes_are_by_place_and_name() {
        let own = ["/usr/lib/x86_64-linux-gnu/liblzma".to_owned()];
        for (path, expected) in [
            ("/usr/bin/xz", Role::Own),
            ("/usr/lib/x86_64-linux-gnu/liblzma.so.5.4.1", Role::Own),
            ("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", Role::Library),
            ("/lib64/libm-2.31.so", Role::Library),
            ("/nix/store/0abc-zlib-1.3/lib/libz.so.1", Role::Library),
            ("/nix/store/0abc-app/bin/app", Role::Own),
            ("/opt/conda/lib/libc.so.6", Role::Library),
            ("/opt/app/libfast.so", Role::Own),
            ("/usr/local/lib/libmine.so", Role::Own),
            ("/opt/app/libgomp-24e2ab19.so.1.0.0", Role::Runtime),
            ("/usr/lib/llvm-19/lib/libomp.so.5", Role::Runtime),
            ("/run/user/0/holdup/libholdup-0123.so", Role::Runtime),
            ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", Role::Linker),
            ("/lib/ld-2.31.so", Role::Linker),
            ("/srv/me/ld-analysis", Role::Own),
            ("[vdso]", Role::Runtime),
        ] {
            assert_eq!(role(path.as_bytes(), b"/usr/bin/xz", &own), expected, "{path}");
        }
    }
}
