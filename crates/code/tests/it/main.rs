//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod blocks;
mod compiled;
mod flow_graph;
mod micro_ops;
mod polls;
