//! What a change of activity costs, by one thread and by several at once: `cargo run --release --example live_change`.

use std::time::Instant;

use holdup_trace::live::{Block, Doing, ThreadCell, counter};

fn main() {
    const ROUNDS: u32 = 5_000_000;
    for threads in [1u32, 2, 4] {
        let block = Block::default();
        block.clock.starts(counter());
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let cell = ThreadCell::default();
                    cell.begins(&block.clock, counter());
                    for _ in 0..ROUNDS {
                        cell.stops(&block.clock, counter(), Doing::Team);
                        cell.goes_on(&block.clock, counter());
                    }
                });
            }
        });
        let changes = f64::from(ROUNDS) * 2.0;
        let nanos = begin.elapsed().as_nanos() as f64 / changes;
        println!("{threads} threads at once: {nanos:.1} ns for a change of each");
    }
}
