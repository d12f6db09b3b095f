//! Section 3.1: what of an event is its own, and not its superiors'.
//!
//! A miss cannot happen without the access, nor an access without its block being executed. If threads execute the block
//! differently often they miss differently often too, and that is not the cache's doing. The Gram–Schmidt process takes
//! from each event what its superiors explain. It works on centred columns: what is asked for is the event's own share of
//! the *differences* between threads. A superior that is the same for all threads takes nothing.

use super::rows::dot;

/// The share of a column's squared length below which nothing of its own is left of it: rounding.
const NOTHING_LEFT: f64 = 1e-12;

/// What is left of a centred column without what its superiors explain, these being centred too and the first one the
/// superior of all others. All zero where nothing is left.
pub(super) fn own_part(column: &[f64], superiors: &[Vec<f64>]) -> Vec<f64> {
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(superiors.len());
    for superior in superiors {
        let rest = without(superior, &basis);
        if rest.iter().any(|value| *value != 0.0) {
            basis.push(rest);
        }
    }
    without(column, &basis)
}

/// A column without its projections on an orthogonal basis; taken away one after the other, which rounds less (modified
/// Gram–Schmidt: Golub and Van Loan, Matrix Computations, section 5.2.8).
fn without(column: &[f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let before = dot(column, column);
    let mut rest = column.to_vec();
    for direction in basis {
        let share = dot(&rest, direction) / dot(direction, direction);
        for (value, along) in rest.iter_mut().zip(direction) {
            *value -= share * along;
        }
    }
    if dot(&rest, &rest) <= NOTHING_LEFT * before {
        rest.fill(0.0);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} is not {b:?}");
    }

    #[test]
    fn by_hand() {
        // Executions 10, 20, 30, 40; misses 3, 1, 5, 7. Centred: (−15, −5, 5, 15), (−1, −3, 1, 3).
        // Projection: (15 + 15 + 5 + 45) / (225 + 25 + 25 + 225) = 80 / 500 = 0.16.
        let executions = vec![-15.0, -5.0, 5.0, 15.0];
        let misses = [-1.0, -3.0, 1.0, 3.0];
        let own = own_part(&misses, std::slice::from_ref(&executions));
        close(&own, &[1.4, -2.2, 0.2, 0.6]);
        assert!(dot(&own, &executions).abs() < 1e-12);
    }

    #[test]
    fn a_second_level_is_free_of_the_first_and_of_executions() {
        let executions = vec![-3.0, -1.0, 1.0, 3.0];
        let first = vec![2.0, -4.0, 1.0, 1.0];
        let second = [1.0, 0.0, -3.0, 2.0];
        let own = own_part(&second, &[executions.clone(), first.clone()]);
        assert!(dot(&own, &executions).abs() < 1e-12 && dot(&own, &first).abs() < 1e-12);
        assert!(dot(&own, &own) > 0.1);
    }

    #[test]
    fn misses_at_a_constant_rate_are_no_event_of_their_own() {
        let executions = vec![-15.0, -5.0, 5.0, 15.0];
        let misses: Vec<f64> = executions.iter().map(|count| count * 0.1).collect();
        assert_eq!(own_part(&misses, &[executions]), [0.0; 4]);
    }

    #[test]
    fn constant_superiors_take_nothing() {
        assert_eq!(own_part(&[1.0, -1.0], &[vec![0.0, 0.0]]), [1.0, -1.0]);
    }
}
