//! Replays that say nothing, since all threads wait for each other in them.

use holdup_model::Nanos;
use holdup_replay::Prediction;

/// What is said where the replay of a finding's fix got stuck.
pub(super) const STUCK: &str =
    "No gain is predicted: the replay of it gets stuck, and takes longer than the run did.";

/// True if a fix makes the run longer than it was (`wall`), and all threads wait for each other more often than in the unchanged replay
/// (`let_through`): the recording does not say who would have come first then.
pub(super) fn is_stuck(prediction: &Prediction, let_through: u64, wall: Nanos) -> bool {
    prediction.let_through > let_through && prediction.low > wall
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gets_stuck_and_takes_longer_says_nothing() {
        let wall = Nanos::new(2_400);
        let of = |low: u64, let_through: u64| {
            let [low, middle, high] = [low, low + 100, low + 1_000].map(Nanos::new);
            let prediction =
                Prediction { wall: middle, low, high, next: None, let_through, unseen: Vec::new() };
            is_stuck(&prediction, 3, wall)
        };
        assert!(of(3_400, 37));
        assert!(!of(3_400, 3), "no more often than what was recorded");
        assert!(!of(2_300, 37), "it may well give something");
    }
}
