//! What a thread did, as it is drawn: the states of the timeline, with waits told apart by what was waited for.

use holdup_model::{LossClass, ObjectKind, State};

/// How a span is drawn. The numbers are those of the columns and of the script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Shade {
    /// Useful work while a lock is held, as far as holds were timed.
    Holding,
    /// Other useful work.
    Active,
    Spinning,
    /// Blocked on a lock.
    Lock,
    /// Blocked until others arrive or end.
    Barrier,
    /// Blocked until a signal, a post, a wake, or something that is not known.
    Signal,
    Waking,
    Descheduled,
    Io,
    Asleep,
    NotRecorded,
}

impl Shade {
    /// From the bottom of a mixture to its top.
    pub(super) const ALL: [Shade; 11] = [
        Shade::Holding,
        Shade::Active,
        Shade::Spinning,
        Shade::Lock,
        Shade::Barrier,
        Shade::Signal,
        Shade::Waking,
        Shade::Descheduled,
        Shade::Io,
        Shade::Asleep,
        Shade::NotRecorded,
    ];

    /// The shade of a state in which a thread waits for, or spins at, an object of this role, where that is known.
    pub(crate) fn of(state: State, role: Option<ObjectKind>) -> Shade {
        match state {
            State::Active => Shade::Active,
            State::Spinning => Shade::Spinning,
            State::Waking => Shade::Waking,
            State::Descheduled => Shade::Descheduled,
            State::Io => Shade::Io,
            State::Asleep => Shade::Asleep,
            State::NotRecorded => Shade::NotRecorded,
            State::Blocked => match role.map(LossClass::of_wait) {
                Some(LossClass::Lock | LossClass::OmpLock | LossClass::Turn) => Shade::Lock,
                // A team that has nothing to do waits for a word.
                Some(LossClass::Meeting) if role != Some(ObjectKind::Barrier) => Shade::Signal,
                Some(LossClass::Meeting | LossClass::Join) => Shade::Barrier,
                _ => Shade::Signal,
            },
        }
    }

    /// The shade of a wait for an object of this role.
    pub(super) fn of_wait(role: Option<ObjectKind>) -> Shade {
        Shade::of(State::Blocked, role)
    }

    /// The state in a few words, as a legend and a sentence have it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Shade::Holding => "active, holding a lock",
            Shade::Active => "active",
            Shade::Spinning => "spinning",
            Shade::Lock => "blocked on a lock",
            Shade::Barrier => "waiting for others at a barrier or join",
            Shade::Signal => "waiting for a signal",
            Shade::Waking => "waking up",
            Shade::Descheduled => "without a core",
            Shade::Io => "in I/O",
            Shade::Asleep => "asleep",
            Shade::NotRecorded => "not recorded",
        }
    }

    /// The CSS variable of its colour, without the dashes.
    pub(crate) fn color(self) -> &'static str {
        match self {
            Shade::Holding => "hold",
            Shade::Active => "act",
            Shade::Spinning => "spin",
            Shade::Lock => "lock",
            Shade::Barrier => "bar",
            Shade::Signal => "sig",
            Shade::Waking => "wake",
            Shade::Descheduled => "des",
            Shade::Io => "io",
            Shade::Asleep => "sleep",
            Shade::NotRecorded => "hatch",
        }
    }
}
