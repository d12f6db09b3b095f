//! The same in Rust: each page has vectors of its own.

use std::thread;

const PAGES: u64 = 60;
const PIXELS: usize = 3 << 16;

#[inline(never)]
fn clean_page(page: u64) -> f64 {
    let mut low = vec![0.0; PIXELS]; // PLANTED: vectors for each page
    for (pixel, value) in low.iter_mut().enumerate() {
        *value = ((pixel as u64 * 7 + page) & 255) as f64;
    }
    let high: Vec<f64> = low.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mid: Vec<f64> = low.iter().zip(&high).map(|(low, high)| low + 0.5 * high).collect();
    mid.iter().sum()
}

fn main() {
    let scale: u64 = std::env::args().nth(1).map_or(6, |scale| scale.parse().expect("a number"));
    let cleaners: Vec<_> = (0..2)
        .map(|first| thread::spawn(move || (0..PAGES * scale).map(|page| clean_page(2 * page + first)).sum::<f64>()))
        .collect();
    let sum: f64 = cleaners.into_iter().map(|cleaner| cleaner.join().expect("it does not panic")).sum();
    println!("fresh_buffers sum {sum}");
}
