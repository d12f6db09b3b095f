//! When who steals is to work.

/// Follows the profiled thread. Stealing begins and ends with its stretches.
pub trait Gate {
    /// Sleeps until the profiled thread wants to run; false: the run is over.
    fn wait_wanted(&self) -> bool;

    /// Told when stealing has begun (the working set is warm): the profiled thread may go.
    fn ready(&self);

    /// Polled every few microseconds: the profiled thread still runs alone.
    fn still(&self) -> bool;
}

impl<G: Gate + ?Sized> Gate for &G {
    fn wait_wanted(&self) -> bool {
        (**self).wait_wanted()
    }

    fn ready(&self) {
        (**self).ready();
    }

    fn still(&self) -> bool {
        (**self).still()
    }
}
