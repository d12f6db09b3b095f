//! What an object is for, where its kind does not say: a futex word may be a mutex of a language's runtime, a
//! condition variable its global lock, and any of them the queue at which idle threads wait for work.

use std::collections::{BTreeMap, BTreeSet};

use crate::completions::{Completions, Team};
use crate::own_locks::used_as_locks;
use crate::sorts::sort_of_thread;
use crate::{Frame, ObjectId, ObjectKind, Places, Process, Routine, RoutineKind, Site, ThreadId};

/// What a function name of a runtime says about the futex that it waits on. The first match counts, so that a
/// condition variable's wait, which names its mutex too, is none for the mutex.
const SIGNS: &[(&str, ObjectKind)] = &[
    ("condvar", ObjectKind::Condition),
    ("rwlock", ObjectKind::RwLock),
    ("rw_lock", ObjectKind::RwLock),
    ("mutex", ObjectKind::Mutex),
    ("once", ObjectKind::Once),
    ("semaphore", ObjectKind::Semaphore),
];

/// What the objects of a process are for, each by id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roles {
    /// The kind, with futexes told apart by the runtime functions that wait on them, and a mutex for `hidden` locks.
    pub kinds: Vec<ObjectKind>,
    /// The runtime's lock that it is.
    pub hidden: Vec<Option<&'static Routine>>,
    /// Whether threads wait on it for something to do: in a runtime's routine for that, or at a queue that only
    /// threads of other sorts put into.
    pub is_idle: Vec<bool>,
    /// By object: those that did what was waited for there, though others wait on it for something else.
    joined: BTreeSet<(ObjectId, ThreadId)>,
    /// See [`Roles::ended_on`].
    ended_on: BTreeMap<ThreadId, ObjectId>,
    /// Threads that give work to others in rounds, and wait until these have done it.
    givers: BTreeMap<ThreadId, Team>,
    /// The object that stands for it: a hidden lock may be made of a condition variable, a mutex and more.
    stands_for: Vec<ObjectId>,
}

/// What tells of an object: the least site by its content, not by its id or position, so that the order of waits
/// does not matter.
#[derive(Clone, Default)]
struct Told<'a> {
    role: Option<(&'a Site, ObjectKind)>,
    hidden: Option<(&'a Site, &'static Routine)>,
    is_idle: bool,
    /// Some wait for the end of what they gave to others, and some do not.
    joins: bool,
    does_not_join: bool,
}

impl Roles {
    pub(crate) fn of(process: &Process, places: &Places, completions: Completions) -> Self {
        let mut told: Vec<Told<'_>> = vec![Told::default(); process.objects.len()];
        // Many waits are at few sites.
        let mut said: Vec<Option<Said>> = vec![None; process.sites.len()];
        for wait in &process.waits {
            let Some(id) = wait.site else { continue };
            let site = process.site(id);
            let said = *said[id.index()].get_or_insert_with(|| Said::at(site, places.joins(Some(id))));
            told[wait.object.index()].look_at(process.object(wait.object).kind, site, said);
        }
        let is_queue = work_queues(process);
        let is_unknown = |(object, told): (&crate::SyncObject, &Told<'_>)| {
            let is_bare = matches!(object.kind, ObjectKind::Futex | ObjectKind::Condition);
            is_bare && told.role.is_none() && told.hidden.is_none() && !told.is_idle
        };
        let unknown: Vec<bool> = process.objects.iter().zip(&told).map(is_unknown).collect();
        let is_lock = used_as_locks(process, &unknown);
        let Completions { by: joined, ended_on, givers, .. } = completions;
        let mut roles = Self { joined, ended_on, givers, ..Self::default() };
        for (((object, told), is_queue), is_lock) in
            process.objects.iter().zip(told).zip(is_queue).zip(is_lock)
        {
            let by_name = object.name.as_deref().and_then(Routine::of_object);
            let hidden = told.hidden.map(|(_, routine)| routine).or(by_name);
            let kind = match (hidden, told.role) {
                (Some(routine), _) if routine.is_of_openmp => ObjectKind::OmpLock,
                (Some(_), _) if !object.kind.is_lock() => ObjectKind::Mutex,
                _ if object.kind.is_signal() && told.joins && !told.does_not_join => ObjectKind::ThreadEnd,
                (_, Some((_, role))) => role,
                _ if is_lock => ObjectKind::Mutex,
                _ => object.kind,
            };
            roles.kinds.push(kind);
            roles.hidden.push(hidden);
            let is_idle = kind == ObjectKind::Team || told.is_idle || is_queue;
            roles.is_idle.push(kind.is_signal() && is_idle);
        }
        roles.stands_for = stands_for(process, &roles.hidden);
        roles
    }

    /// What a wait for this object is for that ends by what this thread does.
    pub fn kind_for(&self, object: ObjectId, by: Option<ThreadId>) -> ObjectKind {
        match by {
            Some(by) if self.joined.contains(&(object, by)) => ObjectKind::ThreadEnd,
            _ => self.kinds[object.index()],
        }
    }

    /// On what the end of a thread was waited for, if on something else than its end: it counted down before.
    pub fn ended_on(&self, thread: ThreadId) -> Option<ObjectId> {
        self.ended_on.get(&thread).copied()
    }

    /// True if this thread gives work to others in rounds: nobody takes from it while it works.
    pub fn gives_in_rounds(&self, thread: ThreadId) -> bool {
        self.givers.contains_key(&thread)
    }

    /// Who gives one of these threads work in rounds, and does a part of it itself.
    pub fn who_takes_part(&self, threads: &[ThreadId]) -> Option<ThreadId> {
        let gives =
            |team: &Team| team.takes_part && threads.iter().any(|thread| team.members.contains(thread));
        self.givers.iter().find(|(_, team)| gives(team)).map(|(giver, _)| *giver)
    }

    /// True if threads wait for this object until others have done all that they were given, and perhaps for more.
    pub fn joins(&self, object: ObjectId) -> bool {
        let least = ThreadId::new(0);
        self.joined.range((object, least)..).next().is_some_and(|(joined, _)| *joined == object)
    }

    /// The object that stands for this one.
    pub(crate) fn at(&self, object: ObjectId) -> ObjectId {
        self.stands_for[object.index()]
    }

    /// All objects that are one with this: the parts of a runtime's lock, else itself alone.
    pub fn parts(&self, object: ObjectId) -> Vec<ObjectId> {
        // None but those of a runtime are made of several.
        let first = self.stands_for.get(object.index()).filter(|_| self.hidden[object.index()].is_some());
        let Some(first) = first else { return vec![object] };
        let all = self.stands_for.iter().zip(0..);
        all.filter(|(other, _)| *other == first).map(|(_, index)| ObjectId::new(index)).collect()
    }
}

/// The first condition variable or futex of a hidden lock stands for all that belongs to it.
fn stands_for(process: &Process, hidden: &[Option<&'static Routine>]) -> Vec<ObjectId> {
    let mut first: BTreeMap<&str, ObjectId> = BTreeMap::new();
    for (index, (object, routine)) in process.objects.iter().zip(hidden).enumerate() {
        if let Some(routine) = routine.filter(|_| object.kind.is_signal()) {
            first.entry(routine.name).or_insert(ObjectId::new(index as u32));
        }
    }
    let known = |(index, routine): (usize, &Option<&'static Routine>)| {
        let first = routine.and_then(|routine| first.get(routine.name));
        first.copied().unwrap_or(ObjectId::new(index as u32))
    };
    hidden.iter().enumerate().map(known).collect()
}

/// What a site says of an object that is waited for there.
#[derive(Clone, Copy)]
struct Said {
    role: Option<ObjectKind>,
    hidden: Option<&'static Routine>,
    is_idle: bool,
    joins: bool,
}

impl Said {
    fn at(site: &Site, joins: bool) -> Said {
        Said {
            role: role_at(site),
            hidden: site.routine(|kind| kind == RoutineKind::Lock),
            is_idle: site.routine(|kind| kind == RoutineKind::Idle).is_some(),
            joins,
        }
    }
}

impl<'a> Told<'a> {
    fn look_at(&mut self, kind: ObjectKind, site: &'a Site, said: Said) {
        if kind == ObjectKind::Futex
            && let Some(role) = said.role
            && self.role.is_none_or(|(known, _)| site < known)
        {
            self.role = Some((site, role));
        }
        if matches!(kind, ObjectKind::Barrier | ObjectKind::ThreadEnd) {
            return;
        }
        if let Some(routine) = said.hidden
            && self.hidden.is_none_or(|(known, _)| site < known)
        {
            self.hidden = Some((site, routine));
        }
        self.is_idle |= said.is_idle;
        self.joins |= said.joins;
        self.does_not_join |= !said.joins;
    }
}

/// By object: whether only threads of one sort wait on it, and only others signal it. A barrier that is made of a
/// condition variable, or a pool of slots, is signalled by the threads that also wait.
fn work_queues(process: &Process) -> Vec<bool> {
    let sorts: Vec<Option<String>> = (0..process.threads.len())
        .map(|index| sort_of_thread(process, ThreadId::new(index as u32)))
        .collect();
    let sort = |thread: ThreadId| sorts[thread.index()].as_deref();
    let mut waiters: Vec<BTreeSet<Option<&str>>> = vec![BTreeSet::new(); process.objects.len()];
    let mut givers = waiters.clone();
    for wait in &process.waits {
        waiters[wait.object.index()].insert(sort(wait.thread));
    }
    for wake in &process.wakes {
        givers[wake.object.index()].insert(sort(wake.thread));
    }
    let is_queue = |(waiters, givers): (BTreeSet<Option<&str>>, BTreeSet<Option<&str>>)| {
        // The main thread, and those of which nothing is known, are of no sort.
        waiters.len() == 1 && !waiters.contains(&None) && !givers.is_empty() && waiters.is_disjoint(&givers)
    };
    waiters.into_iter().zip(givers).map(is_queue).collect()
}

fn role_at(site: &Site) -> Option<ObjectKind> {
    let runtime = site.frames.iter().take_while(|frame| !frame.is_program());
    runtime.filter_map(role_of_frame).next()
}

fn role_of_frame(frame: &Frame) -> Option<ObjectKind> {
    let name = frame.function.as_deref()?.to_ascii_lowercase();
    SIGNS.iter().find(|(sign, _)| name.contains(sign)).map(|&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Time, Wait};

    fn site(functions: &[&str]) -> Site {
        let frame = |name: &&str| Frame { function: Some((*name).to_owned()), ..Frame::default() };
        Site { frames: functions.iter().map(frame).collect(), ..Site::default() }
    }

    #[test]
    fn the_runtime_tells_what_a_futex_is_for() {
        let mutex = ["std::sys::sync::mutex::futex::Mutex::lock_contended", "insert_document"];
        assert_eq!(role_at(&site(&mutex)), Some(ObjectKind::Mutex));
        let condvar = ["std::sys::sync::condvar::futex::Condvar::wait", "std::sync::Mutex", "take"];
        assert_eq!(role_at(&site(&condvar)), Some(ObjectKind::Condition));
        assert_eq!(role_at(&site(&["std::thread::park", "recv"])), None);
    }

    #[test]
    fn what_a_runtime_s_lock_is_made_of_is_one() {
        let at = Time::from_nanos;
        let mut process = Process::new(at(0), at(100));
        let thread = process.add_thread("main", at(0), None);
        let monitor = ["os::PlatformEvent::park", "ObjectMonitor::EnterI", "ObjectMonitor::enter"];
        let [monitor, own] = [site(&monitor), site(&["my_wait"])].map(|site| process.add_site(site));
        let objects = [1, 2, 3].map(|address| process.add_object(ObjectKind::Condition, address));
        for (object, site) in objects.into_iter().zip([monitor, own, monitor]) {
            process.waits.push(Wait { site: Some(site), ..Wait::granted(thread, object, at(10), at(20)) });
        }
        let roles = Roles::of(&process, &Places::of(&process), Completions::default());
        assert_eq!(roles.parts(objects[0]), [objects[0], objects[2]]);
        assert_eq!(roles.parts(objects[2]), roles.parts(objects[0]));
        assert_eq!(roles.parts(objects[1]), [objects[1]]);
        assert_eq!(roles.kinds[objects[0].index()], ObjectKind::Mutex);
        assert_eq!(Roles::default().parts(objects[1]), [objects[1]]);
    }

    #[test]
    fn the_program_s_own_names_tell_nothing() {
        assert_eq!(role_at(&site(&["my_mutex_test", "main"])), None);
    }
}
