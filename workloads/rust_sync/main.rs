//! std::sync in Rust: workers take documents from channels and hold the index's lock while they analyse.
//! Build with `rustc -O -g main.rs`; `--cfg fixed` is the fixed program.
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const DOCUMENTS: u64 = 440;
const READ_US: u64 = 200;
const ANALYSE_US: u64 = 2_000;
const SHELVES: usize = 64;
/// Iterations of `compute` in a microsecond, rounded, as in work.h.
const ITERATIONS_PER_US: u64 = 600;

static INDEX: Mutex<[u64; SHELVES]> = Mutex::new([0; SHELVES]);

#[inline(always)]
fn compute(seed: u64, us: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    for _ in 0..us * ITERATIONS_PER_US {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[inline(never)]
fn analyse(text: u64) -> u64 {
    compute(text, ANALYSE_US)
}

#[cfg(not(fixed))]
#[inline(never)]
fn insert_document(document: u64, text: u64) -> u64 {
    let mut index = INDEX.lock().unwrap();
    let terms = analyse(text); // PLANTED: 2 ms of analysis with the guard of INDEX alive
    let shelf = &mut index[(document % SHELVES as u64) as usize];
    *shelf = shelf.wrapping_add(terms);
    terms
}

#[cfg(fixed)]
#[inline(never)]
fn insert_document(document: u64, text: u64) -> u64 {
    let terms = analyse(text); // FIX: analyse before INDEX is locked
    let mut index = INDEX.lock().unwrap();
    let shelf = &mut index[(document % SHELVES as u64) as usize];
    *shelf = shelf.wrapping_add(terms);
    terms
}

#[inline(never)]
fn index_worker(documents: Receiver<u64>, done: Sender<u64>) {
    for document in documents {
        let text = compute(document, READ_US);
        done.send(insert_document(document, text)).unwrap();
    }
}

fn argument(position: usize, otherwise: u64) -> u64 {
    std::env::args().nth(position).map_or(otherwise, |text| text.parse().expect("a positive number"))
}

fn main() {
    let threads = argument(1, 4);
    let documents = DOCUMENTS * argument(2, 1);
    let (done, results) = channel();
    let mut queues = Vec::new();
    let mut workers = Vec::new();
    for number in 0..threads {
        let (queue, own_documents) = channel();
        let own_done = done.clone();
        let builder = thread::Builder::new().name(format!("indexer-{number}"));
        workers.push(builder.spawn(move || index_worker(own_documents, own_done)).unwrap());
        queues.push(queue);
    }
    drop(done);
    for document in 0..documents {
        queues[(document % threads) as usize].send(document).unwrap();
    }
    drop(queues);
    let sum = results.iter().fold(0u64, u64::wrapping_add);
    for worker in workers {
        worker.join().unwrap();
    }
    let shelves = INDEX.lock().unwrap();
    let index = shelves.iter().fold(0u64, |hash, shelf| hash.wrapping_mul(31).wrapping_add(*shelf));
    println!("rust_sync checksum {:016x}", index ^ sum);
}
