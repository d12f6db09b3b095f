// The same by a bounded channel of Rust's standard library.
use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

const RUNS: u64 = 20;
const LENGTH: u64 = 24;
const DEAR: u64 = 900_000;
const CHEAP: u64 = 60_000;
/// PLANTED: room for less than a run of pieces.
const ROOM: usize = 2;

fn compute(seed: u64, steps: u64) -> u64 {
    let mut x = seed | 1;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

#[inline(never)]
fn unpack_pieces(unpacked: SyncSender<u64>) {
    for piece in 0..RUNS * LENGTH {
        let steps = if piece / LENGTH % 2 == 0 { DEAR } else { CHEAP };
        unpacked.send(compute(piece, steps)).expect("the indexer is there");
    }
}

#[inline(never)]
fn index_pieces(unpacked: Receiver<u64>) -> u64 {
    let mut checksum = 0u64;
    for piece in 0..RUNS * LENGTH {
        let steps = if piece / LENGTH % 2 == 0 { CHEAP } else { DEAR };
        checksum = checksum.wrapping_add(compute(unpacked.recv().expect("the unpacker is there"), steps));
    }
    checksum
}

fn main() {
    let (sender, receiver) = sync_channel(ROOM);
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    let unpacker = named("unpacker").spawn(move || unpack_pieces(sender)).expect("a thread");
    let indexer = named("indexer").spawn(move || index_pieces(receiver)).expect("a thread");
    unpacker.join().expect("it ends well");
    println!("channel checksum {:016x}", indexer.join().expect("it ends well"));
}
