//! What descriptors lead to, as the kernel says it.

use crate::arch::{number, system_call};

/// True for pipes, sockets and terminals.
pub(crate) fn is_a_channel(descriptor: u32) -> bool {
    // Words of the kernel's `struct stat`, which begins with device, inode and, in the low half of the fourth word on
    // x86-64, the mode (`asm/stat.h`).
    let mut status = [0u64; 18];
    // SAFETY: a buffer of the size of the kernel's structure.
    let result = unsafe {
        system_call(number::FSTAT, [descriptor as usize, status.as_mut_ptr() as usize, 0, 0, 0, 0])
    };
    const KIND: u64 = 0o170000;
    const CHARACTERS: u64 = 0o020000;
    const PIPE: u64 = 0o010000;
    const SOCKET: u64 = 0o140000;
    result == 0 && matches!(status[3] & KIND, CHARACTERS | PIPE | SOCKET)
}
