//! What a report of several recordings says of all of them.

use holdup_criticality::Diagnosis;

use crate::ink::Ink;
use crate::lines::{Line, wrapped};
use crate::numbers::{counted, time};
use crate::{Look, escape};

/// At most so many findings that only other runs have are told.
const MOST_ELSEWHERE: usize = 2;

/// How the wall times scatter, and what only other runs found; nothing for one recording.
pub(crate) fn lines(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let Some(repeats) = &diagnosis.repeats else { return Vec::new() };
    let told = |nanos| time(nanos, look);
    let (Some(&shortest), Some(&longest)) = (repeats.walls.first(), repeats.walls.last()) else {
        return Vec::new();
    };
    let mut text = format!(
        "This is the one in the middle of {}, which took {} to {}; their mean is {} ({} to {}).",
        counted(repeats.walls.len() as u64, "run", "runs"),
        told(shortest),
        told(longest),
        told(repeats.mean),
        told(repeats.low),
        told(repeats.high)
    );
    for other in repeats.elsewhere.iter().take(MOST_ELSEWHERE) {
        text.push_str(&format!(
            " Found only in {} of the others: {} (up to {}).",
            other.found,
            escape::sentence(&other.what, look),
            told(other.most)
        ));
    }
    wrapped(&text, 0, Ink::Text, look)
}
