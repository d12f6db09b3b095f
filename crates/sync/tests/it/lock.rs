//! Locks: all interleavings of a few threads, and random ones of more.

use std::collections::BTreeSet;

use holdup_model::{Mode, ThreadId};
use holdup_sync::{Answer, Lock};
use proptest::prelude::*;

/// What a thread is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Doing {
    /// It has so many acquisitions before it.
    Outside(u8),
    Asleep(u8),
    /// It was woken, and has not tried again yet.
    Woken(u8),
    Holds(u8),
}

/// A lock, the threads around it, and in which mode each wants it.
#[derive(Clone, Debug)]
struct Scene {
    lock: Lock,
    threads: Vec<(Doing, Mode)>,
}

/// What one thread can do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Acquire,
    Try,
    Release,
    GiveUp,
}

impl Scene {
    fn new(modes: &[Mode], times: u8) -> Self {
        let threads = modes.iter().map(|&mode| (Doing::Outside(times), mode)).collect();
        Self { lock: Lock::default(), threads }
    }

    /// What can happen now, waiting no longer included where `patience` is not endless.
    fn moves(&self, gives_up: bool) -> Vec<(usize, Move)> {
        let mut moves = Vec::new();
        for (index, (doing, _)) in self.threads.iter().enumerate() {
            match doing {
                Doing::Outside(0) => {}
                Doing::Outside(_) => moves.extend([(index, Move::Acquire), (index, Move::Try)]),
                Doing::Woken(_) => moves.push((index, Move::Acquire)),
                Doing::Holds(_) => moves.push((index, Move::Release)),
                Doing::Asleep(_) if gives_up => moves.push((index, Move::GiveUp)),
                Doing::Asleep(_) => {}
            }
        }
        moves
    }

    fn make(&mut self, (index, what): (usize, Move)) {
        let thread = ThreadId::new(index as u32);
        let (doing, mode) = self.threads[index];
        let left = match doing {
            Doing::Outside(left) | Doing::Asleep(left) | Doing::Woken(left) | Doing::Holds(left) => left,
        };
        self.threads[index].0 = match what {
            Move::Acquire => match self.lock.acquire(thread, mode) {
                Answer::Go => Doing::Holds(left - 1),
                Answer::Wait => Doing::Asleep(left),
            },
            Move::Try if self.lock.try_acquire(thread, mode) => Doing::Holds(left - 1),
            Move::Try => Doing::Outside(left - 1),
            Move::GiveUp => {
                self.lock.forget(thread);
                Doing::Outside(left - 1)
            }
            Move::Release => {
                let mut woken = Vec::new();
                self.lock.release(thread, &mut woken);
                for other in woken {
                    let (doing, _) = &mut self.threads[other.index()];
                    let Doing::Asleep(left) = *doing else { panic!("{other:?} is woken and does not sleep") };
                    *doing = Doing::Woken(left);
                }
                Doing::Outside(left)
            }
        };
        self.check();
    }

    fn check(&self) {
        let holds = |mode| {
            let all = self.threads.iter().filter(|(doing, _)| matches!(doing, Doing::Holds(_)));
            all.filter(|(_, other)| *other == mode).count()
        };
        let (writers, readers) = (holds(Mode::Exclusive), holds(Mode::Shared));
        assert!(writers <= 1 && (writers == 0 || readers == 0), "{self:?}");
        assert_eq!(self.lock.is_free(), writers + readers == 0, "{self:?}");
        let asleep = self.threads.iter().filter(|(doing, _)| matches!(doing, Doing::Asleep(_))).count();
        assert_eq!(self.lock.waiters(), asleep, "{self:?}");
        // No wake-up is lost: a free lock that somebody waits for has one on the way to it.
        let is_coming = self.threads.iter().any(|(doing, _)| matches!(doing, Doing::Woken(_)));
        assert!(!self.lock.is_free() || asleep == 0 || is_coming, "{self:?}");
    }

    fn is_done(&self) -> bool {
        self.threads.iter().all(|(doing, _)| *doing == Doing::Outside(0))
    }

    fn key(&self) -> String {
        format!("{self:?}")
    }
}

/// Goes through all that can happen; gives the number of states.
fn explore(first: Scene, gives_up: bool) -> usize {
    let mut seen = BTreeSet::from([first.key()]);
    let mut open = vec![first];
    while let Some(scene) = open.pop() {
        let moves = scene.moves(gives_up);
        assert!(!moves.is_empty() || scene.is_done(), "asleep for ever: {scene:?}");
        for next in moves {
            let mut after = scene.clone();
            after.make(next);
            if seen.insert(after.key()) {
                open.push(after);
            }
        }
    }
    seen.len()
}

/// All ways to choose modes for so many threads, up to their order.
fn modes(threads: usize) -> Vec<Vec<Mode>> {
    (0..=threads)
        .map(|readers| {
            (0..threads).map(|thread| if thread < readers { Mode::Shared } else { Mode::Exclusive }).collect()
        })
        .collect()
}

#[test]
fn two_threads_in_every_order() {
    for modes in modes(2) {
        assert!(explore(Scene::new(&modes, 3), false) > 50);
        assert!(explore(Scene::new(&modes, 3), true) > 50);
    }
}

#[test]
fn three_threads_in_every_order() {
    for modes in modes(3) {
        assert!(explore(Scene::new(&modes, 2), false) > 200);
        assert!(explore(Scene::new(&modes, 2), true) > 200);
    }
}

#[test]
fn four_threads_in_every_order() {
    for modes in modes(4) {
        assert!(explore(Scene::new(&modes, 1), false) > 80);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_threads_in_some_orders(
        readers in 0..5usize,
        writers in 1..6usize,
        gives_up in any::<bool>(),
        choices in proptest::collection::vec(any::<u16>(), 0..400),
    ) {
        let modes: Vec<Mode> = (0..readers + writers)
            .map(|thread| if thread < readers { Mode::Shared } else { Mode::Exclusive })
            .collect();
        let mut scene = Scene::new(&modes, 20);
        for choice in choices {
            let moves = scene.moves(gives_up);
            if moves.is_empty() {
                break;
            }
            scene.make(moves[usize::from(choice) % moves.len()]);
        }
        // Then nobody begins anything new: all that waits gets its turn.
        for (doing, _) in &mut scene.threads {
            match doing {
                Doing::Outside(left) | Doing::Holds(left) => *left = 0,
                Doing::Asleep(left) | Doing::Woken(left) => *left = 1,
            }
        }
        while let Some(&next) = scene.moves(false).first() {
            scene.make(next);
        }
        prop_assert!(scene.is_done(), "{:?}", scene);
    }
}

fn thread(number: u32) -> ThreadId {
    ThreadId::new(number)
}

fn released(lock: &mut Lock, by: u32) -> Vec<ThreadId> {
    let mut may_try = Vec::new();
    lock.release(thread(by), &mut may_try);
    may_try
}

#[test]
fn a_thread_may_take_it_again_and_frees_it_with_the_last_release() {
    let mut lock = Lock::default();
    for _ in 0..3 {
        assert_eq!(lock.acquire(thread(0), Mode::Exclusive), Answer::Go);
    }
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Wait);
    assert_eq!(released(&mut lock, 0), []);
    assert_eq!(released(&mut lock, 0), []);
    assert_eq!((lock.owner(), lock.waiters()), (Some(thread(0)), 1));
    assert_eq!(released(&mut lock, 0), [thread(1)]);
    assert!(lock.is_free());
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Go);
    assert_eq!(lock.owner(), Some(thread(1)));
}

#[test]
fn an_owner_may_read_what_it_writes() {
    let mut lock = Lock::default();
    assert_eq!(lock.acquire(thread(0), Mode::Exclusive), Answer::Go);
    assert_eq!(lock.acquire(thread(0), Mode::Shared), Answer::Go);
    released(&mut lock, 0);
    assert_eq!(lock.owner(), Some(thread(0)));
    released(&mut lock, 0);
    assert!(lock.is_free());
}

#[test]
fn readers_come_in_together_and_the_last_one_wakes_the_writer() {
    let mut lock = Lock::default();
    assert_eq!(lock.acquire(thread(0), Mode::Shared), Answer::Go);
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Wait);
    // A writer waits, and readers still come in.
    assert_eq!(lock.acquire(thread(2), Mode::Shared), Answer::Go);
    assert_eq!(released(&mut lock, 0), []);
    assert_eq!(released(&mut lock, 2), [thread(1)]);
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Go);
    for reader in [3, 4] {
        assert_eq!(lock.acquire(thread(reader), Mode::Shared), Answer::Wait);
    }
    assert_eq!(lock.acquire(thread(5), Mode::Exclusive), Answer::Wait);
    assert_eq!(lock.acquire(thread(6), Mode::Shared), Answer::Wait);
    // All readers go together, whatever stands between them.
    assert_eq!(released(&mut lock, 1), [thread(3), thread(4), thread(6)]);
    assert_eq!(lock.waiters(), 1);
}

#[test]
fn a_release_wakes_nobody_while_one_is_on_its_way() {
    let mut lock = Lock::default();
    assert_eq!(lock.acquire(thread(0), Mode::Exclusive), Answer::Go);
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Wait);
    assert_eq!(lock.acquire(thread(2), Mode::Exclusive), Answer::Wait);
    assert_eq!(released(&mut lock, 0), [thread(1)]);
    for _ in 0..3 {
        assert_eq!(lock.acquire(thread(0), Mode::Exclusive), Answer::Go);
        assert_eq!(released(&mut lock, 0), []);
    }
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Go);
    assert_eq!(released(&mut lock, 1), [thread(2)]);
}

#[test]
fn who_holds_nothing_releases_nothing() {
    let mut lock = Lock::default();
    assert_eq!(released(&mut lock, 0), []);
    assert_eq!(lock.acquire(thread(0), Mode::Shared), Answer::Go);
    assert_eq!(lock.acquire(thread(1), Mode::Exclusive), Answer::Wait);
    // Thread 1 is let through, and releases what it never got.
    lock.forget(thread(1));
    assert_eq!(released(&mut lock, 1), []);
    assert!(!lock.is_free());
    assert_eq!(lock.acquire(thread(2), Mode::Exclusive), Answer::Wait);
    assert_eq!(released(&mut lock, 1), []);
    assert_eq!(released(&mut lock, 0), [thread(2)]);
    assert_eq!(lock.acquire(thread(2), Mode::Exclusive), Answer::Go);
    assert_eq!(released(&mut lock, 1), []);
    assert_eq!(lock.owner(), Some(thread(2)));
}
