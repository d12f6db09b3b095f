//! Both faces of a report, on built examples.

mod examples;
mod json;
mod properties;
mod recorded;
mod sampled;
mod terminal;
