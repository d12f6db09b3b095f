//! What is measured: a program, and what holdup must say of it.

use anyhow::Result;
use holdup_stage::planted::Gain;

use super::machine::Machine;

/// What one round says of one row of the table. `None`: this is not asked of the row, or was not asked in this round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The row's name.
    pub(super) row: String,
    /// What is said first is what was planted.
    pub(super) first: Option<bool>,
    /// The planted place is named.
    pub(super) place: Option<bool>,
    /// Of the fixed form it is no longer said.
    pub(super) gone: Option<bool>,
    /// What fixing it saves, as it is told.
    pub(super) gain: Option<Gain>,
    /// The seconds that the planted form takes without holdup.
    pub(super) planted_s: Option<f64>,
    /// The seconds that the fixed form takes without holdup.
    pub(super) fixed_s: Option<f64>,
    /// What was said where it is wrong, in a line.
    pub(super) said: String,
}

impl Answer {
    /// Of a row of which it is asked only whether something is so.
    pub(super) fn of(row: &str, first: bool, said: impl Into<String>) -> Answer {
        let said = if first { String::new() } else { said.into() };
        Answer { row: row.to_owned(), first: Some(first), said, ..Answer::default() }
    }
}

/// Something that is measured in rounds. All that it needs was built before.
pub(super) trait Case {
    /// The rows that a round answers, in their order.
    fn rows(&self) -> Vec<String>;

    /// False for what can be said only on a quiet machine.
    fn is_for_load(&self) -> bool {
        true
    }

    /// One round. `whole`: with the fixed form, and with the plain times of both.
    ///
    /// # Errors
    ///
    /// Where a program fails, which is a wrong answer for each row.
    fn round(&self, machine: &mut Machine, whole: bool) -> Result<Vec<Answer>>;
}
