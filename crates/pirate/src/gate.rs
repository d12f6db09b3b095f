//! When who steals is to work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Follows the profiled thread. Stealing begins and ends with its stretches.
pub trait Gate {
    /// Sleeps until the profiled thread wants to run; false: the run is over.
    fn wait_wanted(&self) -> bool;

    /// Told when stealing has begun (the working set is warm): the profiled thread may go.
    fn ready(&self);

    /// Polled every few microseconds: the profiled thread still runs alone.
    fn still(&self) -> bool;
}

impl<G: Gate + ?Sized> Gate for &G {
    fn wait_wanted(&self) -> bool {
        (**self).wait_wanted()
    }

    fn ready(&self) {
        (**self).ready();
    }

    fn still(&self) -> bool {
        (**self).still()
    }
}

/// A gate within one process: who wants something stolen turns it on and off.
#[derive(Debug, Default)]
pub struct Switch {
    on: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Off,
    Wanted,
    On,
    Over,
}

impl Switch {
    /// Returns when stealing has begun; at once, and false, if it is over.
    pub fn turn_on(&self) -> bool {
        self.enter(State::Wanted);
        self.wait_while(State::Wanted) == State::On
    }

    /// Stealing ends within some microseconds.
    pub fn turn_off(&self) {
        self.on.store(false, Ordering::Release);
        self.enter(State::Off);
    }

    /// Ends it for good: also for those who wait.
    pub fn end(&self) {
        self.on.store(false, Ordering::Release);
        self.enter(State::Over);
    }

    /// Goes to `next`, unless it is over.
    fn enter(&self, next: State) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != State::Over {
            *state = next;
        }
        self.changed.notify_all();
    }

    /// What it is when it is no longer `state`.
    fn wait_while(&self, state: State) -> State {
        let held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *self.changed.wait_while(held, |now| *now == state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for Switch {
    fn wait_wanted(&self) -> bool {
        let held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |now: &mut State| matches!(*now, State::Off | State::On);
        *self.changed.wait_while(held, idle).unwrap_or_else(PoisonError::into_inner) == State::Wanted
    }

    fn ready(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have been turned off meanwhile. Only here `on` becomes true, so that no off between two ons is missed.
        if *state == State::Wanted {
            *state = State::On;
            self.on.store(true, Ordering::Release);
        }
        self.changed.notify_all();
    }

    fn still(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn each_turn_is_one_stretch_and_the_end_ends_it() {
        let switch = Switch::default();
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut stretches = 0;
                while switch.wait_wanted() {
                    switch.ready();
                    stretches += 1;
                    while switch.still() {
                        thread::yield_now();
                    }
                }
                stretches
            });
            for _ in 0..5 {
                assert!(switch.turn_on());
                switch.turn_off();
            }
            switch.end();
            assert_eq!(worker.join().unwrap(), 5);
        });
        assert!(!switch.turn_on());
        assert!(!switch.wait_wanted());
    }
}
