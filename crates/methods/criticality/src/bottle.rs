//! Bottle graphs: criticality and parallelism in one picture.

use holdup_model::{Arrange, ThreadId, ThreadTimes};

use crate::{Bottle, Criticality};

/// One box a thread: its height is C_j / T, its width active time / C_j, so that its area is the share of T in
/// which the thread was active (Du Bois, Sartor, Eyerman, Eeckhout, OOPSLA'13, section 2). Highest first.
pub fn bottle_graph(criticality: &Criticality, threads: &[ThreadTimes]) -> Vec<Bottle> {
    let total = criticality.total.get() as f64;
    let mut boxes: Vec<Bottle> = criticality
        .threads
        .iter()
        .zip(threads)
        .enumerate()
        .filter(|(_, (amount, _))| **amount > 0.0)
        .map(|(index, (&amount, times))| Bottle {
            thread: ThreadId::new(index as u32),
            height: amount / total,
            width: times.active.get() as f64 / amount,
        })
        .collect();
    boxes.arrange_by(|a, b| b.height.total_cmp(&a.height).then(a.thread.cmp(&b.thread)));
    boxes
}
