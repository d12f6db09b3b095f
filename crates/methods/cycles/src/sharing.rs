//! Cache lines that are shared in vain: threads use different bytes of them, and take the line from each other all the same.

use holdup_model::Arrange;
use std::collections::BTreeMap;

use holdup_model::cycles::{SharedLine, Simulated};

use super::{CycleNames, Variable};

/// False sharing is told from this share of the cycles of all threads on. Less is no reason to change a program.
const LEAST_SHARE: f64 = 0.001;

/// A cache line that costs mostly by false sharing.
#[derive(Clone, Debug, PartialEq)]
pub struct FalseSharing {
    /// The line's first address.
    pub address: u64,
    /// How often it had to come from another core because of a write.
    pub transfers: u64,
    /// The cycles of those transfers that nobody needed: latency without overlap.
    pub cycles: u64,
    /// The same as a share of the cycles of all threads: padding can gain about as much, and no more.
    pub share: f64,
    /// What threads use in it, by address.
    pub bytes: Vec<SharedBytes>,
}

/// Bytes of a shared line that belong together: a variable, or bytes that the same threads use.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBytes {
    /// The first byte in the line, and the one behind the last that is used.
    pub range: (u32, u32),
    /// The variable; `None` where no name is known, as on the heap and on stacks.
    pub variable: Option<Variable>,
    /// Threads that read it, by their index.
    pub readers: Vec<u32>,
    /// Threads that write it.
    pub writers: Vec<u32>,
    /// Some of the instructions of those threads that use the line.
    pub instructions: Vec<u64>,
}

/// Lines in which false sharing costs more than true sharing, and enough to be told; those that cost most first.
pub fn false_sharing(run: &Simulated, names: &CycleNames) -> Vec<FalseSharing> {
    let all: u64 = run.threads.iter().map(|thread| thread.stack.total()).sum();
    let share = |line: &SharedLine| line.false_cycles as f64 / all.max(1) as f64;
    let mut told: Vec<FalseSharing> = run
        .shared_lines
        .iter()
        .filter(|line| line.false_cycles > line.cycles.saturating_sub(line.false_cycles))
        .filter(|line| share(line) >= LEAST_SHARE)
        .map(|line| FalseSharing {
            address: line.address,
            transfers: line.transfers,
            cycles: line.false_cycles,
            share: share(line),
            bytes: shared_bytes(line, names),
        })
        .collect();
    told.arrange_by_key(|line| (std::cmp::Reverse(line.cycles), line.address));
    told
}

/// What threads use in a shared line, by address. Bytes of one part of a variable are together; and neighbours of one variable,
/// or without a name, that the same threads use.
pub fn shared_bytes(line: &SharedLine, names: &CycleNames) -> Vec<SharedBytes> {
    let users_of = |byte: u64, writes: bool| -> Vec<u32> {
        let users = line.users.iter().filter(|user| {
            let used = if writes { user.writes } else { user.reads };
            used >> byte & 1 == 1
        });
        users.map(|user| user.thread).collect()
    };
    let mut told: Vec<SharedBytes> = Vec::new();
    let mut of_part: BTreeMap<&Variable, usize> = BTreeMap::new();
    let used = line.users.iter().fold(0, |used, user| used | user.reads | user.writes);
    for byte in bits(used) {
        let variable = names.data.get(&line.address.wrapping_add(byte));
        let (readers, writers) = (users_of(byte, false), users_of(byte, true));
        let at = byte as u32;
        let of_part_too = variable.and_then(|variable| of_part.get(variable).copied());
        let beside = told.len().checked_sub(1).filter(|&last| {
            let last = &told[last];
            let is_same_variable = match (&last.variable, variable) {
                (Some(a), Some(b)) => a.name == b.name && a.module == b.module,
                (a, b) => a.is_none() && b.is_none(),
            };
            is_same_variable && last.range.1 == at && last.readers == readers && last.writers == writers
        });
        let index = of_part_too.or(beside).unwrap_or_else(|| {
            told.push(SharedBytes {
                range: (at, at),
                variable: variable.cloned(),
                readers: Vec::new(),
                writers: Vec::new(),
                instructions: Vec::new(),
            });
            told.len() - 1
        });
        let bytes = &mut told[index];
        bytes.range.1 = at + 1;
        merge(&mut bytes.readers, readers);
        merge(&mut bytes.writers, writers);
        if let Some(variable) = variable {
            of_part.entry(variable).or_insert(index);
        }
    }
    for bytes in &mut told {
        let uses = |thread: &u32| bytes.readers.contains(thread) || bytes.writers.contains(thread);
        let users = line.users.iter().filter(|user| uses(&user.thread));
        let mut instructions: Vec<u64> = users.flat_map(|user| user.instructions.iter().copied()).collect();
        instructions.sort_unstable();
        instructions.dedup();
        bytes.instructions = instructions;
    }
    told
}

fn merge(threads: &mut Vec<u32>, more: Vec<u32>) {
    threads.extend(more);
    threads.sort_unstable();
    threads.dedup();
}

/// The numbers of the bits that are set.
pub(super) fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use holdup_model::cycles::{CycleComponent, CycleStack, LineUser, SimulatedThread};

    use super::*;

    fn user(thread: u32, reads: u64, writes: u64) -> LineUser {
        LineUser { thread, reads, writes, instructions: vec![0x10, 0x20 + u64::from(thread)] }
    }

    fn run(lines: Vec<SharedLine>) -> Simulated {
        let mut stack = CycleStack::default();
        stack.book(CycleComponent::MemL1Neighbor, 10_000);
        let threads = vec![SimulatedThread { stack, ..SimulatedThread::default() }; 2];
        Simulated { cycles: 10_000, threads, shared_lines: lines, ..Simulated::default() }
    }

    fn line(address: u64, cycles: u64, false_cycles: u64, users: Vec<LineUser>) -> SharedLine {
        SharedLine { address, transfers: 50, cycles, false_cycles, users }
    }

    #[test]
    fn two_counters_in_one_line_are_named() {
        let variable = |name: &str| Variable { name: name.to_owned(), size: 8, ..Variable::default() };
        let data = (0..16).map(|byte| (0x1000 + byte, variable(if byte < 8 { "hits" } else { "misses" })));
        let names = CycleNames { data: data.collect(), ..CycleNames::default() };
        let told = false_sharing(
            &run(vec![line(0x1000, 500, 480, vec![user(0, 0xff, 0xff), user(1, 0, 0xff00)])]),
            &names,
        );
        assert_eq!((told.len(), told[0].cycles, told[0].share), (1, 480, 0.024));
        let shown: Vec<_> = told[0]
            .bytes
            .iter()
            .map(|bytes| {
                let name = bytes.variable.as_ref().map(|variable| variable.name.as_str());
                (name, bytes.range, bytes.readers.clone(), bytes.writers.clone(), bytes.instructions.clone())
            })
            .collect();
        assert_eq!(
            shown,
            [
                (Some("hits"), (0, 8), vec![0], vec![0], vec![0x10, 0x20]),
                (Some("misses"), (8, 16), vec![], vec![1], vec![0x10, 0x21]),
            ]
        );
    }

    #[test]
    fn where_types_are_not_known_neighbours_of_a_variable_are_together_by_who_uses_them() {
        let part = |byte: u64| if byte == 0 { String::new() } else { format!("+{byte:#x}") };
        let data = (0..64).map(|byte| {
            (
                byte,
                Variable { name: "counters".to_owned(), part: part(byte), size: 64, ..Variable::default() },
            )
        });
        let names = CycleNames { data: data.collect(), ..CycleNames::default() };
        let users = (0..8).map(|thread| user(thread, 0xff << (8 * thread), 0xff << (8 * thread))).collect();
        let told = shared_bytes(&line(0, 1, 1, users), &names);
        let parts: Vec<_> = told.iter().map(|bytes| bytes.variable.as_ref().unwrap().part.as_str()).collect();
        assert_eq!(parts, ["", "+0x8", "+0x10", "+0x18", "+0x20", "+0x28", "+0x30", "+0x38"]);
        assert!(told.iter().all(|bytes| bytes.range.1 - bytes.range.0 == 8 && bytes.writers.len() == 1));
    }

    #[test]
    fn bytes_without_a_name_belong_together_if_the_same_threads_use_them() {
        let told = shared_bytes(
            &line(0, 1, 1, vec![user(0, 0x0f, 0), user(1, 0xf0, 0xc0), user(2, 0, 0xff00_0000)]),
            &CycleNames::default(),
        );
        let ranges: Vec<_> = told.iter().map(|bytes| bytes.range).collect();
        assert_eq!(ranges, [(0, 4), (4, 6), (6, 8), (24, 32)]);
    }

    #[test]
    fn true_sharing_and_what_costs_next_to_nothing_are_not_told() {
        let users = || vec![user(0, 1, 1), user(1, 1, 1)];
        let lines = vec![line(0, 500, 250, users()), line(64, 20, 19, users()), line(128, 30, 21, users())];
        let told = false_sharing(&run(lines), &CycleNames::default());
        assert_eq!(told.iter().map(|line| line.address).collect::<Vec<_>>(), [128]);
    }

    #[test]
    fn the_last_byte_of_a_line_counts() {
        assert_eq!(bits(1 << 63 | 1).collect::<Vec<_>>(), [0, 63]);
        assert!(
            shared_bytes(&line(u64::MAX - 3, 1, 1, vec![user(0, u64::MAX, 0)]), &CycleNames::default()).len()
                == 1
        );
    }
}
