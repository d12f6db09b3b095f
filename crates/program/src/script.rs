//! Scripts: the `#!` line, read as the kernel reads it.

use core::ffi::CStr;
use core::fmt;

/// How many interpreters deep the kernel follows scripts (`exec_binprm` in fs/exec.c: "about 4 levels",
/// after which execve gives ELOOP).
pub const SCRIPT_DEPTH: usize = 5;

/// How much of a file the kernel looks at to tell what it is (`BINPRM_BUF_SIZE`).
pub(crate) const HEAD: usize = 256;

/// The path of a script's interpreter: at most 253 bytes, without NUL, relative to the current directory
/// if it has no leading slash (the kernel does not search PATH).
#[derive(Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The path, then zeros, at least one.
    bytes: [u8; HEAD],
    len: usize,
}

impl Interpreter {
    /// The path's bytes.
    pub fn path(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The path as C functions want it.
    pub fn c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Interpreter(\"{}\")", self.path().escape_ascii())
    }
}

/// The interpreter that a file's first bytes name; `None` where execve would give ENOEXEC.
///
/// `head` is the file's first 256 bytes, or all of a shorter file. The rules are those of
/// `load_script` in fs/binfmt_script.c since Linux 5.4: spaces and tabs around the path are skipped; the path
/// ends at a space, tab, NUL or newline; without a newline in the first 256 bytes, a path that reaches byte
/// 255 is taken as cut off and refused.
pub(crate) fn interpreter(head: &[u8]) -> Option<Interpreter> {
    let mut buf = [0; HEAD];
    for (slot, &byte) in buf.iter_mut().zip(head) {
        *slot = byte;
    }
    let line = buf.strip_prefix(b"#!")?;
    let (line, whole) = match line.iter().position(|&byte| byte == b'\n') {
        Some(end) => (line.get(..end)?, true),
        None => (line.get(..line.len().checked_sub(1)?)?, false),
    };
    let start = line.iter().position(|&byte| !is_blank(byte))?;
    let line = line.get(start..)?;
    let len = match line.iter().position(|&byte| is_blank(byte) || byte == 0) {
        Some(end) => end,
        None if whole => line.len(),
        None => return None,
    };
    let path = line.get(..len).filter(|path| !path.is_empty())?;
    let mut bytes = [0; HEAD];
    bytes.get_mut(..len)?.copy_from_slice(path);
    Some(Interpreter { bytes, len })
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &[u8], expected: Option<&[u8]>) {
        let found = interpreter(head);
        assert_eq!(found.as_ref().map(Interpreter::path), expected, "{}", head.escape_ascii());
        if let Some(found) = found {
            assert_eq!(found.c_str().to_bytes(), found.path());
        }
    }

    #[test]
    fn the_path_ends_at_blank_nul_or_newline() {
        check(b"#!/bin/sh\n", Some(b"/bin/sh"));
        check(b"#! \t /usr/bin/env  python3 -u \nrest", Some(b"/usr/bin/env"));
        check(b"#!/bin/sh\0x\n", Some(b"/bin/sh"));
        check(b"#!sh", Some(b"sh"));
        check(b"#!/bin/sh\r\n", Some(b"/bin/sh\r"));
    }

    #[test]
    fn no_path_is_no_script() {
        for head in [b"".as_slice(), b"#", b"#!", b"#!\n/bin/sh\n", b"#!  \t\n", b"# !/bin/sh\n", b"#!\0sh\n"]
        {
            check(head, None);
        }
    }

    #[test]
    fn a_path_longer_than_the_kernels_buffer_is_refused() {
        let mut long = [b'x'; 300];
        long[..3].copy_from_slice(b"#!/");
        check(&long[..256], None);
        let mut fits = long;
        fits[255] = b'\n';
        check(&fits[..256], Some(&fits[2..255]));
        let mut argument = long;
        argument[254] = b' ';
        check(&argument[..256], Some(&argument[2..254]));
    }

    #[test]
    fn an_argument_may_be_cut_off() {
        let mut line = [b'a'; 256];
        line[..10].copy_from_slice(b"#!/bin/sh ");
        check(&line, Some(b"/bin/sh"));
    }
}
