//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod answer;
mod characterize;
mod compare;
mod explain;
mod faces;
mod page;
mod policies;
mod scaling;
mod shared;
mod sim;
mod stack;
mod timeline;
mod why;
