//! Targets of indirect branches: what the path says, else where the branch went last.

/// A target and what it is for.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u64,
    target: u64,
}

/// Two tables of the same size without ways. An entry of the first is made only where the second was wrong, so that
/// branches that always go to the same place need no more than one entry.
pub(super) struct Indirect {
    by_path: Vec<Entry>,
    last: Vec<Entry>,
}

impl Indirect {
    pub(super) fn new(entries: u32) -> Self {
        let entries = entries.max(1).next_power_of_two() as usize;
        Self { by_path: vec![Entry::default(); entries], last: vec![Entry::default(); entries] }
    }

    /// True if the target was predicted.
    pub(super) fn predict_and_train(&mut self, hash: u32, address: u64, target: u64) -> bool {
        // Jump tables put the paths' difference into the lower bits of the hash; branches differ in the upper ones.
        let mask = self.by_path.len() - 1;
        let by_path = &mut self.by_path[hash as usize & mask];
        let last = &mut self.last[(address ^ (address >> 4)) as usize & mask];
        let tag = (u64::from(hash) << 4) | (address & 15) | 1 << 63;

        let from_last = (last.tag == address).then_some(last.target);
        let from_path = (by_path.tag == tag).then_some(by_path.target);
        let predicted = from_path.or(from_last) == Some(target);
        if from_path.is_some() || (!predicted && from_last.is_some()) {
            *by_path = Entry { tag, target };
        }
        *last = Entry { tag: address, target };
        predicted
    }
}
