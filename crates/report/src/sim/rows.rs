//! Threads with much the same stack as one row, where there are more than a reader wants to see.

use holdup_cycles::Aggregate;
use holdup_model::cycles::{CYCLE_COMPONENTS, CycleComponent, CycleStack, Simulated};

/// Neighbouring threads of a run that are told together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// By their index, from the first to behind the last.
    pub(crate) threads: std::ops::Range<usize>,
    /// Their cycles.
    pub(crate) stack: CycleStack,
    /// Their instructions.
    pub(crate) instructions: u64,
}

/// A distance that puts threads of different groups further apart than any two of one group.
const OF_ANOTHER_GROUP: f64 = 10.0;

/// Rows for the threads of a run. Neighbours of one group are told together where their stacks differ by less than `alike`;
/// and where there are more than `most` rows, those that differ least. Threads stay in their order, which on a machine is that
/// of the cores at first.
pub(crate) fn rows(run: &Simulated, aggregate: &Aggregate, alike: f64, most: usize) -> Vec<Row> {
    let mut group = vec![usize::MAX; run.threads.len()];
    for (number, one) in aggregate.groups.iter().enumerate() {
        one.threads.iter().chain(&one.left_out).for_each(|&thread| group[thread] = number);
    }
    let mut rows: Vec<Row> = run
        .threads
        .iter()
        .enumerate()
        .map(|(index, thread)| Row {
            threads: index..index + 1,
            stack: thread.stack,
            instructions: thread.instructions,
        })
        .collect();
    let between = |a: &Row, b: &Row| {
        let is_same = group[a.threads.end - 1] == group[b.threads.start];
        distance(&a.stack, &b.stack) + if is_same { 0.0 } else { OF_ANOTHER_GROUP }
    };
    let mut apart: Vec<f64> = rows.windows(2).map(|pair| between(&pair[0], &pair[1])).collect();
    loop {
        // Ward's rule: two large rows are merged later than two small ones that differ as much.
        let weight = |at: usize| {
            let (n, m) = (rows[at].threads.len() as f64, rows[at + 1].threads.len() as f64);
            apart[at] * (n * m / (n + m)).sqrt()
        };
        let nearest = (0..apart.len()).min_by(|&a, &b| weight(a).total_cmp(&weight(b)).then(a.cmp(&b)));
        let Some(at) = nearest.filter(|&at| rows.len() > most.max(1) || apart[at] < alike) else { break };
        let next = rows.remove(at + 1);
        apart.remove(at);
        let row = &mut rows[at];
        row.threads.end = next.threads.end;
        row.stack.add(&next.stack);
        row.instructions += next.instructions;
        for index in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if let (Some(apart), Some([a, b])) = (apart.get_mut(index), rows.get(index..index + 2)) {
                *apart = between(a, b);
            }
        }
    }
    rows
}

/// How different two stacks are: the part of their cycles that is elsewhere, from 0 to 1.
fn distance(a: &CycleStack, b: &CycleStack) -> f64 {
    let normal = |stack: &CycleStack| -> [f64; CYCLE_COMPONENTS] {
        let total = stack.total().max(1) as f64;
        std::array::from_fn(|index| stack.get(CycleComponent::ALL[index]) as f64 / total)
    };
    let differences = normal(a).into_iter().zip(normal(b)).map(|(a, b)| (a - b).abs());
    differences.sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use holdup_cycles::{CycleNames, aggregate};
    use holdup_model::cycles::SimulatedThread;
    use proptest::prelude::*;

    use super::*;

    fn run(threads: &[(u64, u64)]) -> Simulated {
        let thread = |&(work, wait): &(u64, u64)| {
            let mut stack = CycleStack::default();
            stack.book(CycleComponent::MemOffSocket, work);
            stack.book(CycleComponent::SyncBarrier, wait);
            SimulatedThread { stack, instructions: work, ..SimulatedThread::default() }
        };
        Simulated { threads: threads.iter().map(thread).collect(), ..Simulated::default() }
    }

    fn told(run: &Simulated, alike: f64, most: usize) -> Vec<Row> {
        rows(run, &aggregate(run, &CycleNames::default()), alike, most)
    }

    #[test]
    fn sockets_are_told_apart() {
        let threads: Vec<(u64, u64)> = (0..8u64)
            .map(|thread| if thread < 4 { (10 + thread % 2, 90) } else { (60 + thread % 3, 40) })
            .collect();
        let told: Vec<_> = told(&run(&threads), 0.0, 2).into_iter().map(|row| row.threads).collect();
        assert_eq!(told, [0..4, 4..8]);
    }

    #[test]
    fn threads_that_are_alike_are_one_row() {
        let run = run(&[(50, 50), (50, 50), (51, 49), (90, 10)]);
        let rows = |alike| told(&run, alike, 9).into_iter().map(|row| row.threads.len()).collect::<Vec<_>>();
        assert_eq!(rows(0.02), [3, 1]);
        assert_eq!(rows(0.0), [1, 1, 1, 1]);
    }

    #[test]
    fn groups_stay_apart() {
        let mut run = run(&[(50, 50), (50, 50)]);
        run.threads[1].number = 1;
        assert_eq!(told(&run, 0.5, 9).len(), 2);
        assert_eq!(told(&run, 0.5, 1).len(), 1);
    }

    proptest! {
        #[test]
        fn rows_have_all_threads_once(threads in prop::collection::vec((0u64..100, 0u64..100), 0..60), most in 0usize..20) {
            let run = run(&threads);
            let rows = told(&run, 0.0, most);
            prop_assert!(rows.len() <= most.max(1));
            let mut at = 0;
            for row in &rows {
                prop_assert_eq!(row.threads.start, at);
                at = row.threads.end;
            }
            prop_assert_eq!(at, threads.len());
            let total: u64 = rows.iter().map(|row| row.stack.total()).sum();
            prop_assert_eq!(total, threads.iter().map(|(a, b)| a + b).sum::<u64>());
        }
    }
}
