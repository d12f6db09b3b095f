//! Async handlers on tokio that render with a `std::sync::Mutex` locked: each that waits for it keeps a worker of the
//! runtime, and with all workers kept no other task gets on. `--cfg fixed` is the fixed program.
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

const REQUESTS: u64 = 400;
const READ_US: u64 = 200;
const RENDER_US: u64 = 2_000;
const PAGES: usize = 64;
/// Iterations of `compute` in a microsecond, rounded, as in work.h.
const ITERATIONS_PER_US: u64 = 600;

struct Site {
    pages: Mutex<[u64; PAGES]>,
}

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
fn render_page(request: u64) -> u64 {
    compute(request, RENDER_US)
}

#[inline(never)]
fn store_page(pages: &mut [u64; PAGES], request: u64, page: u64) {
    let place = &mut pages[(request % PAGES as u64) as usize];
    *place = place.wrapping_add(page);
}

#[cfg(not(fixed))]
async fn answer(site: &Arc<Site>, request: u64) -> u64 {
    let words = compute(request, READ_US);
    let mut pages = site.pages.lock().unwrap(); // keeps this worker of the runtime until it is free
    let page = render_page(words); // PLANTED: 2 ms of computing on a worker, with the lock held
    store_page(&mut pages, request, page);
    page
}

#[cfg(fixed)]
async fn answer(site: &Arc<Site>, request: u64) -> u64 {
    let words = compute(request, READ_US);
    // FIX: render on a thread that may compute for long, and lock for the store alone
    let page = tokio::task::spawn_blocking(move || render_page(words)).await.expect("it renders");
    store_page(&mut site.pages.lock().unwrap(), request, page);
    page
}

async fn connection(site: Arc<Site>, first: u64, step: u64, requests: u64, answers: mpsc::Sender<u64>) {
    for request in (first..requests).step_by(step as usize) {
        let page = answer(&site, request).await;
        answers.send(page).await.expect("main listens");
    }
}

fn argument(position: usize, otherwise: u64) -> u64 {
    std::env::args().nth(position).map_or(otherwise, |text| text.parse().expect("a positive number"))
}

fn main() {
    let workers = argument(1, 4);
    let requests = REQUESTS * argument(2, 1);
    let connections = workers * 2;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers as usize)
        .max_blocking_threads(workers as usize)
        .build()
        .expect("a runtime");
    let site = Arc::new(Site { pages: Mutex::new([0; PAGES]) });
    let sum = runtime.block_on(async {
        let (send, mut answers) = mpsc::channel(16);
        for number in 0..connections {
            tokio::spawn(connection(site.clone(), number, connections, requests, send.clone()));
        }
        drop(send);
        let mut sum = 0u64;
        while let Some(page) = answers.recv().await {
            sum = sum.wrapping_add(page);
        }
        sum
    });
    let pages = site.pages.lock().unwrap();
    let hash = pages.iter().fold(sum, |hash, page| hash.wrapping_mul(31).wrapping_add(*page));
    println!("tokio_blocking checksum {hash:016x}");
}
