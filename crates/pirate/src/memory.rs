//! Memory to fill a cache with: in huge pages where the kernel gives them, and all of it really there.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use memmap2::{Advice, MmapMut};

use crate::refusal::{Refusal, mib};

/// A huge page of x86-64, and of aarch64 with small pages of 4 KiB.
const HUGE: usize = 2 << 20;
/// No page is smaller.
const SMALL: usize = 4096;

/// Zeros that take up memory.
#[derive(Debug)]
pub(crate) struct Memory {
    map: MmapMut,
    begin: usize,
    len: usize,
}

impl Memory {
    /// `bytes` of memory, each page of which has been written to: pages that were only read could all be one. They lie
    /// near the core that runs this.
    ///
    /// At most half of what the machine has left is taken, as `root` (`/` outside of tests) tells.
    pub(crate) fn new(root: &Path, bytes: u64) -> Result<Memory, Refusal> {
        let available = left(root).unwrap_or(u64::MAX) / 2;
        if bytes > available {
            return Err(Refusal::TooLittleMemory { needed_mib: mib(bytes), available_mib: mib(available) });
        }
        let len = usize::try_from(bytes).unwrap_or(usize::MAX).next_multiple_of(SMALL);
        let mut map = MmapMut::map_anon(len.saturating_add(HUGE))
            .map_err(|error| Refusal::System { what: "asking for memory", error })?;
        // Where there are no huge pages translations are missed too: `huge_share` tells.
        let _ = map.advise(Advice::HugePage);
        let begin = map.as_ptr().align_offset(HUGE);
        for at in (begin..begin + len).step_by(SMALL) {
            map[at] = black_box(0);
        }
        Ok(Memory { map, begin, len })
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map[self.begin..self.begin + self.len]
    }

    /// The share of it that is in huge pages, by `/proc/self/smaps`. Mappings that lie beside each other are told as one.
    pub(crate) fn huge_share(&self) -> Option<f64> {
        let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
        huge_share(&smaps, self.bytes().as_ptr().addr() as u64)
    }
}

/// Bytes of memory that can be had without swapping.
fn left(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    field(text.lines(), "MemAvailable:")
}

fn huge_share(smaps: &str, address: u64) -> Option<f64> {
    let around = |line: &str| -> Option<bool> {
        let (begin, end) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(begin)?..number(end)?).contains(&address))
    };
    let mut lines = smaps.lines().skip_while(|line| around(line) != Some(true)).skip(1);
    let size = field(&mut lines, "Size:")?;
    let resident = field(&mut lines, "Rss:")?.min(size);
    let huge = field(&mut lines, "AnonHugePages:")?;
    (resident > 0).then(|| huge as f64 / resident as f64)
}

/// The number after `name`, of kB in bytes.
fn field<'a>(mut lines: impl Iterator<Item = &'a str>, name: &str) -> Option<u64> {
    let line = lines.find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_no_more_than_half_of_what_is_left_is_taken() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/meminfo"), "MemTotal: 9999 kB\nMemAvailable:    8192 kB\n").unwrap();
        let memory = Memory::new(root.path(), 4 << 20).unwrap();
        assert_eq!(memory.bytes().len(), 4 << 20);
        assert_eq!(memory.bytes().as_ptr().addr() % HUGE, 0);
        assert!(memory.bytes().iter().all(|byte| *byte == 0));
        assert!(matches!(
            Memory::new(root.path(), (4 << 20) + 1),
            Err(Refusal::TooLittleMemory { available_mib: 4.0, .. })
        ));
    }

    #[test]
    fn the_share_of_huge_pages_is_that_of_the_mapping_around_the_address() {
        let smaps = "1000-2000 rw-p 00000000 00:00 0\nSize: 4 kB\nRss: 4 kB\nAnonHugePages: 0 kB\n\
                     200000-600000 rw-p 00000000 00:00 0\nSize: 4096 kB\nRss: 4096 kB\nAnonHugePages: 2048 kB\n";
        assert_eq!(huge_share(smaps, 0x40_0000), Some(0.5));
        assert_eq!(huge_share(smaps, 0x1800), Some(0.0));
        assert_eq!(huge_share(smaps, 0x60_0000), None);
    }
}
