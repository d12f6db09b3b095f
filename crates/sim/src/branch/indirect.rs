//! Targets of indirect branches: what the path says, else where the branch went last.

/// A target and what it is for.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u64,
    target: u64,
}

/// Tables of the same size without ways: one for each length of path, and one without. The longest path that knows the branch
/// is believed. An entry is made for a longer path only where the shorter one was wrong, so that branches that always go to
/// the same place need no more than one entry.
pub(super) struct Indirect {
    /// The shortest path first.
    by_path: Vec<Vec<Entry>>,
    last: Vec<Entry>,
}

impl Indirect {
    /// With so many entries in each table, and so many lengths of paths.
    pub(super) fn new(entries: u32, paths: usize) -> Self {
        let table = vec![Entry::default(); entries.max(1).next_power_of_two() as usize];
        Self { by_path: vec![table.clone(); paths], last: table }
    }

    /// True if the target was predicted. `hashes` are of the paths to the branch, the shortest first.
    pub(super) fn predict_and_train(&mut self, hashes: &[u32], address: u64, target: u64) -> bool {
        // Jump tables put the paths' difference into the lower bits of the hash; branches differ in the upper ones.
        let mask = self.last.len() - 1;
        let tag = |hash: u32| (u64::from(hash) << 4) | (address & 15) | 1 << 63;
        let last = &mut self.last[(address ^ (address >> 4)) as usize & mask];
        let knows_last = last.tag == address;
        let mut predicted = knows_last && last.target == target;
        *last = Entry { tag: address, target };
        // The table that gets an entry if the prediction was wrong.
        let mut longer = knows_last.then_some(0);
        for (index, (table, hash)) in self.by_path.iter_mut().zip(hashes).enumerate().rev() {
            let entry = &mut table[*hash as usize & mask];
            if entry.tag == tag(*hash) {
                predicted = entry.target == target;
                entry.target = target;
                longer = Some(index + 1);
                break;
            }
        }
        if !predicted
            && let Some(index) = longer
            && let (Some(table), Some(hash)) = (self.by_path.get_mut(index), hashes.get(index))
        {
            table[*hash as usize & mask] = Entry { tag: tag(*hash), target };
        }
        predicted
    }
}
