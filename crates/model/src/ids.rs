//! Indices into the tables of a [`crate::Process`], one type each. An `Option` of one takes no more room than it does: there
//! are several for each wait.

use std::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of the row at `index` of its table. No table has as many rows as there are numbers: the last is
            /// taken for the one before.
            pub const fn new(index: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(index))
            }

            /// The position in its table.
            pub const fn index(self) -> usize {
                (self.0.get() - 1) as usize
            }
        }
    };
}

id! {
    /// A thread of one process, by the order in which the threads started; never a kernel tid, which may be reused.
    ThreadId
}
id! {
    /// A synchronization object of one process: a mutex, a barrier, the end of a thread.
    ObjectId
}
id! {
    /// A place in the code: a call stack of one process.
    SiteId
}
