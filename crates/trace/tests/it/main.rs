//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod kernel_round_trip;
mod round_trip;
