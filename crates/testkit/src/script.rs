//! What the threads of an invented program do.

use holdup_model::{Frame, ObjectId, ObjectKind, Process, Site, SiteId, SyncObject, Thread, ThreadId, Time};

/// A bounded queue of a [`Script`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueId(pub(crate) usize);

/// One thing that a thread does. Times are in nanoseconds; the site is where the call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Computes.
    Work(u64),
    /// Takes a lock; waiters get it in the order in which they came.
    Lock(ObjectId, SiteId),
    /// Takes a lock together with other readers, though a writer may wait; readers that wait all get it together.
    Share(ObjectId, SiteId),
    /// Releases a lock.
    Unlock(ObjectId),
    /// Waits at a barrier.
    Meet(ObjectId, SiteId),
    /// Takes one from a semaphore.
    Take(ObjectId, SiteId),
    /// Gives one to a semaphore.
    Post(ObjectId, SiteId),
    /// Puts an item into a queue; waits on its condition variable *not full* while there is no room.
    Put(QueueId, SiteId),
    /// Gets an item from a queue; waits on its condition variable *not empty* while there is none.
    Get(QueueId, SiteId),
    /// Says by a broadcast that nothing more comes: who gets an item from an empty queue then goes on without one.
    Close(QueueId, SiteId),
    /// Waits for a read from a file or socket.
    Read(u64, SiteId),
    /// Sleeps.
    Sleep(u64, SiteId),
    /// Starts a thread.
    Start(ThreadId),
    /// Waits for the end of a thread.
    Join(ThreadId, SiteId),
}

#[derive(Debug)]
pub(crate) struct BoundedQueue {
    pub(crate) capacity: usize,
    pub(crate) not_empty: ObjectId,
    pub(crate) not_full: ObjectId,
    /// Held for no time at each visit.
    pub(crate) mutex: Option<ObjectId>,
}

/// An invented program. Thread 0 is the main thread, which runs from the start; the others run when started.
#[derive(Debug)]
pub struct Script {
    pub(crate) process: Process,
    pub(crate) ops: Vec<Vec<Op>>,
    pub(crate) queues: Vec<BoundedQueue>,
    pub(crate) values: Vec<(ObjectId, u32)>,
    pub(crate) latency: u64,
    join_site: SiteId,
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Script {
    /// A program whose main thread does nothing yet.
    pub fn new() -> Self {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(0));
        process.threads.push(thread("main", None));
        let join_site = process.add_site(place("main", 1));
        Self { process, ops: vec![Vec::new()], queues: Vec::new(), values: Vec::new(), latency: 0, join_site }
    }

    /// Lets each thread that was released wait `nanos` longer until it runs.
    pub fn wake_up_takes(&mut self, nanos: u64) {
        self.latency = nanos;
    }

    /// A named object.
    pub fn object(&mut self, kind: ObjectKind, name: &str) -> ObjectId {
        let id = self.process.add_object(kind, 0x1000 + 64 * self.process.objects.len() as u64);
        self.process.objects[id.index()].name = Some(name.to_owned());
        id
    }

    /// A barrier for `parties` threads.
    pub fn barrier(&mut self, name: &str, parties: u32) -> ObjectId {
        let id = self.object(ObjectKind::Barrier, name);
        self.process.objects[id.index()].parties = Some(parties);
        id
    }

    /// A semaphore that begins with `value`.
    pub fn semaphore(&mut self, name: &str, value: u32) -> ObjectId {
        let id = self.object(ObjectKind::Semaphore, name);
        self.values.push((id, value));
        id
    }

    /// A queue with room for `capacity` items, whose two condition variables are named after it.
    pub fn queue(&mut self, name: &str, capacity: usize) -> QueueId {
        let not_empty = self.object(ObjectKind::Condition, &format!("{name}_not_empty"));
        let not_full = self.object(ObjectKind::Condition, &format!("{name}_not_full"));
        self.queues.push(BoundedQueue { capacity, not_empty, not_full, mutex: None });
        QueueId(self.queues.len() - 1)
    }

    /// A queue of which the recording has its mutex too, as each visit takes it, for no time.
    pub fn guarded_queue(&mut self, name: &str, capacity: usize) -> QueueId {
        let queue = self.queue(name, capacity);
        self.queues[queue.0].mutex = Some(self.object(ObjectKind::Mutex, &format!("{name}_mutex")));
        queue
    }

    /// The condition variables of a queue: *not empty*, and *not full*.
    pub fn conditions(&self, queue: QueueId) -> [ObjectId; 2] {
        let queue = &self.queues[queue.0];
        [queue.not_empty, queue.not_full]
    }

    /// A line of `main.c` in this function.
    pub fn site(&mut self, function: &str, line: u32) -> SiteId {
        self.process.add_site(place(function, line))
    }

    /// A thread that starts with the function `entry`, of which its name is made, and does `ops`.
    pub fn thread(&mut self, entry: &str, ops: Vec<Op>) -> ThreadId {
        let id = ThreadId::new(self.ops.len() as u32);
        let site = self.process.add_site(place(entry, 0));
        self.process.threads.push(thread(&format!("{entry} {id}", id = id.index()), Some(site)));
        self.process.objects.push(SyncObject {
            kind: ObjectKind::ThreadEnd,
            address: id.index() as u64,
            name: None,
            created_at: None,
            parties: None,
            thread: Some(id),
            shared: false,
            construct: None,
            is_condition_barrier: false,
        });
        self.ops.push(ops);
        id
    }

    /// What the main thread does next.
    pub fn main_does(&mut self, ops: &[Op]) {
        self.ops[0].extend_from_slice(ops);
    }

    /// The main thread starts these threads and waits for their ends.
    pub fn main_runs(&mut self, threads: &[ThreadId]) {
        let join_site = self.join_site;
        self.ops[0].extend(threads.iter().map(|&thread| Op::Start(thread)));
        self.ops[0].extend(threads.iter().map(|&thread| Op::Join(thread, join_site)));
    }
}

fn place(function: &str, line: u32) -> Site {
    let frame = Frame {
        function: Some(function.to_owned()),
        file: Some("/src/main.c".to_owned()),
        line: (line > 0).then_some(line),
        module: Some("app".to_owned()),
        ..Frame::default()
    };
    Site { frames: vec![frame], ..Site::default() }
}

fn thread(name: &str, entry: Option<SiteId>) -> Thread {
    Thread {
        name: Some(name.to_owned()),
        tid: 0,
        start: Time::from_nanos(0),
        end: None,
        parent: None,
        entry,
        created_at: None,
        cpu: None,
        cpu_when_last_read: None,
    }
}
