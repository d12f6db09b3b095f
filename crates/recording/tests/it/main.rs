//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod bounds;
mod instructions;
mod kernel;
mod openmp;
mod outline;
