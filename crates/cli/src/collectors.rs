//! What holdup collects with: the two libraries that it brings along, and which of its collectors there are to choose from.

use clap::ValueEnum;

/// The library that is injected into measured programs, packed by gzip.
pub(crate) static PRELOAD: &[u8] = include_bytes!(env!("HOLDUP_PRELOAD"));
/// The plugin that the emulator loads, packed by gzip.
pub(crate) static PLUGIN: &[u8] = include_bytes!(env!("HOLDUP_QEMU_PLUGIN"));

/// What gives the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collector {
    Preload,
    Kernel,
}
