//! System calls that have no safe wrapper elsewhere.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use perf_event_open_sys as sys;

use crate::attributes::{Attributes, Target};
use crate::ids::{Cpu, Pid};
use crate::system::System;

/// The kernel that runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl System for Linux {
    fn open(&self, attributes: &Attributes, target: Target, cpu: Cpu) -> io::Result<OwnedFd> {
        let cpu = i32::try_from(cpu.0).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        open(attributes.raw(), target.number(), cpu)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(format!("/{path}"))
    }

    fn link(&self, path: &str) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/{path}"))
    }
}

/// Opens an event, of a thread (0 for the calling one, -1 for all) on a processor (-1 for any).
pub(crate) fn open(mut raw: sys::bindings::perf_event_attr, thread: i32, cpu: i32) -> io::Result<OwnedFd> {
    let flags = libc::c_ulong::from(sys::bindings::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: `raw` is a whole attribute structure that says its own size and outlives the call.
    let fd = unsafe { sys::perf_event_open(&mut raw, thread, cpu, -1, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An event that may or may not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// A thread's own CPU time.
    CpuTime,
    /// Context switches.
    Switches,
    /// Cycles, a hardware counter.
    Cycles,
}

/// Tries to open an event on the calling thread, user space only.
///
/// # Errors
/// Those of `perf_event_open`.
pub fn opens(trial: Trial) -> io::Result<()> {
    let (kind, config) = match trial {
        Trial::CpuTime => (sys::bindings::PERF_TYPE_SOFTWARE, sys::bindings::PERF_COUNT_SW_TASK_CLOCK),
        Trial::Switches => (sys::bindings::PERF_TYPE_SOFTWARE, sys::bindings::PERF_COUNT_SW_DUMMY),
        Trial::Cycles => (sys::bindings::PERF_TYPE_HARDWARE, sys::bindings::PERF_COUNT_HW_CPU_CYCLES),
    };
    let mut raw = sys::bindings::perf_event_attr::default();
    raw.size = size_of::<sys::bindings::perf_event_attr>() as u32;
    raw.type_ = kind;
    raw.config = config.into();
    raw.set_exclude_kernel(1);
    raw.set_exclude_hv(1);
    raw.set_context_switch(u64::from(trial == Trial::Switches));
    open(raw, 0, -1).map(drop)
}

/// Switches an event on or off, with all that inherited it.
pub(crate) fn switch(event: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    // SAFETY: both take a number, and the descriptor is open.
    checked(unsafe {
        if on {
            sys::ioctls::ENABLE(event.as_raw_fd(), 0)
        } else {
            sys::ioctls::DISABLE(event.as_raw_fd(), 0)
        }
    })
}

/// Makes an event write into another one's ring.
pub(crate) fn redirect(event: BorrowedFd<'_>, ring: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open.
    checked(unsafe { sys::ioctls::SET_OUTPUT(event.as_raw_fd(), ring.as_raw_fd()) })
}

/// The number by which records name an event.
pub(crate) fn identifier(event: BorrowedFd<'_>) -> io::Result<u64> {
    let mut id = 0;
    // SAFETY: the kernel writes 8 bytes to where `id` is.
    checked(unsafe { sys::ioctls::ID(event.as_raw_fd(), &mut id) })?;
    Ok(id)
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Copies another process's memory from `address` up, page by page, until `into` is full or a page cannot be read.
/// How many bytes that is; an error if the first page cannot be read.
pub(crate) fn read_memory(pid: Pid, address: u64, into: &mut [u8]) -> io::Result<usize> {
    /// More than 63 pages of 4 KiB are not asked for at once.
    const PIECES: usize = 64;
    let page = rustix::param::page_size();
    let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
    let mut asked = 0;
    let mut count = 0;
    for piece in &mut pieces {
        let at = usize::try_from(address).ok().and_then(|start| start.checked_add(asked));
        let (Some(at), true) = (at, asked < into.len()) else { break };
        // A transfer ends between pieces, so a piece must end with its page.
        let len = (page - at % page).min(into.len() - asked);
        *piece = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: len };
        asked += len;
        count += 1;
    }
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: asked };
    let pid = i32::try_from(pid.0).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: the local piece is `into`, of which at most its length is written; the remote ones are only looked up in
    // the other process.
    let read = unsafe { libc::process_vm_readv(pid, &local, 1, pieces.as_ptr(), count, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}
