//! System calls: marks of the injected library, and those that begin or end something.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering;

use holdup_trace::instructions::{MARK_CALL, MARK_FIELDS, MarkCode, VERSION};

use crate::thread::Thread;
use crate::threads::{self, thread};
use crate::watch::{Watch, watch};

/// The program, or a hook in it, says that the part of interest begins, or ends: a mark if that is new.
pub(crate) fn interest_changes(
    watch: &'static Watch,
    thread: &mut Thread,
    begins: bool,
    fields: [u64; MARK_FIELDS],
) {
    if watch.channel.is_ours() && watch.interest_changes(begins) {
        thread.cut(watch);
        thread.mark(if begins { MarkCode::InterestBegin } else { MarkCode::InterestEnd }, fields);
    }
}

/// The program calls the kernel, or tells a mark.
pub(crate) extern "C" fn calls(
    _: u64,
    index: c_uint,
    number: i64,
    first: u64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    _: u64,
    _: u64,
) {
    let Some((watch, thread)) = watch().zip(thread(index)) else { return };
    if !watch.channel.is_ours() {
        return;
    }
    thread.busy.store(true, Ordering::Release);
    if number == MARK_CALL as i64 {
        if let Some(code) = MarkCode::from_code(first) {
            mark(watch, thread, code, [a, b, c, d, e]);
            if let Some(pace) = &watch.pace {
                match code {
                    MarkCode::WaitBegin => pace.waits(index, true),
                    MarkCode::WaitEnd => pace.waits(index, false),
                    MarkCode::SyncBegin => pace.nests(index, true),
                    MarkCode::ShareBegin | MarkCode::TaskBegin => pace.nests(index, false),
                    MarkCode::ShareEnd => pace.arrives(index),
                    MarkCode::SyncEnd | MarkCode::TaskEnd | MarkCode::RegionEnd => pace.unnests(index),
                    _ => {}
                }
            }
        }
    } else {
        if let Some(pace) = &watch.pace {
            pace.calls(index);
        }
        if threads::are_short_of_buffers(watch) {
            thread.hand_over();
        }
        system_call(watch, thread, index, number, first, a);
    }
    thread.busy.store(false, Ordering::Release);
}

fn mark(watch: &'static Watch, thread: &mut Thread, code: MarkCode, fields: [u64; MARK_FIELDS]) {
    match code {
        MarkCode::Hello => {
            acknowledge(fields[0]);
            watch.meets.library_is_there();
            return;
        }
        MarkCode::InterestBegin | MarkCode::InterestEnd => {
            interest_changes(watch, thread, code == MarkCode::InterestBegin, fields);
            return;
        }
        _ => {}
    }
    thread.settle();
    match code {
        MarkCode::WaitEnd => thread.wait_ends(),
        MarkCode::TaskEnd => thread.task_ends(),
        _ => {}
    }
    if code.cuts(fields[1]) {
        thread.cut(watch);
    }
    thread.mark(code, fields);
    match code {
        MarkCode::ThreadBegin => {
            if let Some(mut blocks) = watch.blocks() {
                blocks.begins_thread(fields[2]);
            }
        }
        MarkCode::WaitBegin => thread.wait_begins(),
        MarkCode::TaskBegin => thread.task_begins(),
        MarkCode::ThreadEnd => thread.hand_over(),
        _ => {}
    }
}

/// Answers [`MarkCode::Hello`]: writes to the program's memory, which need not be there.
fn acknowledge(address: u64) {
    let version = VERSION.to_le_bytes();
    let from = libc::iovec { iov_base: version.as_ptr().cast_mut().cast(), iov_len: version.len() };
    let to = libc::iovec { iov_base: address as *mut c_void, iov_len: version.len() };
    // SAFETY: the kernel checks the other address; ours is good.
    unsafe { libc::process_vm_writev(std::process::id() as i32, &from, 1, &to, 1, 0) };
}

fn system_call(
    watch: &'static Watch,
    thread: &mut Thread,
    index: c_uint,
    number: i64,
    first: u64,
    second: u64,
) {
    match number {
        libc::SYS_exit => threads::ends(watch, index),
        libc::SYS_exit_group => {
            thread.cut(watch);
            thread.hand_over();
        }
        libc::SYS_execve | libc::SYS_execveat => {
            thread.cut(watch);
            thread.leaves(number as u64);
            thread.hand_over();
        }
        libc::SYS_fork | libc::SYS_vfork => thread.forks(number as u64),
        libc::SYS_clone if first & libc::CLONE_VM as u64 == 0 || first & libc::CLONE_VFORK as u64 != 0 => {
            thread.forks(number as u64);
        }
        libc::SYS_rt_sigreturn => thread.counter.jumps(),
        // A signal to itself may be the end, of which we do not hear.
        libc::SYS_kill | libc::SYS_tgkill if first == u64::from(std::process::id()) && second != 0 => {
            thread.cut(watch);
        }
        _ => {}
    }
}

/// The kernel has answered.
pub(crate) extern "C" fn returns(_: u64, index: c_uint, number: i64, _: i64) {
    let Some(watch) = watch() else { return };
    if matches!(number, libc::SYS_mmap | libc::SYS_munmap | libc::SYS_mremap | libc::SYS_mprotect) {
        watch.remapped();
    }
    if let Some(pace) = &watch.pace {
        pace.returns(index);
    }
}
