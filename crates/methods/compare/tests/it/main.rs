//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod budget;
mod compare;
mod repeats;
