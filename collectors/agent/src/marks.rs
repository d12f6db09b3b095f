//! Marks: what hooks say to who counts the program's instructions.
//!
//! That is the plugin of an emulator that the program runs under, or a part of the program itself that its compiler put
//! there ([`crate::listener`]). To a plugin a mark is a system call that the kernel refuses, so it does no harm where nobody
//! listens; but it costs what a system call costs. So nothing is told before somebody has said that he listens, and every
//! hook is written such that its fast path does not ask: while marks are [`heard`], all locks count as ones that are waited
//! for, every instance of a parallel region is whole, and every call is long enough to be told of, which leads to the slow
//! path, where the mark is. What is told, [`Mark`] says.
//!
//! The child of a fork asks for a plugin again when it begins to record; until then it is silent.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use holdup_trace::instructions::{MARK_CALL, MARK_FIELDS, Mark, MarkCode, VERSION};
use holdup_trace::shared::{MARKS, Slot};

use crate::arch::system_call;
use crate::life;
use crate::thread::{Thread, TimedHold};

/// True if marks are told.
#[inline(always)]
pub fn heard() -> bool {
    life::flags() & MARKS != 0
}

/// Marks are told from here on, if they are wanted, and a plugin of ours listens.
pub(crate) fn look_for_plugin() {
    forget();
    if !life::wants_marks() {
        return;
    }
    if ask() {
        life::tells_marks();
    } else {
        life::tells_no_marks();
    }
}

/// True if a plugin that speaks our version answers.
fn ask() -> bool {
    static ANSWER: AtomicU32 = AtomicU32::new(0);
    ANSWER.store(0, Ordering::Relaxed);
    let (code, fields) = Mark::Hello { answer: ANSWER.as_ptr() as u64 }.encode();
    call(code, &fields);
    ANSWER.load(Ordering::Relaxed) == VERSION
}

/// Says something, if there is somebody to hear it.
#[inline(always)]
pub fn tell(mark: Mark) {
    if heard() {
        send(&mark);
    }
}

#[cold]
#[inline(never)]
fn send(mark: &Mark) {
    // The child of a fork is nobody's business until it asks.
    if !life::recording() {
        return;
    }
    let (code, fields) = mark.encode();
    match LISTENER.load(Ordering::Relaxed) {
        0 => call(code, &fields),
        listener => {
            // SAFETY: `are_heard_by` put a function of this type there.
            let listener: Listener = unsafe { core::mem::transmute(listener) };
            listener(code as u64, u64::from(code.cuts(fields[1])), &fields);
        }
    }
}

fn call(code: MarkCode, fields: &[u64; MARK_FIELDS]) {
    let [a, b, c, d, e] = fields.map(|field| field as usize);
    // SAFETY: the kernel has no such call. The plugin writes to the word that `Hello` names, which is a static, and to
    // nothing else.
    unsafe { system_call(MARK_CALL, [code as usize, a, b, c, d, e]) };
}

/// Who listens inside of the program: gets a mark's code, 1 if the counts so far belong before it, and its fields. It takes
/// no lock of the program, and does not wait.
pub type Listener = extern "C" fn(u64, u64, *const [u64; MARK_FIELDS]);

/// The address of a [`Listener`]; 0 if there is none.
static LISTENER: AtomicUsize = AtomicUsize::new(0);

/// Marks are told to `listener` from now on, which lives as long as the process.
pub(crate) fn are_heard_by(listener: Listener) {
    LISTENER.store(listener as usize, Ordering::Relaxed);
}

/// Nobody inside listens any more: in the child of a fork.
fn forget() {
    LISTENER.store(0, Ordering::Relaxed);
}

/// Tells as a mark that the thread begins.
pub(crate) fn tell_begin(thread: &Thread, slot: &Slot) {
    if !heard() && !life::alone() {
        return;
    }
    // A hold that does not end: so all releases are looked at.
    thread.holds[0].set(TimedHold { object: 0, begin: 0, caller: 0 });
    thread.timed.set(1);
    let [number, parent, tid] =
        [&slot.thread, &slot.parent, &slot.tid].map(|word| word.load(Ordering::Relaxed));
    let [entry, handle] = [&slot.entry, &slot.handle].map(|word| word.load(Ordering::Relaxed));
    tell(Mark::ThreadBegin { number, parent, entry, tid, handle });
}

/// Units of work that have begun, of all threads.
static UNITS: AtomicU64 = AtomicU64::new(0);

/// The calling thread begins a unit of work that the program calls by the text at `label`.
pub fn unit_begins(label: u64) {
    if heard() {
        send(&Mark::UnitBegin { label, number: UNITS.fetch_add(1, Ordering::Relaxed) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::listen_inside;

    extern "C" fn unwanted(_: u64, _: u64, _: *const [u64; MARK_FIELDS]) {
        panic!("nobody wants marks");
    }

    #[test]
    fn outside_of_a_session_nothing_is_told() {
        assert!(!ask(), "the kernel does not know the call");
        assert!(!listen_inside(VERSION, unwanted));
        assert!(!heard());
        tell(Mark::Created { number: 1 });
        unit_begins(0);
    }
}
