//! What all threads share: the channel, the blocks, and which part of the run is of interest.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use holdup_trace::instructions::{Loss, TABLES};

use crate::accesses::Nature;
use crate::api::Api;
use crate::blocks::Blocks;
use crate::channel::{Channel, Outlet};
use crate::code::Codes;
use crate::edges::MOST_BLOCKS;
use crate::meets::Meets;
use crate::options::{Interest, Mode, Options};
use crate::pace::Pace;
use crate::reserved::{NO_ROOM, Reserved};
use crate::warm::Pages;

/// The most threads at one time: the kernel's own limit.
pub(crate) const MOST_THREADS: usize = 1 << 22;
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
    /// There has been a second thread.
    threaded: AtomicBool,
    /// The program's own mark of what is of interest.
    marked: AtomicBool,
    /// Instructions that count, so far.
    counted: AtomicU64,
    /// The memory map may have changed since it was read.
    remapped: AtomicBool,
    /// Functions that may be barriers.
    pub(crate) meets: Meets,
    /// Keeps threads side by side, if they shall be.
    pub(crate) pace: Option<Pace>,
    /// Something was left out since there was no room for it.
    lacked_room: AtomicBool,
    /// Accesses of all blocks.
    pub(crate) accesses: AtomicU32,
    /// Pages that were touched before the part of interest; none where that is not wanted.
    pub(crate) pages: Option<Pages>,
}

/// The one of this process, once there is one.
pub(crate) fn watch() -> Option<&'static Watch> {
    WATCH.get()
}

/// Takes a lock. Nobody panics while holding one.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Begins to watch. Errors are one line.
    pub(crate) fn begin(api: Api, options: Options) -> Result<&'static Watch, String> {
        let no_room = || NO_ROOM.to_owned();
        let table = Reserved::new(MOST_BLOCKS as usize).ok_or_else(no_room)?;
        let codes = Codes::new(&table);
        let pace = match options.skew {
            Some(skew) => Some(Pace::new(MOST_THREADS, skew).ok_or_else(no_room)?),
            None => None,
        };
        let channel = Channel::open(&options.session)?;
        let own = options.own.clone();
        let meets = Meets::of(&options.meets);
        let is_warmed = options.mode == Mode::Stream && options.interest != Interest::All;
        let watch = WATCH.get_or_init(|| Watch {
            api,
            options,
            channel,
            codes,
            blocks: OnceLock::new(),
            threaded: AtomicBool::new(false),
            marked: AtomicBool::new(false),
            counted: AtomicU64::new(0),
            remapped: AtomicBool::new(false),
            meets,
            pace,
            lacked_room: AtomicBool::new(false),
            accesses: AtomicU32::new(0),
            // Without address space for them, caches are cold.
            pages: is_warmed.then(Pages::new).flatten(),
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

    /// There is more than one thread from now on; true if what is executed becomes of interest by that.
    pub(crate) fn becomes_threaded(&self) -> bool {
        !self.threaded.swap(true, Ordering::Relaxed) && self.options.interest == Interest::Auto
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
}
