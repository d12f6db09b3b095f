//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod any;
mod changed;
mod dealt;
mod expression;
mod known;
mod monotone;
mod predicted;
mod programs;
mod schedule;
mod unchanged;
