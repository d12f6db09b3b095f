//! A parallel iterator whose last item takes as long as half of all others: one thread computes, the rest have
//! nothing left to steal. `--cfg fixed` is the fixed program.
use rayon::prelude::*;

const REGIONS: u64 = 240;
const REGION_US: u64 = 2_500;
/// The last region is that many times as large as the others.
const LARGE: u64 = 260;
/// Iterations of `compute` in a microsecond, rounded, as in work.h.
const ITERATIONS_PER_US: u64 = 600;

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
fn measure_piece(region: u64, piece: u64) -> u64 {
    compute(region << 20 | piece, REGION_US)
}

#[cfg(not(fixed))]
#[inline(never)]
fn measure_region(region: u64, pieces: u64) -> u64 {
    let mut sum = 0u64;
    for piece in 0..pieces {
        sum = sum.wrapping_add(measure_piece(region, piece)); // PLANTED: a large region is one item, one thread's
    }
    sum
}

#[cfg(fixed)]
#[inline(never)]
fn measure_region(region: u64, pieces: u64) -> u64 {
    // FIX: its pieces are items too, which can be stolen
    (0..pieces).into_par_iter().map(|piece| measure_piece(region, piece)).reduce(|| 0, u64::wrapping_add)
}

fn argument(position: usize, otherwise: u64) -> u64 {
    std::env::args().nth(position).map_or(otherwise, |text| text.parse().expect("a positive number"))
}

fn main() {
    let threads = argument(1, 4) as usize;
    let scale = argument(2, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let regions = REGIONS * scale;
    let pieces = |region| if region + 1 == regions { LARGE * scale } else { 1 };
    let sum = pool.install(|| {
        (0..regions)
            .into_par_iter()
            .map(|region| measure_region(region, pieces(region)))
            .reduce(|| 0, u64::wrapping_add)
    });
    println!("rayon_uneven checksum {sum:016x}");
}
