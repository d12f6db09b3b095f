//! A program whose critical thread names itself: one of four works ten times as much between barriers.

use std::hint::black_box;
use std::sync::{Arc, Barrier};

fn main() {
    println!("kept {}", holdup_annotate::own_criticality().is_some());
    let barrier = Arc::new(Barrier::new(4));
    let worker = |number: u32| {
        let barrier = Arc::clone(&barrier);
        std::thread::spawn(move || {
            for _ in 0..50 {
                (0..if number == 2 { 1_000_000 } else { 100_000 }).for_each(|at: u64| _ = black_box(at));
                barrier.wait();
            }
            if let (Some(own), Some(all)) = (holdup_annotate::own_criticality(), holdup_annotate::criticality()) {
                let most = all.iter().max_by_key(|thread| thread.criticality);
                if most.is_some_and(|most| most.tid == own.tid) {
                    println!("critical: {number}");
                }
            }
            barrier.wait();
        })
    };
    let workers: Vec<_> = (0..4).map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
