//! A parallel iterator that is none: each item computes with a `std::sync::Mutex` locked.
//! `--cfg fixed` is the fixed program.
use rayon::prelude::*;
use std::sync::Mutex;

const QUERIES: u64 = 440;
const PARSE_US: u64 = 200;
const SCORE_US: u64 = 2_000;
const BUCKETS: usize = 64;
/// Iterations of `compute` in a microsecond, rounded, as in work.h.
const ITERATIONS_PER_US: u64 = 600;

static RANKING: Mutex<[u64; BUCKETS]> = Mutex::new([0; BUCKETS]);

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
fn score(words: u64) -> u64 {
    compute(words, SCORE_US)
}

#[inline(never)]
fn rank_query(query: u64) {
    let words = compute(query, PARSE_US);
    #[cfg(fixed)]
    let points = score(words); // FIX: score before RANKING is locked
    let mut ranking = RANKING.lock().unwrap();
    #[cfg(not(fixed))]
    let points = score(words); // PLANTED: 2 ms of scoring with the guard of RANKING alive
    let bucket = &mut ranking[(query % BUCKETS as u64) as usize];
    *bucket = bucket.wrapping_add(points);
}

fn argument(position: usize, otherwise: u64) -> u64 {
    std::env::args().nth(position).map_or(otherwise, |text| text.parse().expect("a positive number"))
}

fn main() {
    let threads = argument(1, 4) as usize;
    let queries = QUERIES * argument(2, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| (0..queries).into_par_iter().for_each(rank_query));
    let ranking = RANKING.lock().unwrap();
    let sum = ranking.iter().fold(0u64, |hash, bucket| hash.wrapping_mul(31).wrapping_add(*bucket));
    println!("rayon_lock checksum {sum:016x}");
}
