//! Which processors there are.

use std::io;

use crate::ids::Cpu;
use crate::system::System;

/// Those that are online, from the smallest.
pub(crate) fn online(system: &impl System) -> io::Result<Vec<Cpu>> {
    let list = system.read("sys/devices/system/cpu/online")?;
    parse(list.trim()).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{:?}", list.trim())))
}

/// The kernel's form of a set of numbers: `0-3,8,10-11`.
fn parse(list: &str) -> Option<Vec<Cpu>> {
    /// What Linux can be built for.
    const MOST: u32 = 8192;
    let mut cpus = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MOST {
            return None;
        }
        cpus.extend((first..=last).map(Cpu));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read() {
        assert_eq!(parse("0"), Some(vec![Cpu(0)]));
        assert_eq!(parse("0-2,5,7-8"), Some([0, 1, 2, 5, 7, 8].map(Cpu).to_vec()));
    }

    #[test]
    fn rubbish_is_none() {
        for rubbish in ["", "a", "0-", "-1", "0,,1", "0-4294967295"] {
            assert_eq!(parse(rubbish), None, "{rubbish}");
        }
    }
}
