//! Policies of replacement that do not go by the order of a set's entries.

use crate::machine::Replacement;

/// What one cache remembers for its choice. Full sets only: empty ways are filled first.
pub(crate) enum Policy {
    /// A tree of bits over the ways, a power of two: each bit points away from the half that was used last.
    Tree {
        /// By set, bit n for node n; the root is node 1.
        bits: Vec<u64>,
        ways: usize,
    },
    /// A bit for each way that was used since all were: the first way without one goes.
    NotRecent {
        /// By set.
        bits: Vec<u64>,
        ways: usize,
    },
    /// Static re-reference interval prediction with hit priority and two bits (Jaleel, Theobald, Steely and Emer, "High
    /// performance cache replacement using re-reference interval prediction", ISCA 2010): a new line has 2, one that was
    /// used 0; the first with 3 goes, and all age until there is one.
    Intervals {
        /// By entry.
        values: Vec<u8>,
        ways: usize,
    },
    /// Any: xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
    Random {
        /// Its state.
        state: u64,
        ways: usize,
    },
}

/// Of [`Policy::Intervals`]: a line that is used again in the distant future.
const DISTANT: u8 = 3;
/// Of a new line.
const LONG: u8 = 2;

impl Policy {
    /// For a cache of this geometry, with at most 64 ways. [`Replacement::Lru`] and [`Replacement::Fifo`] go by order and
    /// have none: they would be treated as [`Replacement::Nru`].
    pub(crate) fn new(replacement: Replacement, sets: usize, ways: usize) -> Policy {
        match replacement {
            Replacement::TreePlru => Policy::Tree { bits: vec![0; sets], ways },
            Replacement::Srrip => Policy::Intervals { values: vec![0; sets * ways], ways },
            Replacement::Random => Policy::Random { state: 0x2545_F491_4F6C_DD1D, ways },
            Replacement::Nru | Replacement::Lru | Replacement::Fifo => {
                Policy::NotRecent { bits: vec![0; sets], ways }
            }
        }
    }

    /// A line was used.
    pub(crate) fn used(&mut self, set: usize, way: usize) {
        match self {
            Policy::Tree { bits, ways } => {
                let mut node = way + *ways;
                while node > 1 {
                    let (parent, is_right) = (node / 2, node % 2 == 1);
                    let bit = 1 << parent;
                    // A set bit points to the right half.
                    if is_right {
                        bits[set] &= !bit;
                    } else {
                        bits[set] |= bit;
                    }
                    node = parent;
                }
            }
            Policy::NotRecent { bits, ways } => {
                let all = u64::MAX >> (64 - *ways);
                bits[set] |= 1 << way;
                if bits[set] & all == all {
                    bits[set] = 1 << way;
                }
            }
            Policy::Intervals { values, ways } => values[set * *ways + way] = 0,
            Policy::Random { .. } => {}
        }
    }

    /// A line came into a way.
    pub(crate) fn filled(&mut self, set: usize, way: usize) {
        match self {
            Policy::Intervals { values, ways } => values[set * *ways + way] = LONG,
            _ => self.used(set, way),
        }
    }

    /// The way of a full set whose line has to go.
    pub(crate) fn victim(&mut self, set: usize) -> usize {
        match self {
            Policy::Tree { bits, ways } => {
                let mut node = 1;
                while node < *ways {
                    node = node * 2 + usize::from(bits[set] & 1 << node != 0);
                }
                node - *ways
            }
            Policy::NotRecent { bits, ways } => (bits[set].trailing_ones() as usize).min(*ways - 1),
            Policy::Intervals { values, ways } => {
                let values = &mut values[set * *ways..(set + 1) * *ways];
                let oldest = values.iter().copied().max().unwrap_or(DISTANT);
                for value in values.iter_mut() {
                    *value += DISTANT - oldest;
                }
                values.iter().position(|value| *value == DISTANT).unwrap_or(0)
            }
            Policy::Random { state, ways } => {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state >> 32) as usize % *ways
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Policy;
    use crate::machine::Replacement;

    fn full(replacement: Replacement, ways: usize) -> Policy {
        let mut policy = Policy::new(replacement, 2, ways);
        (0..ways).for_each(|way| policy.filled(1, way));
        policy
    }

    #[test]
    fn a_tree_points_away_from_what_was_used() {
        let mut policy = full(Replacement::TreePlru, 4);
        assert_eq!(policy.victim(1), 0);
        policy.used(1, 0);
        assert_eq!(policy.victim(1), 2, "3 was used after 2, and 0 after all");
        policy.used(1, 2);
        assert_eq!(policy.victim(1), 1);
    }

    #[test]
    fn not_recently_used_takes_the_first_without_a_bit() {
        let mut policy = full(Replacement::Nru, 4);
        // The last fill made all bits set, so that only its own stayed.
        assert_eq!(policy.victim(1), 0);
        policy.used(1, 0);
        assert_eq!(policy.victim(1), 1);
        policy.used(1, 1);
        assert_eq!(policy.victim(1), 2);
    }

    #[test]
    fn intervals_keep_what_was_used_again() {
        let mut policy = full(Replacement::Srrip, 4);
        policy.used(1, 0);
        policy.used(1, 1);
        assert_eq!(policy.victim(1), 2);
        policy.filled(1, 2);
        assert_eq!(policy.victim(1), 3, "it aged to 3 together with the first victim");
    }

    #[test]
    fn any_way_is_taken_at_random_and_always_in_the_same_order() {
        let take = || {
            let mut policy = full(Replacement::Random, 8);
            (0..1000).map(|_| policy.victim(1)).collect::<Vec<_>>()
        };
        let taken = take();
        assert_eq!(taken, take());
        for way in 0..8 {
            let times = taken.iter().filter(|taken| **taken == way).count();
            assert!((80..170).contains(&times), "{way}: {times} of 1000");
        }
    }
}
