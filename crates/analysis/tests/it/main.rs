//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod budget;
mod compare;
mod criticality;
mod environment;
mod gains;
mod hot;
mod laws;
mod openmp;
mod over_time;
mod planted;
mod properties;
mod ranks;
mod repeats;
mod scaling;
mod scheduled;
mod speedup;
mod waiting;
