//! How observations leave a measured program.
//!
//! The injected libraries write [`wire`] records, plain little-endian words, into chunks of a file in memory that
//! they share with the recorder; [`shared`] describes that file. The recorder copies chunks to disk as they are,
//! so the wire format is also what a recording holds: the `recording` crate reads it back.
//!
//! [`openmp`] has those of OpenMP's constructs. What is seen from outside of the program, by the kernel collector, are [`kernel`] records, in the same shape.
//!
//! [`live`] has what is not told but kept up to date: each thread's criticality.
//!
//! This crate is linked into measured programs: no heap, no lock, no dependency.

#![no_std]

#[cfg(any(test, loom))]
extern crate std;

pub mod alone;
pub mod atomic;
mod codes;
pub mod instructions;
pub mod kernel;
pub mod live;
#[cfg(all(test, loom))]
mod loom_tests;
pub mod openmp;
pub mod shared;
pub mod wire;
mod words;
