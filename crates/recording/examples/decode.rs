//! Decodes all instruction streams of a recording, and does nothing with them: what `cargo xtask bench sim` compares
//! simulating with. Prints decode_ns and how many blocks there were.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use holdup_recording::{Instructions, Recording, Step};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: decode RECORDING")?;
    let (recording, _) = Recording::open(Path::new(&path))?;
    let instructions = Instructions::of(&recording).ok_or("there are no instruction streams")?;
    let begin = Instant::now();
    let (mut blocks, mut sum) = (0u64, 0u64);
    for stream in instructions.streams() {
        let mut cursor = instructions.cursor(stream);
        while let Some(step) = cursor.step() {
            if let Step::Block(block) = step {
                blocks += 1;
                sum ^= cursor.addresses(block).last().copied().unwrap_or(0);
            }
        }
    }
    black_box(sum);
    println!("decode_ns {}\nblocks {blocks}", begin.elapsed().as_nanos());
    Ok(())
}
