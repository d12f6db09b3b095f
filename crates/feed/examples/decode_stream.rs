//! How fast the streams of a recording can be gone through, without simulating anything: the bound of every simulation.

use std::path::PathBuf;
use std::time::Instant;

use holdup_feed::{Prepared, RecordedFeed};
use holdup_recording::Recording;
use holdup_sim::{Feed, Item};

fn main() {
    let path: PathBuf = std::env::args_os().nth(1).expect("the path of a recording").into();
    let (recording, warnings) = Recording::open(&path).expect("a recording");
    let run = recording.run(&warnings);
    let begin = Instant::now();
    let prepared = Prepared::new(&recording, &run).expect("streams");
    let program = prepared.program();
    let millions = prepared.instructions() as f64 / 1e6;
    println!(
        "{millions:.1} M instructions, {} blocks, {} threads",
        program.code.blocks.len(),
        program.threads.len()
    );
    println!(
        "made ready in {:.3} s: {:.0} M/s",
        begin.elapsed().as_secs_f64(),
        millions / begin.elapsed().as_secs_f64()
    );
    println!(
        "{} locks, {} barriers, {} gates, {} semaphores, {} constructs, {} units",
        program.locks.len(),
        program.barriers.len(),
        program.gates.len(),
        program.tokens.len(),
        program.constructs.len(),
        program.constructs.iter().map(Vec::len).sum::<usize>(),
    );
    program.warnings.iter().for_each(|warning| println!("{warning}"));
    let begin = Instant::now();
    let mut feed = RecordedFeed::new(&prepared, false);
    let (mut blocks, mut acts, mut sum) = (0u64, 0u64, 0u64);
    for thread in 0..program.threads.len() {
        loop {
            match feed.next(thread) {
                Item::Block(_, addresses) => {
                    blocks += 1;
                    sum = sum.wrapping_add(addresses.first().copied().unwrap_or(0));
                }
                Item::Partial(..) => blocks += 1,
                Item::End => break,
                _ => acts += 1,
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{blocks} blocks, {acts} acts in {seconds:.3} s: {:.0} M instructions/s ({sum:x})",
        millions / seconds
    );
}
