//! What a front-end observed of one process, in columns.

use std::collections::BTreeMap;

use crate::openmp::{OpenMp, SyncKind};
use crate::{
    AloneCount, AloneSpan, CpuReading, Nanos, ObjectId, ObjectKind, OnCore, Sample, SeenBy, Site, SiteId,
    ThreadId, Time,
};

/// One process of a recording: facts as they were observed, nothing derived.
///
/// The columns are in no particular order; [`crate::Timeline::build`] sorts what it needs.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Kernel process id; 0 for a process that was never live.
    pub pid: u32,
    /// Kernel process id of the parent.
    pub parent_pid: u32,
    /// Kernel ids of other processes that are reported with it, as they share locks with it, run its program and send to it, or were forked from it: their
    /// threads are among `threads`.
    pub joined: Vec<u32>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// When the process image started.
    pub start: Time,
    /// When it ended, or when the recording did.
    pub end: Time,
    /// Threads by [`ThreadId`]; the first is the main thread.
    pub threads: Vec<Thread>,
    /// Synchronization objects by [`ObjectId`].
    pub objects: Vec<SyncObject>,
    /// Call stacks by [`SiteId`].
    pub sites: Vec<Site>,
    /// Times at which a thread had to wait for an object.
    pub waits: Vec<Wait>,
    /// Holds of locks that were timed.
    pub holds: Vec<Hold>,
    /// Signals, broadcasts, posts and futex wakes.
    pub wakes: Vec<Wake>,
    /// System calls that blocked.
    pub blocks: Vec<Block>,
    /// What the program said about itself.
    pub markers: Vec<Marker>,
    /// How often each thread used each lock.
    pub uses: Vec<ObjectUse>,
    /// What locks cost threads beside waiting for them, where that was looked at.
    pub lock_costs: Vec<LockCost>,
    /// Locks that were waited for and taken very often, by thread.
    pub busy_locks: Vec<BusyLock>,
    /// Spans in which threads were on a core.
    pub on_core: Vec<OnCore>,
    /// When `on_core` tells all: spans that do not overlap, in order of time.
    pub covered: Vec<(Time, Time)>,
    /// When `on_core` is an estimate, from looking at threads now and then: spans that do not overlap, in order of time.
    pub estimated: Vec<(Time, Time)>,
    /// What threads were seen doing.
    pub samples: Vec<Sample>,
    /// Variables at addresses that samples say several threads accessed near to each other. Hostile.
    pub variables: BTreeMap<u64, String>,
    /// CPU times that were read from time to time where `on_core` does not tell.
    pub readings: Vec<CpuReading>,
    /// What was observed of OpenMP's constructs.
    pub openmp: OpenMp,
    /// Stretches in which one thread was to run by itself.
    pub alone: Vec<AloneSpan>,
    /// What counters said of these threads, where there are any.
    pub alone_counts: Vec<AloneCount>,
    /// Which collectors saw it.
    pub seen_by: SeenBy,
    /// What could not be kept.
    pub lost: LostEvents,
}

/// A thread of a [`Process`].
#[derive(Clone, Debug)]
pub struct Thread {
    /// The name that the program gave it. Hostile: escape it where it is shown.
    pub name: Option<String>,
    /// Kernel thread id, which may have been reused.
    pub tid: u32,
    /// When it started.
    pub start: Time,
    /// When it ended; `None` if it lived until the end of the process.
    pub end: Option<Time>,
    /// The thread that created it.
    pub parent: Option<ThreadId>,
    /// Its start function, as a stack of one frame.
    pub entry: Option<SiteId>,
    /// Where it was created.
    pub created_at: Option<SiteId>,
    /// Its CPU time from start to end (ns), where it could be read at the end.
    pub cpu: Option<Nanos>,
    /// What is known of its CPU time (ns) of threads that were cut off by the end of their process: when it was last read, or what
    /// the kernel's records tell, where that is more.
    pub cpu_when_last_read: Option<Nanos>,
}

impl Thread {
    /// What is known of its CPU time (ns): all of it, or what is known without a reading at its end.
    pub fn known_cpu(&self) -> Option<Nanos> {
        self.cpu.or(self.cpu_when_last_read)
    }
}

/// What a futex is called that stands for whatever somebody waits for by a C++ atomic: the library has a few for all of them.
pub const ATOMIC_WAIT: &str = "std::atomic::wait";

/// A synchronization object of a [`Process`].
#[derive(Clone, Debug)]
pub struct SyncObject {
    /// What it is.
    pub kind: ObjectKind,
    /// Where it lies in the process; for [`ObjectKind::ThreadEnd`] the thread's index.
    pub address: u64,
    /// The symbol of a global object, with an offset if it is a part of one. Hostile.
    pub name: Option<String>,
    /// Where it was initialized.
    pub created_at: Option<SiteId>,
    /// For barriers, how many threads it is for.
    pub parties: Option<u32>,
    /// For [`ObjectKind::ThreadEnd`], the thread.
    pub thread: Option<ThreadId>,
    /// True if other processes use it too.
    pub shared: bool,
    /// The OpenMP construct whose barrier or tasks it is.
    pub construct: Option<SyncKind>,
    /// A barrier that is made of a mutex and this condition variable: see [`Process::find_condition_barriers`].
    pub is_condition_barrier: bool,
}

impl SyncObject {
    /// True for what an OpenMP runtime lets threads wait for in its own way: spinning first, then asleep.
    pub fn is_of_openmp(&self) -> bool {
        let own = [
            ObjectKind::Critical,
            ObjectKind::OmpLock,
            ObjectKind::Ordered,
            ObjectKind::Team,
            ObjectKind::TeamStart,
            ObjectKind::Tasks,
        ];
        self.construct.is_some() || own.contains(&self.kind)
    }
}

/// How a thread wants an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Mode {
    /// For itself alone.
    #[default]
    Exclusive,
    /// Together with other readers.
    Shared,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// The thread got what it waited for.
    #[default]
    Granted,
    /// Its time was up.
    TimedOut,
    /// The call failed or was interrupted.
    Failed,
    /// The recording, the thread or the process ended first.
    Open,
}

/// A span in which a thread waited for an object, from the call to its return.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Who waited.
    pub thread: ThreadId,
    /// When the call could not go on.
    pub begin: Time,
    /// When the call returned.
    pub end: Time,
    /// For what.
    pub object: ObjectId,
    /// Where in the code.
    pub site: Option<SiteId>,
    /// For itself or shared.
    pub mode: Mode,
    /// How it ended.
    pub outcome: Outcome,
    /// Who owned the lock at `begin`, where that could be seen.
    pub owner: Option<ThreadId>,
    /// For condition variables, the mutex that is taken again before the call returns.
    pub mutex: Option<ObjectId>,
    /// The thread's CPU time (ns since its start) at `begin`.
    pub cpu_begin: Option<Nanos>,
    /// The thread's CPU time (ns since its start) at `end`.
    pub cpu_end: Option<Nanos>,
    /// Which meeting of the threads at a barrier it belongs to, where the front-end knows: a number that the waits of
    /// one meeting share, rising with time.
    pub round: Option<u64>,
}

impl Wait {
    /// A wait for an object for itself, which was granted and of which nothing more is known.
    pub fn granted(thread: ThreadId, object: ObjectId, begin: Time, end: Time) -> Wait {
        Wait {
            thread,
            begin,
            end,
            object,
            site: None,
            mode: Mode::Exclusive,
            outcome: Outcome::Granted,
            owner: None,
            mutex: None,
            cpu_begin: None,
            cpu_end: None,
            round: None,
        }
    }
}

/// A span in which a thread held a lock.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Who held it.
    pub thread: ThreadId,
    /// When it was acquired; `None` if only the release was seen.
    pub begin: Option<Time>,
    /// When it was released.
    pub end: Time,
    /// What was held.
    pub object: ObjectId,
    /// Where it was acquired.
    pub acquired_at: Option<SiteId>,
    /// Where it was released.
    pub released_at: Option<SiteId>,
    /// True if another thread waited at the release.
    pub waited_for: bool,
    /// For itself or shared.
    pub mode: Mode,
}

/// How many waiters a [`Wake`] may release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeCount {
    /// At most this many.
    AtMost(u32),
    /// All.
    All,
}

/// A thread released threads that wait on an object: signal, broadcast, post, futex wake.
#[derive(Clone, Debug)]
pub struct Wake {
    /// Who did it.
    pub thread: ThreadId,
    /// When.
    pub time: Time,
    /// The object.
    pub object: ObjectId,
    /// Where in the code.
    pub site: Option<SiteId>,
    /// How many waiters it can release.
    pub count: WakeCount,
}

/// A kind of system call that can block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Call {
    /// `read` and its relatives.
    Read,
    /// `write` and its relatives.
    Write,
    /// `recv` and its relatives.
    Receive,
    /// `send` and its relatives.
    Send,
    /// `accept`, `accept4`.
    Accept,
    /// `connect`.
    Connect,
    /// `poll`, `ppoll`, `select`, `pselect`, `epoll_wait`.
    Poll,
    /// `nanosleep` and its relatives.
    Sleep,
    /// `fsync`, `fdatasync`, `msync`.
    Sync,
    /// `wait`, `waitpid` and their relatives.
    WaitChild,
    /// `flock`, `lockf`, `fcntl` with a lock.
    FileLock,
    /// `sigwait`, `sigsuspend`, `pause` and their relatives.
    Signal,
    /// No call of the program's: a page that it touched was not there.
    PageFault,
    /// Another system call.
    Other,
}

impl Call {
    /// What a person calls it.
    pub fn word(self) -> &'static str {
        match self {
            Call::Read => "read",
            Call::Write => "write",
            Call::Receive => "receive",
            Call::Send => "send",
            Call::Accept => "accept",
            Call::Connect => "connect",
            Call::Poll => "poll",
            Call::Sleep => "sleep",
            Call::Sync => "sync to disk",
            Call::WaitChild => "wait for a child process",
            Call::PageFault => "page fault",
            Call::Other => "system call",
            Call::FileLock => "file lock",
            Call::Signal => "wait for a signal",
        }
    }
}

/// A span in which a thread was in a system call that blocked.
#[derive(Clone, Debug)]
pub struct Block {
    /// Who.
    pub thread: ThreadId,
    /// When the call was made.
    pub begin: Time,
    /// When it returned.
    pub end: Time,
    /// Which.
    pub call: Call,
    /// Nothing that it waited for had come when its time was up. False where that is not known.
    pub timed_out: bool,
    /// Where in the code.
    pub site: Option<SiteId>,
    /// The thread's CPU time (ns since its start) at `begin`.
    pub cpu_begin: Option<Nanos>,
    /// The thread's CPU time (ns since its start) at `end`.
    pub cpu_end: Option<Nanos>,
}

/// What a program can say about itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MarkerKind {
    /// The region of interest begins.
    RegionBegin,
    /// The region of interest ends.
    RegionEnd,
    /// A new phase of the program begins.
    Phase,
    /// A unit of work begins on this thread.
    WorkBegin,
    /// A unit of work ends on this thread.
    WorkEnd,
    /// This thread begins to spin.
    SpinBegin,
    /// This thread goes on.
    SpinEnd,
}

/// Something that the program said about itself through holdup's header or Intel's ITT.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Who said it.
    pub thread: ThreadId,
    /// When.
    pub time: Time,
    /// What.
    pub kind: MarkerKind,
    /// A label. Hostile: escape it where it is shown.
    pub label: Option<String>,
}

/// How often one thread used one lock.
#[derive(Clone, Debug)]
pub struct ObjectUse {
    /// Who; `None` where threads were counted together.
    pub thread: Option<ThreadId>,
    /// What.
    pub object: ObjectId,
    /// Successful acquisitions: an estimate, without bias, where a thread takes thousands of locks in turn (docs/recording.md).
    pub acquisitions: u64,
    /// `try` calls that failed.
    pub failed_tries: u64,
    /// How many holds were timed.
    pub timed_holds: u64,
    /// The time in those holds together (ns).
    pub timed_hold: Nanos,
}

/// What locks cost one thread beside waiting for them: the lock comes from another core, and who waits for it has to be
/// woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockCost {
    /// Who.
    pub thread: ThreadId,
    /// Acquisitions that did not wait; an estimate.
    pub acquisitions: u64,
    /// The time in these (ns), from a sample of them.
    pub acquiring: Nanos,
    /// Releases of locks that others slept for.
    pub hand_overs: u64,
    /// The time in these (ns).
    pub handing_over: Nanos,
}

/// What a lock that somebody waited for cost a thread that took it a thousand times and more, beside waits that were recorded. It is time
/// in which the thread is active in its timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusyLock {
    /// Who.
    pub thread: ThreadId,
    /// Which lock.
    pub object: ObjectId,
    /// Waits that are not recorded, of locks for which it waited very often: brief ones, in which it kept its core.
    pub brief: u64,
    /// The time in these (ns).
    pub waiting: Nanos,
    /// Acquisitions that did not wait; an estimate.
    pub acquisitions: u64,
    /// The time in these (ns), from a sample of them.
    pub acquiring: Nanos,
    /// The time in releases (ns), from a sample of them.
    pub releasing: Nanos,
}

impl BusyLock {
    /// Taking a lock that no other core had takes at most so long, and so does releasing it.
    const ALONE: Nanos = Nanos::new(20);

    /// What the thread would not have spent if nobody else used the lock (ns): its brief waits, how long the lock, though free, took to
    /// come from another core, and how long it took to give it to one.
    pub fn lost(&self) -> Nanos {
        let alone = |times: u64| Nanos::new(Self::ALONE.get().saturating_mul(times));
        let releases = self.acquisitions.saturating_add(self.brief);
        let acquiring = self.acquiring.saturating_sub(alone(self.acquisitions));
        self.waiting + acquiring + self.releasing.saturating_sub(alone(releases))
    }
}

/// What a recording could not keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LostEvents {
    /// Events for which no room was left.
    pub events: u64,
    /// Events dropped inside signal handlers that interrupted the recording of another.
    pub in_signals: u64,
    /// Threads for which no room was left.
    pub threads: u64,
    /// Uses of locks that could not be told apart.
    pub uses: u64,
    /// Bytes that were damaged or cut off in the file.
    pub damaged_bytes: u64,
}

impl LostEvents {
    /// Events, wherever they were lost.
    pub fn all_events(&self) -> u64 {
        self.events.saturating_add(self.in_signals)
    }

    /// All that was lost of the program: events, uses and threads.
    pub fn all(&self) -> u64 {
        self.all_events().saturating_add(self.uses).saturating_add(self.threads)
    }
}

impl std::ops::AddAssign for LostEvents {
    /// As much as there can be where it is more: counts of a damaged recording may be any numbers.
    fn add_assign(&mut self, other: LostEvents) {
        let LostEvents { events, in_signals, threads, uses, damaged_bytes } = self;
        for (sum, more) in [
            (events, other.events),
            (in_signals, other.in_signals),
            (threads, other.threads),
            (uses, other.uses),
            (damaged_bytes, other.damaged_bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Process {
    /// An empty process that lived from `start` to `end`. No process ends before it starts: where a damaged recording says
    /// so, it lived for no time at all.
    pub fn new(start: Time, end: Time) -> Self {
        Self { start, end: end.max(start), ..Self::default() }
    }

    /// Adds a thread; `end` is `None` if it lives until the process ends.
    pub fn add_thread(&mut self, name: &str, start: Time, end: Option<Time>) -> ThreadId {
        self.threads.push(Thread {
            name: Some(name.to_owned()),
            tid: 0,
            start,
            end,
            parent: None,
            entry: None,
            created_at: None,
            cpu: None,
            cpu_when_last_read: None,
        });
        ThreadId::new(self.threads.len() as u32 - 1)
    }

    /// Adds a sync object.
    pub fn add_object(&mut self, kind: ObjectKind, address: u64) -> ObjectId {
        self.objects.push(SyncObject {
            kind,
            address,
            name: None,
            created_at: None,
            parties: None,
            thread: None,
            shared: false,
            construct: None,
            is_condition_barrier: false,
        });
        ObjectId::new(self.objects.len() as u32 - 1)
    }

    /// Adds a call stack.
    pub fn add_site(&mut self, site: Site) -> SiteId {
        self.sites.push(site);
        SiteId::new(self.sites.len() as u32 - 1)
    }

    /// How long the process lived.
    pub fn wall(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// The thread with this id.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// The object with this id.
    pub fn object(&self, id: ObjectId) -> &SyncObject {
        &self.objects[id.index()]
    }

    /// The site with this id.
    pub fn site(&self, id: SiteId) -> &Site {
        &self.sites[id.index()]
    }
}
