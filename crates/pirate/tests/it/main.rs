//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod guardian;
mod stealing;
