//! What threads wait for.

/// What kind of thing threads wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectKind {
    /// A mutual exclusion lock.
    Mutex,
    /// A read-write lock.
    RwLock,
    /// A lock whose waiters spin.
    SpinLock,
    /// A condition variable.
    Condition,
    /// A barrier.
    Barrier,
    /// A counting semaphore.
    Semaphore,
    /// The end of a thread, for which a join waits.
    ThreadEnd,
    /// A one-time initialization.
    Once,
    /// A futex word whose role is not known.
    Futex,
    /// An OpenMP critical section.
    Critical,
    /// An OpenMP lock.
    OmpLock,
    /// The turn at an OpenMP `ordered`.
    Ordered,
    /// The threads of an OpenMP runtime between parallel regions: they wait for the next.
    Team,
    /// The threads of an OpenMP team that have not left their last region yet: the next begins when they have.
    TeamStart,
    /// OpenMP tasks that others wait for.
    Tasks,
    /// What other threads of the program send to one through the kernel: a pipe, a socket, an eventfd.
    Messages,
    /// Room for such messages, where a channel is full.
    Room,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [ObjectKind; ObjectKind::Room as usize + 1] = [
        ObjectKind::Mutex,
        ObjectKind::RwLock,
        ObjectKind::SpinLock,
        ObjectKind::Condition,
        ObjectKind::Barrier,
        ObjectKind::Semaphore,
        ObjectKind::ThreadEnd,
        ObjectKind::Once,
        ObjectKind::Futex,
        ObjectKind::Critical,
        ObjectKind::OmpLock,
        ObjectKind::Ordered,
        ObjectKind::Team,
        ObjectKind::TeamStart,
        ObjectKind::Tasks,
        ObjectKind::Messages,
        ObjectKind::Room,
    ];

    /// True for what threads wait on for a signal.
    pub fn is_signal(self) -> bool {
        !self.is_lock() && !matches!(self, ObjectKind::Barrier | ObjectKind::ThreadEnd)
    }

    /// True for what a program's threads wait on for whatever it means by it: something to do, room, or that others are done.
    pub fn is_of_any_meaning(self) -> bool {
        matches!(
            self,
            ObjectKind::Condition
                | ObjectKind::Semaphore
                | ObjectKind::Futex
                | ObjectKind::Messages
                | ObjectKind::Room
        )
    }

    /// True for that by which threads send to each other: pipes, pairs of sockets and eventfds.
    pub fn is_channel(self) -> bool {
        matches!(self, ObjectKind::Messages | ObjectKind::Room)
    }

    /// True for what one thread holds while others wait for it.
    pub fn is_lock(self) -> bool {
        matches!(
            self,
            ObjectKind::Mutex
                | ObjectKind::RwLock
                | ObjectKind::SpinLock
                | ObjectKind::Critical
                | ObjectKind::OmpLock
        )
    }

    /// The field's word for it.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Mutex => "mutex",
            ObjectKind::RwLock => "read-write lock",
            ObjectKind::SpinLock => "spin lock",
            ObjectKind::Condition => "condition variable",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::ThreadEnd => "thread end",
            ObjectKind::Once => "once",
            ObjectKind::Futex => "futex",
            ObjectKind::Critical => "critical section",
            ObjectKind::OmpLock => "OpenMP lock",
            ObjectKind::Ordered => "ordered section",
            ObjectKind::Team => "thread team",
            ObjectKind::TeamStart => "start of a thread team",
            ObjectKind::Tasks => "tasks",
            ObjectKind::Messages => "messages",
            ObjectKind::Room => "room for messages",
        }
    }

    /// The word for several of a kind of which there are families.
    pub fn plural(self) -> &'static str {
        match self {
            ObjectKind::Mutex => "mutexes",
            ObjectKind::RwLock => "read-write locks",
            ObjectKind::SpinLock => "spin locks",
            ObjectKind::Critical => "critical sections",
            ObjectKind::OmpLock => "OpenMP locks",
            ObjectKind::Futex => "futexes",
            ObjectKind::Condition => "condition variables",
            ObjectKind::Semaphore => "semaphores",
            other => other.word(),
        }
    }
}
