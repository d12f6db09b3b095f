//! One line, a few caches and their directory: every state that can be reached is legal.

use std::collections::BTreeSet;

use super::{Answer, Holders, Protocol, State, Wish, next};
use crate::machine::Coherence;

/// A cache's copy. Values are the last that was written, or older.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    state: State,
    is_latest: bool,
}

/// Everything there is of the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct System {
    copies: Vec<Copy>,
    holders: Holders,
    /// The directory's own copy.
    is_latest: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Load,
    Store,
    /// A copy is given up, and the directory is told.
    GiveUp,
    /// A clean one is, and it is not.
    Forget,
}

const EVENTS: [Event; 4] = [Event::Load, Event::Store, Event::GiveUp, Event::Forget];

impl System {
    fn new(caches: usize) -> System {
        System { copies: vec![Copy::default(); caches], holders: Holders::default(), is_latest: true }
    }

    fn ask(&mut self, protocol: Protocol, cache: usize, wish: Wish) {
        let bit = 1 << cache;
        let Answer { holders, granted, invalidate, downgrade } =
            next(protocol, State::Modified, self.holders.without(bit), bit, wish);
        for (other, copy) in self.copies.iter_mut().enumerate() {
            let (taken, shared) = (invalidate >> other & 1 == 1, downgrade >> other & 1 == 1);
            assert!(other != cache || !(taken || shared), "the one that asks is not asked");
            if (taken || shared) && copy.state == State::Modified {
                self.is_latest = copy.is_latest;
            }
            if taken {
                *copy = Copy::default();
            } else if shared && copy.state != State::Invalid {
                copy.state = State::Shared;
            }
        }
        let is_latest = if self.copies[cache].state == State::Invalid {
            self.is_latest
        } else {
            self.copies[cache].is_latest
        };
        self.copies[cache] = Copy { state: granted, is_latest };
        self.holders = holders;
    }

    fn store(&mut self, cache: usize) {
        self.copies.iter_mut().for_each(|copy| copy.is_latest = false);
        self.is_latest = false;
        self.copies[cache] = Copy { state: State::Modified, is_latest: true };
    }

    /// What follows, if the event can happen.
    fn after(&self, protocol: Protocol, cache: usize, event: Event) -> Option<System> {
        let mut system = self.clone();
        let copy = self.copies[cache];
        match event {
            Event::Load if copy.state == State::Invalid => system.ask(protocol, cache, Wish::Read),
            Event::Load => {}
            Event::Store => {
                if !copy.state.may_write() {
                    system.ask(protocol, cache, Wish::Write);
                    assert!(system.copies[cache].is_latest, "a store may be to a part of the line");
                }
                system.store(cache);
            }
            Event::GiveUp if copy.state != State::Invalid => {
                if copy.state == State::Modified {
                    system.is_latest = copy.is_latest;
                }
                system.copies[cache] = Copy::default();
                system.holders = system.holders.without(1 << cache);
            }
            Event::Forget if matches!(copy.state, State::Shared | State::Exclusive) => {
                system.copies[cache] = Copy::default();
            }
            Event::GiveUp | Event::Forget => return None,
        }
        Some(system)
    }

    fn check(&self, protocol: Coherence) {
        let valid = || self.copies.iter().enumerate().filter(|(_, copy)| copy.state != State::Invalid);
        let writers = valid().filter(|(_, copy)| copy.state.may_write()).count();
        assert!(writers == 0 || valid().count() == 1, "one writer, or readers: {self:?}");
        assert!(valid().all(|(_, copy)| copy.is_latest), "what is read is what was written last: {self:?}");
        assert!(
            self.is_latest || valid().any(|(_, copy)| copy.state == State::Modified),
            "nothing is lost: {self:?}"
        );
        for (cache, copy) in valid() {
            assert!(self.holders.mask >> cache & 1 == 1, "the directory knows all copies: {self:?}");
            assert_eq!(self.holders.owned, copy.state.may_write(), "and who may write: {self:?}");
        }
        assert!(!self.holders.owned || self.holders.mask.count_ones() == 1, "{self:?}");
        if protocol == Coherence::Msi {
            assert!(valid().all(|(_, copy)| copy.state != State::Exclusive), "{self:?}");
        }
    }
}

/// All states that can be reached.
fn explore(protocol: Coherence, caches: usize) -> BTreeSet<System> {
    let mut found = BTreeSet::from([System::new(caches)]);
    let mut open = vec![System::new(caches)];
    while let Some(system) = open.pop() {
        for cache in 0..caches {
            for event in EVENTS {
                let Some(after) = system.after(Protocol::Coherent(protocol), cache, event) else { continue };
                after.check(protocol);
                if found.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }
    found
}

#[test]
fn every_state_of_two_three_and_four_caches_is_legal() {
    let count = |protocol, caches| explore(protocol, caches).len();
    // By hand, for two caches: what the directory thinks (none, one reader, both, one owner) and what of it is true.
    // Readers: 1 + 2 · 2 + 4 with clean memory = 9. MSI owners: 2 with a copy; an owner's copy is dirty and cannot be
    // forgotten. MESI: also 2 with clean copies and 2 that were forgotten; MESI's readers are never alone at first.
    assert_eq!(count(Coherence::Msi, 2), 11);
    assert_eq!(count(Coherence::Mesi, 2), 15);
    for caches in [3, 4] {
        for protocol in [Coherence::Msi, Coherence::Mesi] {
            assert!(count(protocol, caches) > 20);
        }
    }
}

#[test]
fn a_lone_reader_may_write_with_mesi_only() {
    let read = |protocol| next(protocol, State::Modified, Holders::default(), 1, Wish::Read).granted;
    assert_eq!(read(Protocol::Coherent(Coherence::Mesi)), State::Exclusive);
    assert_eq!(read(Protocol::Coherent(Coherence::Msi)), State::Shared);
    assert_eq!(read(Protocol::Incoherent), State::Exclusive);
}

#[test]
fn a_directory_without_the_right_to_write_does_not_pass_it_on() {
    let protocol = Protocol::Coherent(Coherence::Mesi);
    let answer = next(protocol, State::Shared, Holders::default(), 1, Wish::Read);
    assert_eq!(answer.granted, State::Shared);
    assert!(!answer.holders.owned);
}

#[test]
fn without_coherence_no_one_is_disturbed() {
    let others = Holders { mask: 0b110, owned: true };
    for wish in [Wish::Read, Wish::Write] {
        let answer = next(Protocol::Incoherent, State::Exclusive, others, 1, wish);
        assert_eq!((answer.invalidate, answer.downgrade, answer.holders.mask), (0, 0, 0b111));
        assert!(answer.granted.may_write());
    }
}
