//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod build;
mod hostile;
mod live;
mod naming;
mod unwinding;
