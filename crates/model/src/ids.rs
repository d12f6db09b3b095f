//! Indices into the tables of a [`crate::Process`], one type each.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(u32);

        impl $name {
            /// The id of the row at `index` of its table.
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The position in its table.
            pub const fn index(self) -> usize {
                self.0 as usize
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
