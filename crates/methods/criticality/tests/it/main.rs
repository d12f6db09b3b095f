//! All tests of this crate from outside, in one program: each program would link what it tests anew.

mod criticality;
mod ends;
mod environment;
mod faults;
mod for_each_other;
mod forked;
mod gains;
mod handing_on;
mod hot;
mod lock_code;
mod openmp;
mod over_time;
mod planted;
mod pools;
mod properties;
mod queues;
mod ranks;
mod rounds;
mod scheduled;
mod searching;
mod serial;
mod sharing;
mod tree;
mod waiting;
