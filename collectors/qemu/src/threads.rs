//! All threads of the program: where to find each, and what happens when one begins or ends.

use std::ffi::c_uint;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::reserved::{NO_ROOM, Reserved};
use crate::thread::Thread;
use crate::watch::{MOST_THREADS, Watch, locked};

/// The threads by the emulator's index of them. It uses an index again when a thread has ended.
static THREADS: AtomicPtr<AtomicPtr<Thread>> = AtomicPtr::new(std::ptr::null_mut());
/// The highest index of a thread so far.
static HIGHEST: AtomicU32 = AtomicU32::new(0);
/// Threads that have ended, to be used again.
static IDLE: Mutex<Vec<&'static mut Thread>> = Mutex::new(Vec::new());
/// How many there were.
static STREAMS: AtomicU32 = AtomicU32::new(0);

/// Makes room for threads.
pub(crate) fn prepare() -> Result<(), String> {
    let table = Reserved::<AtomicPtr<Thread>>::new(MOST_THREADS).ok_or(NO_ROOM)?;
    THREADS.store(table.base(), Ordering::Relaxed);
    std::mem::forget(table);
    Ok(())
}

fn place(index: c_uint) -> &'static AtomicPtr<Thread> {
    // SAFETY: `prepare` was called before any callback was registered, and indices are below the kernel's limit of
    // threads. The table stays for good.
    unsafe { &*THREADS.load(Ordering::Relaxed).add(index as usize) }
}

/// The thread with this index.
#[inline(always)]
pub(crate) fn thread<'a>(index: c_uint) -> Option<&'a mut Thread> {
    // SAFETY: what the table holds stays for good, and is used by the thread itself only, but for two times when it
    // cannot run: before it begins, and when the process exits.
    unsafe { place(index).load(Ordering::Relaxed).as_mut() }
}

/// Puts a thread there, or nobody; gives who was there.
fn replace(index: c_uint, thread: *mut Thread) -> *mut Thread {
    place(index).swap(thread, Ordering::AcqRel)
}

/// A thread is about to begin; its parent is the caller.
pub(crate) fn begins(watch: &'static Watch, index: c_uint) {
    if !watch.channel.is_ours() {
        return;
    }
    ends(watch, index);
    let stream = STREAMS.fetch_add(1, Ordering::Relaxed);
    if stream > 0 && watch.becomes_threaded() {
        // The only thread so far is the caller.
        each(&mut |thread| thread.cut(watch));
    }
    HIGHEST.fetch_max(index, Ordering::Relaxed);
    let idle = locked(&IDLE).pop();
    let thread = match idle {
        Some(thread) => {
            thread.begin_anew(watch, stream);
            thread
        }
        None => match Thread::new(watch, stream) {
            Some(thread) => Box::leak(Box::new(thread)),
            None => return,
        },
    };
    replace(index, thread);
    watch.meets.begins(index);
    if let Some(pace) = &watch.pace {
        pace.begins(index);
    }
}

/// A thread has ended, or its index is about to be used again.
pub(crate) fn ends(watch: &'static Watch, index: c_uint) {
    // SAFETY: threads in the table are never freed, and who takes one out of it has it alone.
    let Some(thread) = (unsafe { replace(index, std::ptr::null_mut()).as_mut() }) else { return };
    if let Some(pace) = &watch.pace {
        pace.ends(index);
    }
    if watch.channel.is_ours() {
        thread.cut(watch);
        thread.hand_over();
        locked(&IDLE).push(thread);
    }
}

/// True if threads that may wait must not hold a buffer meanwhile.
pub(crate) fn are_short_of_buffers(watch: &Watch) -> bool {
    watch.channel.is_short_for(HIGHEST.load(Ordering::Relaxed) + 1)
}

/// Does something with each thread. None of them may run, but for the caller.
fn each(take: &mut dyn FnMut(&mut Thread)) {
    for index in 0..=HIGHEST.load(Ordering::Relaxed) {
        if let Some(thread) = thread(index) {
            take(thread);
        }
    }
}

/// The process exits: all that was counted is handed over. Translated code runs no more.
pub(crate) fn all_end(watch: &'static Watch) {
    if !watch.channel.is_ours() {
        return;
    }
    each(&mut |thread| {
        if !thread.busy.load(Ordering::Acquire) {
            thread.cut(watch);
            thread.hand_over();
        }
    });
    if let Some(mut blocks) = watch.blocks() {
        blocks.hand_over();
    }
}
