//! What descriptors lead to, as the kernel says it.

use core::ffi::{CStr, c_int};

use crate::arch::{number, system_call};

/// What the kernel says of a file.
#[derive(Clone, Copy, Default)]
struct Facts {
    device: u64,
    inode: u64,
    mode: u64,
}

const KIND: u64 = 0o170000;
const CHARACTERS: u64 = 0o020000;
const PIPE: u64 = 0o010000;
const SOCKET: u64 = 0o140000;

/// `file` is a descriptor or the address of a path.
fn facts(call: usize, file: usize) -> Option<Facts> {
    // Words of the kernel's `struct stat`, which begins with device, inode and, in the low half of the fourth word on
    // x86-64, the mode (`asm/stat.h`).
    let mut status = [0u64; 18];
    // SAFETY: a buffer of the size of the kernel's structure.
    let result = unsafe { system_call(call, [file, status.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    (result == 0).then_some(Facts { device: status[0], inode: status[1], mode: status[3] })
}

impl Facts {
    /// A number that is this file's alone, or nearly so.
    fn identity(self) -> u64 {
        self.device.rotate_left(40) ^ self.inode
    }
}

/// True for pipes, sockets and terminals.
pub(crate) fn is_a_channel(descriptor: u32) -> bool {
    facts(number::FSTAT, descriptor as usize)
        .is_some_and(|facts| matches!(facts.mode & KIND, CHARACTERS | PIPE | SOCKET))
}

/// The end of a pipe, or a socket: whichever process has a descriptor of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    /// What both ends of a pipe have in common; a socket has its own.
    pub(crate) identity: u64,
    pub(crate) can_be_read: bool,
    pub(crate) can_be_written: bool,
}

/// None for what is neither.
pub(crate) fn end_of(descriptor: u32) -> Option<End> {
    const GET_FLAGS: usize = 3;
    let facts = facts(number::FSTAT, descriptor as usize)
        .filter(|facts| matches!(facts.mode & KIND, PIPE | SOCKET))?;
    // SAFETY: the call only tells.
    let flags = unsafe { system_call(number::FCNTL, [descriptor as usize, GET_FLAGS, 0, 0, 0, 0]) };
    let access = flags & 3;
    Some(End { identity: facts.identity(), can_be_read: access != 1, can_be_written: access != 0 })
}

/// Which of the first 64 descriptors are open, as bits: one call, where to ask for each takes ten times as long.
pub(crate) fn open() -> u64 {
    /// The kernel's `struct pollfd`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Polled {
        descriptor: c_int,
        wanted: i16,
        got: i16,
    }
    const NOT_OPEN: i16 = 0x20;
    let mut polled = [Polled { descriptor: 0, wanted: 0, got: NOT_OPEN }; 64];
    for (one, descriptor) in polled.iter_mut().zip(0..) {
        one.descriptor = descriptor;
    }
    // SAFETY: so many of the kernel's structures, which it fills in; it does not wait.
    let result =
        unsafe { system_call(number::POLL, [polled.as_mut_ptr() as usize, polled.len(), 0, 0, 0, 0]) };
    let is_open = |one: &Polled| result >= 0 && one.got & NOT_OPEN == 0;
    polled.iter().rev().fold(0, |bits, one| bits << 1 | u64::from(is_open(one)))
}

/// What tells the program that this process executes from others; 0 where it cannot be known.
pub(crate) fn program() -> u64 {
    const OWN: &CStr = c"/proc/self/exe";
    facts(number::STAT, OWN.as_ptr() as usize).map_or(0, Facts::identity)
}

/// The kernel's `struct user_msghdr`.
#[repr(C)]
pub(crate) struct Message {
    name: usize,
    name_length: u32,
    parts: usize,
    count: usize,
    /// What was sent with it: heads, each with what belongs to it behind it.
    control: *const ControlHead,
    control_length: usize,
    flags: u32,
}

/// The kernel's `struct cmsghdr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ControlHead {
    /// With what is behind it.
    length: usize,
    level: c_int,
    kind: c_int,
}

/// The descriptors that were sent with a message.
///
/// # Safety
/// The message was received as it is.
pub(crate) unsafe fn sent_with(message: *const Message) -> impl Iterator<Item = u32> {
    const SOCKET: c_int = 1;
    const RIGHTS: c_int = 1;
    const HEAD: usize = size_of::<ControlHead>();
    const EACH: usize = size_of::<c_int>();
    // SAFETY: the caller's promise.
    let message = unsafe { &*message };
    let (control, length) = (message.control.cast::<u8>(), message.control_length);
    let mut at = 0;
    let heads = core::iter::from_fn(move || {
        if control.is_null() || length.saturating_sub(at) < HEAD {
            return None;
        }
        // SAFETY: a whole head lies within what the kernel wrote.
        let head = unsafe { control.add(at).cast::<ControlHead>().read_unaligned() };
        let (first, of_it) = (at + HEAD, head.length.clamp(HEAD, length - at) - HEAD);
        at = (first + of_it).next_multiple_of(size_of::<usize>());
        let count = if (head.level, head.kind) == (SOCKET, RIGHTS) { of_it / EACH } else { 0 };
        Some((first, count))
    });
    heads.flat_map(move |(first, count)| {
        // SAFETY: as above.
        (0..count)
            .map(move |index| unsafe { control.add(first + index * EACH).cast::<u32>().read_unaligned() })
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn of_what_comes_with_a_message_only_descriptors_are_taken() {
        let words = |level: u64, kind: u64| level | kind << 32;
        // Two descriptors, the sender's identity (which is none), and one more; each head is a length and two words of 32 bits.
        let control: [u64; 10] = [24, words(1, 1), 5 | 6 << 32, 28, words(1, 2), 77, 77, 20, words(1, 1), 9];
        let sent = |control: &[u64], length: usize| -> Vec<u32> {
            let message = Message {
                name: 0,
                name_length: 0,
                parts: 0,
                count: 0,
                control: control.as_ptr().cast(),
                control_length: length,
                flags: 0,
            };
            // SAFETY: the control data is there, and no shorter.
            unsafe { sent_with(&message) }.collect()
        };
        assert_eq!(sent(&control, 80), [5, 6, 9]);
        assert_eq!(sent(&control, 20), [5], "what there was no room for has not come");
        assert_eq!(sent(&control, 0), []);
        assert_eq!(sent(&[u64::MAX, words(1, 1), 5, 6], 32), [5, 0, 6, 0], "no further than the message");
        assert_eq!(sent(&[0, words(1, 1), 5], 24), [], "a head that is none");
    }
}
