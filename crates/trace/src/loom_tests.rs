//! All orders in which two or three threads can do what programs and the recorder do with shared memory:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p holdup-trace --lib`.

use std::vec;
use std::vec::Vec;

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::live::{Block, Clock, Doing, ThreadCell};
use crate::shared::{pop, push, take_all};

/// Tries all orders.
fn model(orders: impl Fn() + Sync + Send + 'static) {
    let builder = Builder::new();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        orders();
    });
    let count = count.load(Ordering::Relaxed);
    std::eprintln!("{count} orders");
    assert!(count > 100, "nothing was tried");
}

/// Slots or chunks that are free, and whose they are now.
struct Pool {
    head: AtomicU64,
    links: Vec<AtomicU32>,
    owners: Vec<AtomicU32>,
}

impl Pool {
    fn of(count: u32) -> Pool {
        let pool = Pool {
            head: AtomicU64::new(0),
            links: (0..count).map(|_| AtomicU32::new(0)).collect(),
            owners: (0..count).map(|_| AtomicU32::new(0)).collect(),
        };
        (0..count).rev().for_each(|index| push(&pool.head, index, &pool.links[index as usize]));
        pool
    }

    fn take(&self) -> Option<u32> {
        let index = pop(&self.head, |index| self.links.get(index as usize))?;
        assert_eq!(self.owners[index as usize].swap(1, Ordering::Relaxed), 0, "{index} is taken twice");
        Some(index)
    }

    fn give_back(&self, index: u32) {
        assert_eq!(self.owners[index as usize].swap(0, Ordering::Relaxed), 1);
        push(&self.head, index, &self.links[index as usize]);
    }

    /// Everything that is on the stack, from its top on.
    fn all(&self) -> Vec<u32> {
        let mut at = take_all(&self.head);
        let mut found = Vec::new();
        while let Some(index) = at.checked_sub(1) {
            found.push(index);
            at = self.links[index as usize].load(Ordering::Relaxed);
        }
        found
    }
}

/// Threads take what is free and give it back in another order, which is what mistakes an element for another (ABA).
#[test]
fn nothing_is_taken_by_two_and_nothing_is_lost() {
    model(|| {
        let pool = Arc::new(Pool::of(2));
        let other = Arc::clone(&pool);
        let taker = thread::spawn(move || {
            let taken = (other.take(), other.take());
            taken.0.into_iter().for_each(|index| other.give_back(index));
            taken.1.into_iter().for_each(|index| other.give_back(index));
        });
        if let Some(index) = pool.take() {
            pool.give_back(index);
        }
        taker.join().unwrap();
        let mut all = pool.all();
        all.sort_unstable();
        assert_eq!(all, [0, 1]);
    });
}

/// Two threads hand full chunks over while the recorder takes all that there are: it gets each once, with what is in it.
#[test]
fn each_full_chunk_is_read_once_and_whole() {
    model(|| {
        let pool = Arc::new(Pool {
            head: AtomicU64::new(0),
            links: (0..2).map(|_| AtomicU32::new(0)).collect(),
            // What the chunk holds.
            owners: (0..2).map(|_| AtomicU32::new(0)).collect(),
        });
        let threads: Vec<_> = (0..2)
            .map(|index| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || {
                    pool.owners[index as usize].store(7 + index, Ordering::Relaxed);
                    push(&pool.head, index, &pool.links[index as usize]);
                })
            })
            .collect();
        let mut read = Vec::new();
        let mut look = |pool: &Pool| {
            for index in pool.all() {
                read.push(pool.owners[index as usize].load(Ordering::Relaxed));
            }
        };
        look(&pool);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        look(&pool);
        read.sort_unstable();
        assert_eq!(read, [7, 8]);
    });
}

/// The double word: whoever changes it meanwhile, nobody is counted twice or forgotten, and what is read is what it was.
#[test]
fn the_clock_counts_who_is_active_and_shows_what_it_was() {
    model(|| {
        let clock = Arc::new(Clock::default());
        clock.starts(100);
        let other = Arc::clone(&clock);
        let thread = thread::spawn(move || {
            other.joins(200);
            other.leaves(300);
        });
        clock.joins(200);
        let seen = clock.read();
        assert!([1, 2].contains(&seen.active()), "{seen:?}");
        // Nobody was active before 200; then one or two were.
        let whole = 100 << crate::live::FRACTION_BITS;
        let possible = match (seen.time(), seen.active()) {
            (200, _) => vec![0],
            (300, 1) => vec![whole / 2, whole],
            _ => vec![],
        };
        assert!(possible.contains(&seen.progress), "{seen:?}");
        thread.join().unwrap();
        clock.leaves(300);
        assert_eq!(clock.read().active(), 0);
    });
}

/// Who looks at a thread's sums while it changes them sees those before or those after.
#[test]
fn a_threads_sums_are_read_whole() {
    model(|| {
        let block = Arc::new((Block::default(), ThreadCell::default()));
        block.0.clock.starts(0);
        block.1.begins(&block.0.clock, 0);
        let other = Arc::clone(&block);
        let thread = thread::spawn(move || other.1.stops(&other.0.clock, 50, Doing::Team));
        // Without that no other order is tried.
        thread::yield_now();
        let seen = block.1.read();
        let gained = 50 << crate::live::FRACTION_BITS;
        match seen.doing {
            Doing::Active => assert_eq!((seen.criticality, seen.active, seen.changes), (0, 0, 0)),
            _ => assert_eq!(
                (seen.doing, seen.criticality, seen.active, seen.changes),
                (Doing::Team, gained, 50, 1)
            ),
        }
        thread.join().unwrap();
        assert_eq!(block.1.read().active, 50);
    });
}
