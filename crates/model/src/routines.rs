//! What is known of routines of runtimes: which functions spin, idle, or wait for a lock that the program cannot see, and
//! which do something that has a name. The table is data: `routines.tsv`.

use std::sync::LazyLock;

use crate::{Frame, Site};

/// The table. Its head says what the columns mean.
const TABLE: &str = include_str!("routines.tsv");

/// How many frames an outer function may be from the inner one.
const FARTHEST: usize = 5;

/// What a thread does in a routine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RoutineKind {
    /// On a core in it, it waits, or does nothing that is the program's.
    Spin,
    /// Blocked in it, it has nothing to do.
    Idle,
    /// It waits for a lock of the runtime's own.
    Lock,
    /// It waits for the others of a barrier that a library made.
    Barrier,
    /// Blocked in it, it waits until others have done all that it gave them.
    Join,
    /// Blocked in it, it waits for room in a queue.
    Room,
}

/// A waiting routine of a runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// What a thread does in it.
    pub kind: RoutineKind,
    /// What a person calls it.
    pub name: &'static str,
    /// What can be done; `None` for nothing special.
    pub hint: Option<&'static str>,
    /// True where a thread has nothing to do, rather than waits for something that it needs: always for
    /// [`RoutineKind::Idle`], and for a runtime's search for work.
    pub seeks_work: bool,
    /// True where those who have nothing to do in it are a runtime's own helpers: they are no workers of the program.
    pub serves: bool,
    /// True where it takes the next part of a loop.
    pub deals: bool,
    /// True where it is the way into or out of a lock, whose waiters may be blocked as well.
    pub is_lock: bool,
    /// True for OpenMP's locks, critical sections and turns: what acquiring them takes is counted where they are called
    /// ([`crate::openmp::Acquires`]).
    pub is_of_openmp: bool,
    inner: Vec<Pattern>,
    within: Vec<Pattern>,
}

impl Routine {
    /// The lock of a runtime whose global object has this name.
    pub fn of_object(name: &str) -> Option<&'static Routine> {
        let is_named = |pattern: &Pattern| matches!(pattern, Pattern::Object(object) if object.have(name));
        ROUTINES.iter().find(|routine| routine.inner.iter().any(is_named))
    }
}

static ROUTINES: LazyLock<Vec<Routine>> = LazyLock::new(|| TABLE.lines().filter_map(routine).collect());

/// What runs the program's work.
static WORK: LazyLock<Vec<Pattern>> = LazyLock::new(|| inner_of("work"));

/// What runs whatever the program says.
static CALLS: LazyLock<Vec<Pattern>> = LazyLock::new(|| inner_of("calls"));

/// The functions of all rows of a kind.
fn inner_of(kind: &str) -> Vec<Pattern> {
    let row = |line: &'static str| {
        let (own, rest) = line.split_once('\t')?;
        rest.split('\t').next().filter(|_| own == kind)
    };
    TABLE.lines().filter_map(row).flat_map(patterns).collect()
}

/// Something that a runtime does for the program, with a name of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Activity {
    /// What a person calls it.
    pub name: &'static str,
    /// What can be done; `None` for nothing special.
    pub hint: Option<&'static str>,
    functions: Vec<Pattern>,
}

static ACTIVITIES: LazyLock<Vec<Activity>> = LazyLock::new(|| {
    let activity = |line: &'static str| {
        let mut fields = line.strip_prefix("does\t")?.split('\t');
        let functions = patterns(fields.next()?).collect();
        let (name, hint) = (fields.nth(1)?, fields.next()?);
        Some(Activity { name, hint: special(hint), functions })
    };
    TABLE.lines().filter_map(activity).collect()
});

/// A hint that is one.
fn special(hint: &'static str) -> Option<&'static str> {
    (hint != "-").then_some(hint)
}

fn patterns(list: &'static str) -> impl Iterator<Item = Pattern> {
    list.split(',').filter(|pattern| *pattern != "-").map(Pattern::of)
}

fn routine(line: &'static str) -> Option<Routine> {
    let line = (!line.starts_with('#')).then_some(line)?;
    let mut fields = line.split('\t');
    let word = fields.next()?;
    let (kind, seeks_work) = match word {
        "spin" | "fight" | "omp-spin" | "deal" => (RoutineKind::Spin, false),
        "seek" => (RoutineKind::Spin, true),
        "idle" | "serve" => (RoutineKind::Idle, true),
        "lock" | "omp-lock" => (RoutineKind::Lock, false),
        "barrier" => (RoutineKind::Barrier, false),
        "join" => (RoutineKind::Join, false),
        "room" => (RoutineKind::Room, false),
        _ => return None,
    };
    let is_lock = matches!(word, "lock" | "fight" | "omp-lock");
    let is_of_openmp = word.starts_with("omp-");
    let (inner, within) = (patterns(fields.next()?).collect(), patterns(fields.next()?).collect());
    let (name, hint) = (fields.next()?, fields.next()?);
    Some(Routine {
        kind,
        name,
        hint: special(hint),
        seeks_work,
        serves: word == "serve",
        deals: word == "deal",
        is_lock,
        is_of_openmp,
        inner,
        within,
    })
}

impl Frame {
    /// True for what runs whatever the program says: that it is on a stack says nothing.
    pub fn is_interpreter(&self) -> bool {
        CALLS.iter().any(|pattern| matches!(*pattern, Pattern::Function(name) if self.is_called(name)))
    }

    fn is_called(&self, name: Names) -> bool {
        self.function.as_deref().is_some_and(|own| name.have(own))
    }
}

/// The row of the table that has the calls by which memory comes and goes.
const ADDRESS_SPACE: &str = "the address space's lock (mmap, munmap, page faults)";

impl Site {
    /// True for a stack in which a running thread waits: in a loop that only another thread can end, or in a routine that
    /// spins.
    pub fn waits_on_a_core(&self) -> bool {
        self.in_waiting_loop || self.routine(|kind| kind == RoutineKind::Spin).is_some()
    }

    /// True for a stack in a call that gives the process memory, or takes it away: `munmap`, `madvise`, `brk`.
    pub fn maps_memory(&self) -> bool {
        self.routine(|kind| kind == RoutineKind::Lock).is_some_and(|routine| routine.name == ADDRESS_SPACE)
    }

    /// The waiting routine that a thread with this stack is in, of the kinds that `wanted` accepts.
    pub fn routine(&self, wanted: impl Fn(RoutineKind) -> bool) -> Option<&'static Routine> {
        let own = self.frames.iter().position(|frame| frame.is_program() || self.is_in(&WORK, frame));
        // With the first of the program's own: libraries that the table names count as such.
        let inner = self.frames.iter().take(own.map_or(self.frames.len(), |own| own + 1));
        let is_inner = |routine: &Routine, index: usize, frame: &Frame| {
            self.is_in(&routine.inner, frame) && (routine.within.is_empty() || self.is_within(routine, index))
        };
        ROUTINES
            .iter()
            .filter(|routine| wanted(routine.kind))
            .find(|routine| inner.clone().enumerate().any(|(index, frame)| is_inner(routine, index, frame)))
    }

    /// True if its place is the routine's own code, and not code of the program that called it: to name the place says no more than to
    /// name the routine.
    pub fn is_placed_in(&self, routine: &Routine) -> bool {
        let place =
            self.place().and_then(|place| self.frames.iter().position(|one| std::ptr::eq(one, place)));
        let mut outwards = self.frames.iter().skip(place.unwrap_or(usize::MAX)).take(FARTHEST + 1);
        outwards.any(|frame| self.is_in(&routine.inner, frame) || self.is_in(&routine.within, frame))
    }

    /// What a runtime does here for the program: the outermost on the stack that has a name of its own.
    pub fn activity(&self) -> Option<&'static Activity> {
        let of = |frame: &Frame| ACTIVITIES.iter().find(|activity| self.is_in(&activity.functions, frame));
        self.frames.iter().rev().find_map(of)
    }

    fn is_in(&self, patterns: &[Pattern], frame: &Frame) -> bool {
        patterns.iter().any(|pattern| match *pattern {
            Pattern::Function(name) => frame.is_called(name),
            Pattern::Module(name) => is_of(name, frame),
            Pattern::Unnamed(name) => {
                let innermost = || self.frames.iter().find(|other| is_of(name, other));
                frame.function.is_none()
                    && is_of(name, frame)
                    && innermost().is_some_and(|innermost| std::ptr::eq(innermost, frame))
            }
            Pattern::Object(_) => false,
        })
    }

    /// True if the frame at `inner` is called by one of the routine's outer functions: from near, and with nothing of the
    /// program in between. So a function that the program lets the loader, a pool or an interpreter call is not taken
    /// for theirs. What lies in a library that the program chose is that library's, as far as the module goes.
    fn is_within(&self, routine: &Routine, inner: usize) -> bool {
        let near = self.frames.iter().enumerate().skip(inner).take(FARTHEST + 1);
        let mut outer = near.filter(|(_, frame)| self.is_in(&routine.within, frame));
        outer.any(|(outer, frame)| {
            let between = self.frames.get(inner + 1..outer).unwrap_or_default();
            let is_its_own = |other: &Frame| frame.is_program() && other.module == frame.module;
            between.iter().all(|other| !other.is_program() || is_its_own(other))
        })
    }
}

fn is_of(module: Names, frame: &Frame) -> bool {
    frame.module.as_deref().is_some_and(|own| module.have(own))
}

/// What a pattern of the table is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Pattern {
    /// A function's name.
    Function(Names),
    /// The module of a function.
    Module(Names),
    /// The module whose innermost function on the stack is this one, which has no name: stripped libraries.
    Unnamed(Names),
    /// The name of a global object.
    Object(Names),
}

impl Pattern {
    fn of(text: &'static str) -> Pattern {
        if let Some(module) = text.strip_prefix("?@") {
            Pattern::Unnamed(Names::of(module))
        } else if let Some(module) = text.strip_prefix('@') {
            Pattern::Module(Names::of(module))
        } else if let Some(name) = text.strip_prefix('&') {
            Pattern::Object(Names::of(name))
        } else {
            Pattern::Function(Names::of(text))
        }
    }
}

/// Names of which a pattern tells; a star in it stands for anything. Most have none, or one at the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Names {
    Whole(&'static str),
    Start(&'static str),
    Stars(&'static str),
}

impl Names {
    fn of(text: &'static str) -> Names {
        match text.split_once('*') {
            None => Names::Whole(text),
            Some((start, "")) => Names::Start(start),
            Some(_) => Names::Stars(text),
        }
    }

    fn have(self, name: &str) -> bool {
        match self {
            Names::Whole(whole) => name == whole,
            Names::Start(start) => name.starts_with(start),
            Names::Stars(pattern) => matches(pattern, name),
        }
    }
}

/// Whole names; a star stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack from `function@module` or `@module`, innermost first.
    fn site(frames: &[&str]) -> Site {
        let frame = |frame: &&str| {
            let (function, module) = frame.rsplit_once('@').expect("function@module");
            Frame {
                function: (!function.is_empty()).then(|| function.to_owned()),
                module: Some(module.to_owned()),
                ..Frame::default()
            }
        };
        Site { frames: frames.iter().map(frame).collect(), ..Site::default() }
    }

    fn lock(frames: &[&str]) -> Option<&'static str> {
        site(frames).routine(|kind| kind == RoutineKind::Lock).map(|routine| routine.name)
    }

    fn spin(frames: &[&str]) -> Option<&'static str> {
        site(frames).routine(|kind| kind == RoutineKind::Spin).map(|routine| routine.name)
    }

    fn idle(frames: &[&str]) -> Option<&'static str> {
        site(frames).routine(|kind| kind == RoutineKind::Idle).map(|routine| routine.name)
    }

    const ARENA: Option<&str> = Some("glibc's malloc arena lock");
    const STDIO: Option<&str> = Some("the lock of a stdio stream (FILE)");
    const LOADER: Option<&str> = Some("the dynamic loader's lock");
    const SPACE: Option<&str> = Some(super::ADDRESS_SPACE);
    const GIL: Option<&str> = Some("Python's global interpreter lock (GIL)");

    #[test]
    fn who_waits_for_the_end_of_what_it_gave_to_others_is_known() {
        let joins = |frames: &[&str]| site(frames).routine(|kind| kind == RoutineKind::Join).is_some();
        let park = ["std::thread::park@app", "std::thread::scoped::scope@app", "render@app"];
        assert!(joins(&park));
        assert!(joins(&["rayon_core::latch::LockLatch::wait_and_reset@app", "render@app"]));
        assert!(joins(&["std::__future_base::_State_baseV2::wait@app", "main@app"]));
        assert!(joins(&["std::latch::wait@app", "main@app"]));
        assert!(joins(&["crossbeam_utils::sync::wait_group::WaitGroup::wait@app", "main@app"]));
        // What the program itself does in a scope is its own.
        assert!(!joins(&["std::thread::park@app", "render@app", "std::thread::scoped::scope@app"]));
    }

    #[test]
    fn who_sends_to_a_full_channel_waits_for_room() {
        let rooms = |frames: &[&str]| site(frames).routine(|kind| kind == RoutineKind::Room).is_some();
        let park = "std::thread::thread::Thread::park@app";
        assert!(rooms(&[park, "std::sync::mpmc::array::Channel<T>::send::{{closure}}@app", "parse@app"]));
        assert!(rooms(&[park, "crossbeam_channel::flavors::array::Channel<T>::send@app", "parse@app"]));
        let receives = [park, "std::sync::mpmc::list::Channel<app::send::Job>::recv@app", "compress@app"];
        assert!(!rooms(&receives) && idle(&receives).is_some());
    }

    #[test]
    fn a_mutex_of_abseil_is_a_lock_and_what_waits_by_one_for_something_else_is_none() {
        let within = |outer: &[&str]| {
            let mutex =
                outer.iter().map(|function| format!("absl::lts::{function}@libabsl_synchronization.so"));
            let waits =
                ["absl::lts::synchronization_internal::Waiter::Wait", "AbslInternalPerThreadSemWait_lts"];
            let waits = waits.map(|function| format!("{function}@libabsl_synchronization.so"));
            let frames: Vec<String> =
                waits.into_iter().chain(mutex).chain(["update@app".to_owned()]).collect();
            lock(&frames.iter().map(String::as_str).collect::<Vec<&str>>())
        };
        let slow = ["Mutex::Block", "Mutex::LockSlowLoop", "Mutex::LockSlowWithDeadline"];
        let locks = [&slow[..], &["Mutex::LockSlow", "Mutex::Lock"]].concat();
        assert_eq!(within(&locks), Some("a mutex of Abseil (absl::Mutex)"));
        assert_eq!(within(&[&slow[..], &["Mutex::LockWhenCommon"]].concat()), None);
        assert_eq!(
            within(&["Mutex::Block", "Mutex::LockSlowLoop", "Mutex::AwaitCommon", "Mutex::Await"]),
            None
        );
        assert_eq!(within(&["CondVar::WaitCommon", "CondVar::Wait"]), None);
    }

    #[test]
    fn every_row_of_the_table_is_understood() {
        let rows: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(rows.iter().all(|row| row.split('\t').count() == 5));
        let of = |kind: &str| rows.iter().filter(|row| row.split('\t').next() == Some(kind)).count();
        assert_eq!(ROUTINES.len() + ACTIVITIES.len(), rows.len() - of("work") - of("calls"));
        assert_eq!(ACTIVITIES.len(), of("does"));
        assert!(ACTIVITIES.iter().all(|activity| !activity.functions.is_empty() && activity.name.len() > 3));
        assert!(ROUTINES.iter().all(|routine| !routine.inner.is_empty() && routine.name.len() > 3));
        assert!(WORK.len() > 3);
        let is_plain = |pattern: &Pattern| !matches!(pattern, Pattern::Function(Names::Start("")));
        assert!(ROUTINES.iter().flat_map(|routine| &routine.inner).all(is_plain));
    }

    #[test]
    fn the_place_of_a_routine_s_own_code_is_not_the_program_s() {
        let is_own = |frames: &[&str]| {
            let site = site(frames);
            site.routine(|kind| kind == RoutineKind::Spin || kind == RoutineKind::Lock)
                .map(|routine| site.is_placed_in(routine))
        };
        let jvm =
            ["SpinPause@libjvm.so", "ObjectMonitor::TrySpin@libjvm.so", "ObjectMonitor::enter@libjvm.so"];
        assert_eq!(is_own(&jvm), Some(true));
        // Whoever lets another have it may have to wait for that one's part of it; more of the stack is not always known.
        assert_eq!(is_own(&["os::PlatformEvent::unpark@libjvm.so"]), Some(true));
        let arena = ["__lll_lock_wait_private@libc.so.6", "malloc@libc.so.6", "new_node@app", "main@app"];
        assert_eq!(is_own(&arena), Some(false));
    }

    #[test]
    fn what_an_interpreter_does_has_a_name_wherever_it_is_on_the_stack() {
        let activity = |frames: &[&str]| site(frames).activity().map(|activity| activity.name);
        let loads = ["r_object@python3.11", "_PyEval_EvalFrameDefault@python3.11"];
        assert_eq!(activity(&loads), None);
        let below =
            [&loads[..], &["PyImport_ImportModuleLevelObject@python3.11", "Py_RunMain@python3.11"]].concat();
        assert_eq!(activity(&below), Some("Python's import of modules"));
        // Of one within another the outer one is what is going on.
        let collects = [&["gc_collect_main@python3.11"], &below[..]].concat();
        assert_eq!(activity(&collects), Some("Python's import of modules"));
        assert_eq!(activity(&collects[..3]), Some("Python's garbage collection"));
        let says_nothing: Vec<bool> = site(&below).frames.iter().map(Frame::is_interpreter).collect();
        assert_eq!(says_nothing, [false, true, false, true]);
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, is) in [
            ("malloc", "malloc", true),
            ("malloc", "malloc_trim", false),
            ("_dl_*", "_dl_open", true),
            ("*kmp_flag_*", "void kmp_flag_64<false>::wait", true),
            ("std::sys::*lock_contended*", "std::sys::sync::mutex::futex::Mutex::lock_contended", true),
            ("std::sys::*lock_contended*", "std::sys::sync::mutex::futex::Mutex::lock", false),
            ("a*a", "a", false),
            ("*end", "the end", true),
            ("*end", "the end of it", false),
        ] {
            assert_eq!(Names::of(pattern).have(name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn java_s_monitors_are_locks_and_its_own_threads_idle() {
        let park = ["__pthread_cond_wait@libc.so.6", "os::PlatformEvent::park@libjvm.so"];
        let with = |outer: &[&'static str]| [&park, outer].concat();
        let monitor = with(&["ObjectMonitor::EnterI@libjvm.so", "ObjectMonitor::enter@libjvm.so"]);
        assert_eq!(lock(&monitor), Some("the monitor of a Java object (synchronized)"));
        let spins =
            ["SpinPause@libjvm.so", "ObjectMonitor::TrySpin@libjvm.so", "ObjectMonitor::enter@libjvm.so"];
        assert_eq!(spin(&spins), Some("the monitor of a Java object (synchronized)"));
        assert_eq!(spin(&monitor), None);
        // Object.wait() waits for what the program does.
        let notified = with(&["ObjectMonitor::wait@libjvm.so", "JVM_MonitorWait@libjvm.so"]);
        assert_eq!((lock(&notified), idle(&notified)), (None, None));
        let compiler =
            ["os::PlatformMonitor::wait@libjvm.so", "Monitor::wait@libjvm.so", "CompileQueue::get@libjvm.so"];
        assert_eq!(idle(&compiler), Some("the Java virtual machine's idle threads"));
    }

    #[test]
    fn the_c_library_s_locks_are_known_by_who_called_them() {
        let inner = "__lll_lock_wait_private@libc.so.6";
        assert_eq!(lock(&[inner, "malloc@libc.so.6", "fill@app"]), ARENA);
        assert_eq!(lock(&[inner, "_int_free@libc.so.6", "free@libc.so.6", "fill@app"]), ARENA);
        assert_eq!(lock(&[inner, "malloc@libc.so.6", "operator new(unsigned long)@libstdc++.so.6"]), ARENA);
        assert_eq!(lock(&[inner, "putc@libc.so.6", "log_line@app"]), STDIO);
        assert_eq!(lock(&["@libc.so.6", "fwrite@libc.so.6", "log_line@app"]), STDIO);
        assert_eq!(
            lock(&[inner, "__random@libc.so.6", "rand@libc.so.6", "draw@app"]),
            Some("the lock of rand() and random()")
        );
        assert_eq!(lock(&[inner, "main@app"]), None);
        // Waiting for the disk under the stream's lock is waiting for the disk.
        assert_eq!(
            lock(&["write@libc.so.6", "@libc.so.6", "@libc.so.6", "fflush@libc.so.6", "main@app"]),
            None
        );
        assert_eq!(lock(&["munmap@libc.so.6", "free@libc.so.6", "drop_buffer@app"]), SPACE);
        assert_eq!(
            lock(&["__GI___lll_lock_wait@app", "_int_malloc@app", "malloc@app", "fill@app"]),
            ARENA,
            "static"
        );
    }

    #[test]
    fn the_loader_s_lock_is_not_that_of_what_it_calls() {
        let mutex = "pthread_mutex_lock@libc.so.6";
        assert_eq!(lock(&["@libc.so.6", mutex, "dl_iterate_phdr@libc.so.6", "trace@app"]), LOADER);
        assert_eq!(lock(&[mutex, "_dl_open@ld-linux-x86-64.so.2", "dlopen@libc.so.6", "load@app"]), LOADER);
        let constructor =
            [mutex, "set_up@libplugin.so", "call_init@ld-linux-x86-64.so.2", "_dl_init@ld-linux-x86-64.so.2"];
        assert_eq!(lock(&constructor), None);
    }

    #[test]
    fn python_s_lock_is_known_with_names_and_without() {
        assert_eq!(lock(&["PyCOND_TIMEDWAIT@libpython3.11.so", "take_gil@libpython3.11.so"]), GIL);
        let wait = "pthread_cond_timedwait@libc.so.6";
        let stripped =
            [wait, "@python3.11", "_PyEval_EvalFrameDefault@python3.11", "_PyFunction_Vectorcall@python3.11"];
        assert_eq!(lock(&stripped), GIL);
        let extension =
            [wait, "wait_for_block@libopenblas.so", "call@numpy.so", "_PyEval_EvalFrameDefault@python3.11"];
        assert_eq!(lock(&extension), None, "a library that an interpreter calls waits for itself");
        let locks =
            ["PyThread_acquire_lock_timed@python3.11", "@python3.11", "_PyEval_EvalFrameDefault@python3.11"];
        assert_eq!(lock(&locks), None, "threading.Lock is the program's");
        assert_eq!(Routine::of_object("_PyRuntime+0x188").map(|routine| routine.name), GIL);
        assert_eq!(Routine::of_object("_PyRuntime.ceval.gil.cond").map(|routine| routine.name), GIL);
        assert_eq!(Routine::of_object("queue_lock"), None);
    }

    #[test]
    fn work_that_a_pool_runs_is_not_its_waiting() {
        let wait = "rayon_core::registry::WorkerThread::wait_until_cold@app";
        let search = Some("rayon's search for work");
        assert_eq!(spin(&[wait, "rayon_core::registry::main_loop@app"]), search);
        assert_eq!(spin(&["crossbeam_deque::deque::Stealer<T>::steal@app", wait]), search);
        assert_eq!(spin(&["crunch@app", "rayon_core::job::execute@app", wait]), None);
        // The closure is compiled into rayon's own function.
        let job = "<rayon_core::job::StackJob<L,F,R> as rayon_core::job::Job>::execute@app";
        assert_eq!(spin(&["rayon::iter::plumbing::bridge_producer_consumer::helper@app", job, wait]), None);
        assert_eq!(spin(&[wait, "rayon_core::join::join_context::{{closure}}@app", job, wait]), search);
        let seeks = |frames: &[&str]| site(frames).routine(|_| true).map(|routine| routine.seeks_work);
        assert_eq!(seeks(&[wait]), Some(true));
        assert_eq!(seeks(&["sched_yield@libc.so.6", "wait_turn@app"]), Some(false));
    }

    #[test]
    fn threads_of_openblas_that_yield_search_for_work() {
        let search = Some("OpenBLAS's search for work");
        assert_eq!(
            spin(&["sched_yield@libc.so.6", "@libopenblasp-r0.3.21.so", "start_thread@libc.so.6"]),
            search
        );
        assert_eq!(
            spin(&["sched_yield@libc.so.6", "wait_turn@app", "dgemm@libopenblas.so.0"]),
            Some("a loop around sched_yield")
        );
        assert_eq!(spin(&["dgemm_kernel@libopenblas.so.0", "@libopenblas.so.0"]), None);
        let server = ["blas_thread_server@libscipy_openblas-6cdc3b4a.so", "start_thread@libc.so.6"];
        assert_eq!((spin(&server), idle(&server)), (search, Some("OpenBLAS's idle threads")));
        assert_eq!(spin(&["inner_thread@libscipy_openblas-6cdc3b4a.so", server[0]]), None, "it works");
        assert_eq!(idle(&["@libopenblasp-r0.3.21.so", server[1]]), Some("OpenBLAS's idle threads"));
    }

    #[test]
    fn ruby_s_lock_is_known_by_where_a_thread_is_interrupted_for_another() {
        let gvl = Some("Ruby's global VM lock (GVL)");
        let (unnamed, turn) = ("@libruby-3.1.so.3.1", "rb_threadptr_execute_interrupts@libruby-3.1.so.3.1");
        assert_eq!(lock(&[unnamed, unnamed, unnamed, turn, unnamed]), gvl);
        assert_eq!(lock(&["rb_native_cond_wait@libruby-3.1.so.3.1", unnamed, turn, unnamed]), gvl);
        assert_eq!(lock(&["rb_native_cond_wait@libruby-3.1.so.3.1", unnamed, "rb_ensure@libruby"]), None);
    }

    #[test]
    fn schedulers_of_erlang_have_nothing_to_run() {
        let schedule = ["erts_schedule@beam.smp", "start_thread@libc.so.6"];
        let wait = |frames: &[&str]| idle(&[frames, &schedule].concat());
        assert_eq!(wait(&["ethr_event_twait@beam.smp", "@beam.smp"]), Some("Erlang's idle schedulers"));
        assert_eq!(wait(&["erts_poll_wait@beam.smp"]), Some("Erlang's idle schedulers"));
        assert_eq!(wait(&["ethr_event_wait@beam.smp", "ethr_mutex_lock_wait__@beam.smp"]), None, "a lock");
        let looks = [&["@beam.smp"], &schedule[..]].concat();
        assert_eq!(spin(&looks), Some("Erlang's schedulers, searching for work"));
        assert_eq!(spin(&["@beam.smp", "process_main@beam.smp"]), None, "it runs a process");
    }

    #[test]
    fn openmp_runtimes_are_known_with_names_and_without() {
        let gcc = Some("gcc's OpenMP runtime, waiting");
        assert_eq!(spin(&["do_spin@libgomp.so.1", "gomp_team_barrier_wait_end@libgomp.so.1"]), gcc);
        assert_eq!(spin(&["@libgomp.so.1", "GOMP_parallel@libgomp.so.1", "main@app"]), gcc);
        assert_eq!(idle(&["@libgomp.so.1", "start_thread@libc.so.6"]), gcc);
        assert_eq!(spin(&["crunch._omp_fn.0@app", "@libgomp.so.1", "start_thread@libc.so.6"]), None);
        let tbb = Some("TBB's search for work");
        let pipeline = ["@libtbb.so.12", "tbb::detail::r1::parallel_pipeline@libtbb.so.12", "main@app"];
        assert_eq!(spin(&pipeline), tbb);
        assert_eq!(spin(&["sched_yield@libc.so.6", "@libtbb.so.12", "start_thread@libc.so.6"]), tbb);
        let asleep = ["syscall@libc.so.6", "@libtbb.so.12", "start_thread@libc.so.6"];
        assert_eq!(idle(&asleep), Some("TBB's idle workers"));
        assert_eq!(spin(&["pack@app", "@libtbb.so.12", "start_thread@libc.so.6"]), None);
        assert_eq!(
            spin(&["do_wait@app", "crunch._omp_fn.0@app", "gomp_thread_start@libgomp.so.1"]),
            None,
            "the program's own"
        );
        let dealing = Some("dealing out chunks of a loop");
        assert_eq!(spin(&["@libgomp.so.1", "GOMP_loop_dynamic_next@libgomp.so.1", "crunch@app"]), dealing);
        let llvm = ["@libomp.so.5", "@libomp.so.5", "__kmpc_dispatch_next_8@libomp.so.5", "crunch@app"];
        assert_eq!(spin(&llvm), dealing, "taking work is no waiting");
        let deals = site(&llvm)
            .routine(|kind| kind == RoutineKind::Spin)
            .map(|routine| (routine.deals, routine.seeks_work));
        assert_eq!(deals, Some((true, false)));
        let critical = ["@libgomp.so.1", "GOMP_critical_start@libgomp.so.1", "add@app"];
        assert_eq!(lock(&critical), Some("an OpenMP critical section or lock"));
        assert_eq!(spin(&critical), Some("an OpenMP critical section or lock"));
        let llvm = "bool __kmp_wait_template<kmp_flag_64<false, true>, true>(kmp_info*, kmp_flag_64*, void*)@libomp.so.5";
        assert_eq!(spin(&[llvm, "__kmp_fork_barrier@libomp.so.5"]), Some("LLVM's OpenMP runtime, waiting"));
    }

    #[test]
    fn other_runtimes_are_known() {
        let go =
            ["runtime.futex@app", "runtime.notesleep@app", "runtime.stopm@app", "runtime.findRunnable@app"];
        assert_eq!(idle(&go), Some("Go's idle threads"));
        assert_eq!(
            spin(&["runtime.procyield@app", "runtime.lock2@app", "runtime.mallocgc@app"]),
            Some("a lock of Go's runtime (heap, scheduler)")
        );
        let park = [
            "parking_lot::condvar::Condvar::wait@app",
            "tokio::runtime::scheduler::multi_thread::worker::Context::park_timeout@app",
        ];
        assert_eq!(idle(&park), Some("tokio's idle workers"));
        let contended = "std::sys::sync::mutex::futex::Mutex::lock_contended@app";
        assert_eq!(
            lock(&[contended, "tokio::runtime::scheduler::inject::Inject<T>::push@app"]),
            Some("a lock of tokio's own queues")
        );
        assert_eq!(
            lock(&[contended, "std::io::stdio::_print@app", "report@app"]),
            Some("the lock of standard output (print!, println!)")
        );
        assert_eq!(lock(&[contended, "insert@app"]), None, "the program's own lock");
        let task = [contended, "answer@app", "tokio::runtime::task::core::Core<T,S>::poll@app"];
        assert_eq!(lock(&task), None, "a task that tokio runs");
        assert_eq!(
            lock(&[contended, "rank@app", "rayon_core::job::execute@app"]),
            None,
            "a job that rayon runs"
        );
        assert_eq!(
            lock(&[
                "pthread_mutex_lock@libc.so.6",
                "@libjemalloc.so.2",
                "malloc@libjemalloc.so.2",
                "fill@app"
            ]),
            Some("jemalloc's arena lock")
        );
        let central = [
            "base::internal::SpinLockDelay(int volatile*, int, int)@libtcmalloc.so.4",
            "SpinLock::SlowLock()@libtcmalloc.so.4",
            "tcmalloc::CentralFreeList::RemoveRange(void**, void**, int)@libtcmalloc.so.4",
        ];
        assert_eq!(lock(&central), Some("tcmalloc's central lists' lock"));
        assert_eq!(
            lock(&["__cxa_guard_acquire@libstdc++.so.6", "table@app"]),
            Some("the first use of a static variable (C++)")
        );
        assert_eq!(
            lock(&["__lock@ld-musl-x86_64.so.1", "malloc@ld-musl-x86_64.so.1", "fill@app"]),
            Some("musl's malloc lock")
        );
        assert_eq!(
            spin(&["std::this_thread::yield()@app", "wait_turn@app"]),
            Some("a loop around sched_yield")
        );
    }
}
