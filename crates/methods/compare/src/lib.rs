//! Answers held against each other: what changed between runs ([`compare`]), whether a run keeps to a budget ([`judge`]),
//! and what several recordings of one program say together ([`combine`]).
//!
//! All of them read [`Ledger`]s: what a diagnosis says of one run, by names that are found again in another.

#![forbid(unsafe_code)]

mod answer;
mod budget;
mod compare;
mod repeats;

pub use budget::{
    Budget, BudgetError, Judged, Limited, Missing, ONE_PAIR, Op, Unit, Verdict, judge, parse as parse_budget,
};
pub use compare::{
    Against, Cause, Change, Class, Comparison, Contribution, Counted, Ledger, Measure, Place, Presence, Row,
    Scaling, Side, Subject, Surrounding, Table, compare, middle,
};
pub use repeats::combine;
