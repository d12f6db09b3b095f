//! Which copy of the runtime a call is meant for.
//!
//! That is what the loader would have bound it to, and so a matter of the calling module: what was found out for one
//! is kept, with the range of its addresses. A call in tail position seems to come from the function of ours around
//! the region; then it is meant for the runtime that the thread works for.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use holdup_agent::{link, openmp, scope, thread};
use holdup_trace::openmp::RuntimeCode;

/// Names the functions of the runtime that are called here.
macro_rules! entries {
    ($($name:ident,)*) => {
        /// A function of the runtime.
        #[allow(non_camel_case_types, reason = "named as the functions are")]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub(crate) enum Entry { $($name,)* }

        const NAMES: &[&CStr] = &[$(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        )*];
    };
}

entries! {
    GOMP_parallel, GOMP_parallel_reductions, GOMP_teams_reg, GOMP_parallel_sections,
    GOMP_parallel_loop_static, GOMP_parallel_loop_dynamic, GOMP_parallel_loop_guided, GOMP_parallel_loop_runtime,
    GOMP_parallel_loop_nonmonotonic_dynamic, GOMP_parallel_loop_nonmonotonic_guided,
    GOMP_parallel_loop_nonmonotonic_runtime, GOMP_parallel_loop_maybe_nonmonotonic_runtime,
    omp_get_num_threads, omp_get_thread_num, omp_get_num_teams, omp_get_team_num,
    GOMP_barrier, GOMP_barrier_cancel,
    GOMP_loop_start, GOMP_loop_ordered_start, GOMP_loop_doacross_start,
    GOMP_loop_ull_start, GOMP_loop_ull_ordered_start, GOMP_loop_ull_doacross_start,
    GOMP_loop_static_start, GOMP_loop_dynamic_start, GOMP_loop_guided_start, GOMP_loop_runtime_start,
    GOMP_loop_nonmonotonic_dynamic_start, GOMP_loop_nonmonotonic_guided_start,
    GOMP_loop_nonmonotonic_runtime_start, GOMP_loop_maybe_nonmonotonic_runtime_start,
    GOMP_loop_ordered_static_start, GOMP_loop_ordered_dynamic_start, GOMP_loop_ordered_guided_start,
    GOMP_loop_ordered_runtime_start,
    GOMP_loop_doacross_static_start, GOMP_loop_doacross_dynamic_start, GOMP_loop_doacross_guided_start,
    GOMP_loop_doacross_runtime_start,
    GOMP_loop_static_next, GOMP_loop_dynamic_next, GOMP_loop_guided_next, GOMP_loop_runtime_next,
    GOMP_loop_nonmonotonic_dynamic_next, GOMP_loop_nonmonotonic_guided_next,
    GOMP_loop_nonmonotonic_runtime_next, GOMP_loop_maybe_nonmonotonic_runtime_next,
    GOMP_loop_ordered_static_next, GOMP_loop_ordered_dynamic_next, GOMP_loop_ordered_guided_next,
    GOMP_loop_ordered_runtime_next,
    GOMP_loop_ull_static_start, GOMP_loop_ull_dynamic_start, GOMP_loop_ull_guided_start,
    GOMP_loop_ull_runtime_start, GOMP_loop_ull_nonmonotonic_dynamic_start,
    GOMP_loop_ull_nonmonotonic_guided_start, GOMP_loop_ull_nonmonotonic_runtime_start,
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start,
    GOMP_loop_ull_ordered_static_start, GOMP_loop_ull_ordered_dynamic_start,
    GOMP_loop_ull_ordered_guided_start, GOMP_loop_ull_ordered_runtime_start,
    GOMP_loop_ull_doacross_static_start, GOMP_loop_ull_doacross_dynamic_start,
    GOMP_loop_ull_doacross_guided_start, GOMP_loop_ull_doacross_runtime_start,
    GOMP_loop_ull_static_next, GOMP_loop_ull_dynamic_next, GOMP_loop_ull_guided_next,
    GOMP_loop_ull_runtime_next, GOMP_loop_ull_nonmonotonic_dynamic_next,
    GOMP_loop_ull_nonmonotonic_guided_next, GOMP_loop_ull_nonmonotonic_runtime_next,
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next,
    GOMP_loop_ull_ordered_static_next, GOMP_loop_ull_ordered_dynamic_next,
    GOMP_loop_ull_ordered_guided_next, GOMP_loop_ull_ordered_runtime_next,
    GOMP_loop_end, GOMP_loop_end_cancel, GOMP_loop_end_nowait,
    GOMP_sections_start, GOMP_sections2_start, GOMP_sections_next, GOMP_sections_end,
    GOMP_sections_end_cancel, GOMP_sections_end_nowait,
    GOMP_single_start, GOMP_single_copy_start, GOMP_single_copy_end, GOMP_scope_start,
    GOMP_critical_start, GOMP_critical_end, GOMP_critical_name_start, GOMP_critical_name_end,
    GOMP_atomic_start, GOMP_atomic_end, GOMP_ordered_start, GOMP_ordered_end,
    GOMP_task, GOMP_taskwait, GOMP_taskwait_depend, GOMP_taskgroup_end, GOMP_taskloop, GOMP_taskloop_ull,
    omp_set_lock, omp_unset_lock, omp_test_lock, omp_set_nest_lock, omp_unset_nest_lock, omp_test_nest_lock,
    omp_set_lock_, omp_unset_lock_, omp_test_lock_,
}

const ENTRIES: usize = NAMES.len();

/// A copy of a runtime.
pub(crate) struct Copy {
    /// The address of one of its functions; 0 if this place is free.
    key: AtomicU64,
    /// True if it is gcc's, of whose calls we tell. LLVM's tells of them itself.
    gnu: AtomicBool,
    addresses: [AtomicUsize; ENTRIES],
    /// Kernel ids of the threads in the critical section without a name and in `GOMP_atomic_start`; 0 for none.
    pub(crate) critical: AtomicU32,
    pub(crate) atomic: AtomicU32,
}

const COPIES: usize = 8;

static LOADED: [Copy; COPIES] = [const {
    Copy {
        key: AtomicU64::new(0),
        gnu: AtomicBool::new(false),
        addresses: [const { AtomicUsize::new(0) }; ENTRIES],
        critical: AtomicU32::new(0),
        atomic: AtomicU32::new(0),
    }
}; COPIES];

/// A module that calls a runtime.
struct Client {
    low: AtomicU64,
    length: AtomicU64,
    copy: AtomicPtr<Copy>,
}

const CLIENTS: usize = 64;
static KNOWN: [Client; CLIENTS] = [const {
    Client { low: AtomicU64::new(0), length: AtomicU64::new(0), copy: AtomicPtr::new(core::ptr::null_mut()) }
}; CLIENTS];
static KNOWN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The copy for a call that returns to `caller`.
#[inline(always)]
pub(crate) fn of(caller: u64) -> &'static Copy {
    let first = &KNOWN[0];
    if caller.wrapping_sub(first.low.load(Ordering::Relaxed)) < first.length.load(Ordering::Acquire) {
        // SAFETY: an element of `LOADED`, set before the length was.
        return unsafe { &*first.copy.load(Ordering::Relaxed) };
    }
    of_another(caller)
}

#[inline(never)]
fn of_another(caller: u64) -> &'static Copy {
    let count = KNOWN_COUNT.load(Ordering::Acquire).min(CLIENTS);
    for client in &KNOWN[..count] {
        if caller.wrapping_sub(client.low.load(Ordering::Relaxed)) < client.length.load(Ordering::Acquire) {
            // SAFETY: as above.
            return unsafe { &*client.copy.load(Ordering::Relaxed) };
        }
    }
    if covers_us(caller) {
        let current = thread::this().openmp.runtime.get() as *const Copy;
        if !current.is_null() {
            // SAFETY: what `parallel` and `tasks` put there is an element of `LOADED`.
            return unsafe { &*current };
        }
    }
    learn(caller)
}

/// True if the address is in this library.
fn covers_us(address: u64) -> bool {
    static LOW: AtomicU64 = AtomicU64::new(0);
    static HIGH: AtomicU64 = AtomicU64::new(0);
    if HIGH.load(Ordering::Acquire) == 0 {
        let (low, high) = module_of(of as *const () as u64).unwrap_or((0, 1));
        LOW.store(low, Ordering::Relaxed);
        HIGH.store(high, Ordering::Release);
    }
    (LOW.load(Ordering::Relaxed)..HIGH.load(Ordering::Relaxed)).contains(&address)
}

/// The addresses of the loaded object around this one.
fn module_of(address: u64) -> Option<(u64, u64)> {
    let mut found = None;
    link::each_object(|object| {
        if object.covers(address) {
            let segments = || object.headers().iter().filter(|header| header.kind == link::LOAD);
            let low = segments().map(|header| object.bias + header.address).min();
            let high = segments().map(|header| object.bias + header.address + header.size).max();
            found = low.zip(high);
        }
        found.is_some()
    });
    found
}

/// What LLVM's runtime calls the version of its symbols.
const LLVM_VERSION: &CStr = c"VERSION";

#[cold]
fn learn(caller: u64) -> &'static Copy {
    let own = of as *const () as u64;
    // What was linked to LLVM's runtime is bound to it by the version of its symbols, wherever gcc's stands.
    let of_llvm = scope::wants_version(caller, LLVM_VERSION)
        .then(|| scope::definition(c"__kmpc_fork_call", own, caller))
        .flatten();
    // The runtimes of compilers other than gcc and clang have the locks of OpenMP, and perhaps nothing else of this.
    let address = [Entry::GOMP_barrier, Entry::omp_set_lock].into_iter().find_map(|entry| {
        let name = NAMES[entry as usize];
        match of_llvm {
            Some(runtime) => link::in_object_of(runtime.address as u64, name),
            None => scope::definition(name, own, caller).map(|definition| definition.address),
        }
    });
    let key = address.map_or(0, |address| address as u64);
    let copy = loaded(key);
    // Nothing is kept of code that lies in no module: other code can come to lie there.
    if let Some((low, high)) = module_of(caller)
        && key != 0
    {
        keep(low, high - low, copy);
    }
    copy
}

fn keep(low: u64, length: u64, copy: &'static Copy) {
    let place = KNOWN_COUNT.fetch_add(1, Ordering::AcqRel);
    let Some(client) = KNOWN.get(place) else { return KNOWN_COUNT.store(CLIENTS, Ordering::Release) };
    client.copy.store(core::ptr::from_ref(copy).cast_mut(), Ordering::Relaxed);
    client.low.store(low, Ordering::Relaxed);
    client.length.store(length, Ordering::Release);
}

/// The copy with a function at this address; one without functions for 0.
fn loaded(key: u64) -> &'static Copy {
    static NONE: Copy = Copy {
        key: AtomicU64::new(0),
        gnu: AtomicBool::new(false),
        addresses: [const { AtomicUsize::new(0) }; ENTRIES],
        critical: AtomicU32::new(0),
        atomic: AtomicU32::new(0),
    };
    if key == 0 {
        return &NONE;
    }
    for copy in &LOADED {
        if let Err(known) = copy.key.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire)
            && known != key
        {
            continue;
        }
        // Threads that come at the same time all find it out: the first region of one that did not wait for it would not be
        // told. Before gcc 4.9 regions began in another way.
        let gcc = link::in_object_of(key, NAMES[Entry::GOMP_parallel as usize]).is_some();
        let llvm = link::in_object_of(key, c"__kmpc_fork_call").is_some();
        copy.gnu.store(gcc && !llvm, Ordering::Release);
        return copy;
    }
    &NONE
}

/// What takes the place of a function that the runtime does not have.
extern "C" fn nothing() -> usize {
    0
}

impl Copy {
    /// True if it is gcc's.
    #[inline(always)]
    pub(crate) fn is_gnu(&self) -> bool {
        self.gnu.load(Ordering::Relaxed)
    }

    /// True if the calling thread is in a whole instance, and this is gcc's runtime.
    #[inline(always)]
    pub(crate) fn tells(&self) -> bool {
        openmp::is_whole() && self.is_gnu()
    }

    /// The address of its function.
    #[inline(always)]
    pub(crate) fn address(&self, entry: Entry) -> usize {
        let address = self.addresses[entry as usize].load(Ordering::Relaxed);
        if address != 0 { address } else { self.find(entry) }
    }

    #[cold]
    #[inline(never)]
    fn find(&self, entry: Entry) -> usize {
        let key = self.key.load(Ordering::Acquire);
        let found = if key == 0 { None } else { link::in_object_of(key, NAMES[entry as usize]) };
        let address = found.map_or(nothing as *const () as usize, |address| address as usize);
        self.addresses[entry as usize].store(address, Ordering::Relaxed);
        address
    }

    /// True if it has no functions: there is no runtime.
    pub(crate) fn is_missing(&self) -> bool {
        self.key.load(Ordering::Relaxed) == 0
    }

    /// Tells that this runtime works, once.
    #[inline(always)]
    pub(crate) fn announce(&self) {
        static ANNOUNCED: AtomicU32 = AtomicU32::new(0);
        let place = (core::ptr::from_ref(self) as usize - LOADED.as_ptr() as usize) / size_of::<Copy>();
        if ANNOUNCED.load(Ordering::Relaxed) & 1 << place == 0
            && ANNOUNCED.fetch_or(1 << place, Ordering::Relaxed) & 1 << place == 0
        {
            openmp::runtime_found(RuntimeCode::Gnu, true, self.key.load(Ordering::Relaxed));
        }
    }
}

/// The function `$entry` of a copy, as one of this type.
macro_rules! original {
    ($copy:expr, $entry:ident: fn($($type:ty),*) $(-> $result:ty)?) => {
        core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) $(-> $result)?>(
            $copy.address($crate::openmp::gomp::copy::Entry::$entry),
        )
    };
}
pub(crate) use original;
