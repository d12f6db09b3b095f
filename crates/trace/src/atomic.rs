//! What threads and processes share is made of: the processor's atomics, or, where `--cfg loom` asks for it, those of `loom`,
//! which tries all orders that the language allows (`loom_tests`).

#[cfg(not(loom))]
pub use core::hint::spin_loop;
#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub use loom::hint::spin_loop;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
