//! Numbers as the terminal and the page show them.

use holdup_model::Nanos;
pub(crate) use holdup_model::figures::{
    bytes, counted, factor, figure, grouped, in_words, percent, percent_range, threads,
};

use crate::Look;

/// A length of time: `12.4 s`, `5.1 s`, `431 ms`, `87 ns`.
pub(crate) fn time(time: Nanos, look: Look) -> String {
    let told = time.to_string();
    if look.unicode { told } else { told.replace('µ', "u") }
}
