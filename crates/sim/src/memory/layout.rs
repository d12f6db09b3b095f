//! Which caches there are, and which lies below which.

use holdup_model::cycles;

use super::cache::Cache;
use super::coherence::Holders;
use crate::machine::{CacheFacts, Machine};

/// The caches of one level.
pub(crate) struct Level {
    /// Who gives the data of a hit.
    pub hits: cycles::Level,
    /// Cycles of a hit.
    pub latency: u64,
    /// Cycles until a miss is known.
    pub tags: u64,
    /// The caches, by the number of their first core.
    pub caches: Vec<Cache>,
    /// Cores that share one.
    pub shared_by: u32,
    /// The caches of the next inner level that are below one. Of the first level: none.
    pub below: Fan,
}

/// The caches right below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fan {
    /// How many, at most.
    pub caches: u32,
    /// How many stand behind one bit of a mask: 1 but for very many (a coarse vector: Gupta, Weber and Mowry, "Reducing
    /// memory and traffic requirements for scalable directory-based cache coherence schemes", ICPP 1990).
    pub group: u32,
}

impl Fan {
    /// Of so many caches.
    pub(crate) fn new(caches: u32) -> Fan {
        Fan { caches, group: caches.div_ceil(u64::BITS).max(1) }
    }

    /// The bit of one of them.
    pub(crate) fn bit(self, child: u32) -> u64 {
        1 << (child / self.group)
    }

    /// Those that these bits may mean, in the order of their numbers.
    pub(crate) fn members(self, mut mask: u64) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let bit = (mask != 0).then(|| mask.trailing_zeros())?;
            mask &= mask - 1;
            Some(bit * self.group..((bit + 1) * self.group).min(self.caches))
        })
        .flatten()
    }

    /// The holders without one: with all, where it cannot be told from its group.
    pub(crate) fn others(self, holders: Holders, child: u32) -> Holders {
        if self.group == 1 { holders.without(self.bit(child)) } else { holders }
    }

    /// The holders after one gave up its copy.
    pub(crate) fn after(self, holders: Holders, child: u32) -> Holders {
        // An owner is the only one of its group, of others it is not known whether more have copies.
        if self.group == 1 || holders.owned { holders.without(self.bit(child)) } else { holders }
    }
}

/// The levels of data caches, from the first to the last. `private`: shared caches as one for each core, of the same size.
pub(crate) fn levels(machine: &Machine, cores: u32, private: bool) -> Vec<Level> {
    let outer = [(&machine.l2, cycles::Level::L2), (&machine.l3, cycles::Level::L3)];
    let mut levels: Vec<Level> = vec![level(&machine.l1d, cycles::Level::L1, cores, 1, 0)];
    for (facts, hits) in outer {
        let Some(facts) = facts else { continue };
        let inner = levels[levels.len() - 1].shared_by;
        let below = if private { 1 } else { (facts.shared_by / inner).max(1) };
        levels.push(level(facts, hits, cores, inner * below, below));
    }
    levels
}

fn level(facts: &CacheFacts, hits: cycles::Level, cores: u32, shared_by: u32, below: u32) -> Level {
    Level {
        hits,
        latency: u64::from(facts.latency),
        tags: u64::from(facts.tags),
        caches: (0..cores.div_ceil(shared_by)).map(|_| Cache::new(facts, below)).collect(),
        shared_by,
        below: Fan::new(below),
    }
}

/// The level into which requests cross the on-chip interconnect: the last one if a socket has one cache of it, for all of
/// its cores; memory, which follows the last, otherwise.
pub(crate) fn crossing(machine: &Machine) -> usize {
    let outer: Vec<&CacheFacts> = [&machine.l2, &machine.l3].into_iter().flatten().collect();
    let is_one = outer.last().is_some_and(|last| last.shared_by >= machine.cores_per_socket);
    // A socket of one core has an interconnect to memory only.
    if is_one && machine.cores_per_socket > 1 { outer.len() } else { outer.len() + 1 }
}

#[cfg(test)]
mod tests {
    use super::Fan;
    use crate::memory::coherence::Holders;

    #[test]
    fn few_caches_have_a_bit_each_and_many_share_them() {
        let few = Fan::new(64);
        assert_eq!((few.group, few.bit(63)), (1, 1 << 63));
        assert_eq!(few.members(0b1010).collect::<Vec<_>>(), [1, 3]);
        let many = Fan::new(140);
        assert_eq!((many.group, many.bit(7)), (3, 0b100));
        assert_eq!(many.members(1 << 46 | 0b10).collect::<Vec<_>>(), [3, 4, 5, 138, 139]);
    }

    #[test]
    fn a_group_is_forgotten_only_with_its_owner() {
        let many = Fan::new(140);
        let shared = Holders { mask: 0b10, owned: false };
        assert_eq!(many.after(shared, 3), shared);
        assert_eq!(many.after(Holders { owned: true, ..shared }, 3), Holders::default());
        assert_eq!(many.others(shared, 3), shared);
        assert_eq!(Fan::new(8).others(shared, 1), Holders::default());
    }
}
