//! Spans of time that end when their guard is dropped.

use std::ffi::CStr;
use std::marker::PhantomData;

use crate::calls::{REGION_BEGIN, REGION_END, SPIN_BEGIN, SPIN_END, WORK_BEGIN, WORK_END};

/// Ties a guard to the thread that made it: the end is told by the thread that drops it.
type OfThisThread = PhantomData<*const ()>;

/// The part of the run that is of interest, for the whole process. Ends when it is dropped, on any thread.
#[derive(Debug)]
#[must_use = "the region ends when this value is dropped"]
pub struct Region<'a> {
    label: &'a CStr,
}

/// The part of the run that is of interest begins.
#[inline]
pub fn region(label: &CStr) -> Region<'_> {
    REGION_BEGIN.call(label);
    Region { label }
}

impl Drop for Region<'_> {
    #[inline]
    fn drop(&mut self) {
        REGION_END.call(self.label);
    }
}

/// A unit of work of one thread. Units nest: the one that began last ends first. It cannot be ended by another thread:
///
/// ```compile_fail
/// let unit = holdup_annotate::work_unit(c"tile");
/// std::thread::spawn(move || drop(unit));
/// ```
#[derive(Debug)]
#[must_use = "the unit of work ends when this value is dropped"]
pub struct WorkUnit(OfThisThread);

/// This thread begins a unit of work.
#[inline]
pub fn work_unit(label: &CStr) -> WorkUnit {
    WORK_BEGIN.call(label);
    WorkUnit(PhantomData)
}

impl Drop for WorkUnit {
    #[inline]
    fn drop(&mut self) {
        WORK_END.call();
    }
}

/// A loop in which one thread waits: while it exists, the thread is not counted as active.
#[derive(Debug)]
#[must_use = "the thread counts as active again when this value is dropped"]
pub struct Spin(OfThisThread);

/// This thread begins to wait in a loop of its own.
#[inline]
pub fn spin() -> Spin {
    SPIN_BEGIN.call();
    Spin(PhantomData)
}

impl Drop for Spin {
    #[inline]
    fn drop(&mut self) {
        SPIN_END.call();
    }
}
