//! Which tables are the calling thread's, and whether all is told of what it is in.

use crate::mapping::file;
use crate::thread::openmp::{Standing, Sum, Tables};
use crate::{Recorder, enter, life, thread};

/// Threads alive at one time of which OpenMP's constructs are told: those in the first slots.
const THREADS: usize = 1024;

// SAFETY: zero is a valid value of all fields, which are integers, booleans, and cells and atomics of these.
static TABLES: [Tables; THREADS] = [const { unsafe { core::mem::zeroed() } }; THREADS];

/// True if the calling thread is in an instance of which all is told. What happens in others need not be said.
#[inline(always)]
pub fn is_whole() -> bool {
    thread::this().openmp.whole.get() != 0
}

/// The right to record, if the thread is in a whole instance: the child of a fork is in none any more.
#[inline]
pub(crate) fn enter_whole() -> Option<Recorder> {
    enter().filter(|recorder| recorder.thread().openmp.whole.get() != 0)
}

impl Standing {
    /// The thread's tables; `None` if it does not record.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Option<&'static Tables> {
        if !life::recording() {
            return None;
        }
        let tables = self.tables.get();
        // SAFETY: a table of a static.
        if tables.is_null() { self.find_tables() } else { Some(unsafe { &*tables }) }
    }

    #[cold]
    #[inline(never)]
    fn find_tables(&self) -> Option<&'static Tables> {
        let recorder = enter()?;
        let index = file().slot_index(recorder.slot()) as usize;
        let tables = TABLES.get(index)?;
        tables.owner.set(0);
        tables.sums.iter().for_each(Sum::clear);
        self.tables.set(tables);
        Some(tables)
    }
}
