//! Words of all formats.

use holdup_model::Outcome;

/// The leaf of a stack for active time that no sample stands for.
pub(crate) const NOT_SAMPLED: &str = "[not sampled]";

/// The root of a stack that could not be followed to the start of its thread.
pub(crate) const BROKEN: &str = "[start of the stack is unknown]";

/// How a wait ended, in a word.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Granted => "granted",
        Outcome::TimedOut => "timed out",
        Outcome::Failed => "failed",
        Outcome::Open => "open",
    }
}
