//! What was measured at one number of threads.

use std::collections::BTreeMap;

use holdup_model::Nanos;

use super::ThreadPoint;
use super::alone::Lone;
use super::phases::{Key, Phased};

/// One number of threads.
pub(super) struct Point<'a> {
    pub(super) threads: u32,
    pub(super) plain: Vec<Nanos>,
    pub(super) recorded: Phased<'a>,
    pub(super) source: &'a ThreadPoint<'a>,
    /// Wall time without recording by that with it: 1 where only the latter is known.
    pub(super) factor: f64,
    /// Threads that were run alone, by phase.
    pub(super) lones: BTreeMap<Key, Vec<Lone>>,
}
