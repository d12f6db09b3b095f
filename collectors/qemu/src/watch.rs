//! What all threads share: the channel, the blocks, and which part of the run is of interest.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use holdup_trace::instructions::{Loss, TABLES};

use crate::accesses::Nature;
use crate::api::Api;
use crate::blocks::Blocks;
use crate::channel::{Channel, Outlet};
use crate::code::Codes;
use crate::edges::MOST_BLOCKS;
use crate::options::{Interest, Options};
use crate::pace::Pace;
use crate::reserved::Reserved;
use crate::thread::{self, Thread};

/// The most accesses of all blocks.
pub(crate) const MOST_ACCESSES: u32 = 1 << 22;

static WATCH: OnceLock<Watch> = OnceLock::new();

/// What all threads share.
pub(crate) struct Watch {
    pub(crate) api: Api,
    pub(crate) options: Options,
    pub(crate) channel: Channel,
    pub(crate) codes: Codes,
    blocks: OnceLock<Mutex<Blocks>>,
    /// Threads that have ended, to be used again, and how many there were.
    idle: Mutex<Vec<&'static mut Thread>>,
    streams: AtomicU32,
    /// There has been a second thread.
    threaded: AtomicBool,
    /// The program's own mark of what is of interest.
    marked: AtomicBool,
    /// Instructions that count, so far.
    counted: AtomicU64,
    /// The memory map may have changed since it was read.
    remapped: AtomicBool,
    /// Keeps threads side by side, if they shall be.
    pub(crate) pace: Option<Pace>,
    /// Something was left out since there was no room for it.
    lacked_room: AtomicBool,
    /// Accesses of all blocks.
    pub(crate) accesses: AtomicU32,
    /// The highest index of a thread so far.
    highest: AtomicU32,
}

/// The one of this process, once there is one.
pub(crate) fn watch() -> Option<&'static Watch> {
    WATCH.get()
}

/// Takes a lock. Nobody panics while holding one.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Begins to watch. Errors are one line.
    pub(crate) fn begin(api: Api, options: Options) -> Result<&'static Watch, String> {
        let no_room = || "there is not enough address space".to_owned();
        let table = Reserved::new(MOST_BLOCKS as usize).ok_or_else(no_room)?;
        let codes = Codes::new(&table);
        if !thread::prepare() {
            return Err(no_room());
        }
        let pace = match options.skew {
            Some(skew) => Some(Pace::new(thread::MOST, skew).ok_or_else(no_room)?),
            None => None,
        };
        let channel = Channel::open(&options.session)?;
        let own = options.own.clone();
        let watch = WATCH.get_or_init(|| Watch {
            api,
            options,
            channel,
            codes,
            blocks: OnceLock::new(),
            idle: Mutex::new(Vec::new()),
            streams: AtomicU32::new(0),
            threaded: AtomicBool::new(false),
            marked: AtomicBool::new(false),
            counted: AtomicU64::new(0),
            remapped: AtomicBool::new(false),
            pace,
            lacked_room: AtomicBool::new(false),
            accesses: AtomicU32::new(0),
            highest: AtomicU32::new(0),
        });
        let tables = Outlet::new(&watch.channel, TABLES);
        watch.blocks.get_or_init(|| Mutex::new(Blocks::new(table, own, tables)));
        Ok(watch)
    }

    /// The blocks. The lock may be taken for good in a child of a fork, which therefore never asks.
    pub(crate) fn blocks(&self) -> Option<MutexGuard<'_, Blocks>> {
        let mut blocks = locked(self.blocks.get()?);
        if self.remapped.swap(false, Ordering::Relaxed) {
            blocks.forget_map();
        }
        Some(blocks)
    }

    /// The memory map may have changed.
    pub(crate) fn remapped(&self) {
        self.remapped.store(true, Ordering::Relaxed);
    }

    /// Is what is executed now of interest?
    pub(crate) fn is_of_interest(&self) -> bool {
        match self.options.interest {
            Interest::All => true,
            Interest::Auto => self.threaded.load(Ordering::Relaxed),
            Interest::Marked => self.marked.load(Ordering::Relaxed),
        }
    }

    /// The program says that the part of interest begins, or ends; false if it said so before.
    pub(crate) fn interest_changes(&self, begins: bool) -> bool {
        self.marked.swap(begins, Ordering::Relaxed) != begins
    }

    /// Adds to the instructions that count.
    pub(crate) fn executed(&self, instructions: u64) {
        self.counted.fetch_add(instructions, Ordering::Relaxed);
        self.channel.executed(instructions);
    }

    /// Which limit was reached.
    pub(crate) fn limited(&self) -> Option<Loss> {
        if self.counted.load(Ordering::Relaxed) >= self.options.instructions {
            Some(Loss::Instructions)
        } else if self.channel.bytes() >= self.options.bytes {
            Some(Loss::Bytes)
        } else {
            None
        }
    }

    /// A block, or its accesses, are left out.
    pub(crate) fn lacks_room(&self) {
        self.lacked_room.store(true, Ordering::Relaxed);
    }

    /// True if something was left out.
    pub(crate) fn lacked_room(&self) -> bool {
        self.lacked_room.load(Ordering::Relaxed)
    }

    /// What the emulator says of an access.
    pub(crate) fn nature(&self, kind: u64) -> Nature {
        // SAFETY: pure functions of a number that QEMU gave us.
        unsafe {
            Nature {
                size: (self.api.access_size)(kind as u32),
                stores: (self.api.access_stores)(kind as u32),
            }
        }
    }

    /// A thread is about to begin; its parent is the caller.
    pub(crate) fn thread_begins(&'static self, index: c_uint) {
        if !self.channel.is_ours() {
            return;
        }
        self.thread_ends(index);
        let stream = self.streams.fetch_add(1, Ordering::Relaxed);
        if stream > 0
            && !self.threaded.swap(true, Ordering::Relaxed)
            && self.options.interest == Interest::Auto
        {
            // The only thread so far is the caller.
            self.each_thread(&mut |thread| thread.cut(self));
        }
        self.highest.fetch_max(index, Ordering::Relaxed);
        let idle = locked(&self.idle).pop();
        let thread = match idle {
            Some(thread) => {
                thread.begin_anew(self, stream);
                thread
            }
            None => match Thread::new(self, stream) {
                Some(thread) => Box::leak(Box::new(thread)),
                None => return,
            },
        };
        thread::replace(index, thread);
        if let Some(pace) = &self.pace {
            pace.begins(index);
        }
    }

    /// A thread has ended, or its index is about to be used again.
    pub(crate) fn thread_ends(&'static self, index: c_uint) {
        // SAFETY: threads in the table are never freed, and who takes one out of it has it alone.
        let Some(thread) = (unsafe { thread::replace(index, std::ptr::null_mut()).as_mut() }) else { return };
        if let Some(pace) = &self.pace {
            pace.ends(index);
        }
        if self.channel.is_ours() {
            thread.cut(self);
            thread.hand_over();
            locked(&self.idle).push(thread);
        }
    }

    /// True if threads that may wait must not hold a buffer meanwhile.
    pub(crate) fn is_short_of_buffers(&self) -> bool {
        self.channel.is_short_for(self.highest.load(Ordering::Relaxed) + 1)
    }

    /// Does something with each thread. None of them may run, but for the caller.
    pub(crate) fn each_thread(&self, take: &mut dyn FnMut(&mut Thread)) {
        for index in 0..=self.highest.load(Ordering::Relaxed) {
            if let Some(thread) = thread::thread(index) {
                take(thread);
            }
        }
    }

    /// The process exits: all that was counted is handed over. Translated code runs no more.
    pub(crate) fn ends(&'static self) {
        if !self.channel.is_ours() {
            return;
        }
        self.each_thread(&mut |thread| {
            if !thread.busy.load(Ordering::Acquire) {
                thread.cut(self);
                thread.hand_over();
            }
        });
        if let Some(mut blocks) = self.blocks() {
            blocks.hand_over();
        }
    }
}
