//! In three scopes, one after the other, a thread that computes for long and one that computes for a third of that.

use std::hint::black_box;

fn compute(turns: u64) {
    for turn in 0..turns {
        black_box(turn);
    }
}

fn main() {
    for _ in 0..3 {
        std::thread::scope(|scope| {
            scope.spawn(|| compute(50_000_000));
            scope.spawn(|| compute(150_000_000));
        });
        compute(5_000_000);
    }
}
