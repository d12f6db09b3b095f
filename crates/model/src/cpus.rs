//! Sets of CPUs, as the kernel lists them.

use std::collections::BTreeSet;
use std::fmt;

/// A set of CPUs by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// Linux is built for at most so many CPUs.
    const MOST: u32 = 8192;

    /// The set that the kernel's list means: `0-3,8`. `None` where it is no such list.
    pub fn parse(list: &str) -> Option<CpuSet> {
        let mut numbers = BTreeSet::new();
        for part in list.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            numbers.extend(first..=last.min(Self::MOST - 1));
        }
        Some(CpuSet(numbers))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for no CPU at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this CPU is one of them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// True if all of them are in `other` too.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Those that are in both.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&other.0).copied().collect())
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &CpuSet) {
        self.0.extend(&other.0);
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The numbers, from low to high.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        CpuSet(cpus.into_iter().filter(|cpu| *cpu < Self::MOST).collect())
    }
}

impl fmt::Display for CpuSet {
    /// The shortest list, as `taskset -c` takes it: `0-3,8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        for (index, (first, last)) in runs.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse(list).expect("a list")
    }

    #[test]
    fn sets_are_read_and_written_the_same_way() {
        for list in ["0", "0-3", "0-1,4,6-7", ""] {
            assert_eq!(set(list).to_string(), list);
        }
        assert_eq!(CpuSet::parse("0-x"), None);
        assert_eq!(set("0-4294967295").len(), 8192);
        assert_eq!(set("9000"), set(""));
    }
}
