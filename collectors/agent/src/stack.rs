//! Call stacks: copied once for each distinct one, unwound later by the recorder.
//!
//! A stack is known by the code addresses among the words near its top and by its depth. That is cheap and needs
//! no unwinding; the price is that leftovers of earlier calls can make two copies of one stack, which is why the
//! table is bounded and falls back to the nearest callers alone when it fills.

mod familiar;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use holdup_trace::wire::{self, MAX_STACK_BYTES, NO_STACK};

use crate::thread::Thread;
use crate::{Recorder, arch, life, modules};

use familiar::{Shape, Top};

const TABLE_BITS: u32 = 12;
const TABLE: usize = 1 << TABLE_BITS;
const PROBES: usize = 16;
/// Above this many distinct stacks only the nearest callers tell them apart.
const FINE_STACKS: u32 = 2500;
/// Words near the top of the stack that are looked at, finely and coarsely.
const FINE_WORDS: usize = 160;
const COARSE_ADDRESSES: u32 = 6;
/// The library's own code is about as large, in bytes.
const OWN_CODE: u64 = 1 << 20;
/// How far below its top the main thread's stack can reach.
const MAIN_STACK: u64 = 64 << 20;
const PAGE: u64 = 4096;

static SEEN: [AtomicU64; TABLE] = [const { AtomicU64::new(0) }; TABLE];
static COUNT: AtomicU32 = AtomicU32::new(0);
static MAIN_TOP: AtomicU64 = AtomicU64::new(0);

/// An address above the main thread's frames up to which its stack can be read.
pub(crate) fn set_main_top(top: u64) {
    MAIN_TOP.store(top, Ordering::Relaxed);
}

/// Forgets which stacks were told: a forked child tells them anew.
pub(crate) fn forget() {
    for entry in &SEEN {
        entry.store(0, Ordering::Relaxed);
    }
    COUNT.store(0, Ordering::Relaxed);
    familiar::forget();
}

/// Up to where the stack that holds `sp` can be read. Of a stack that is not the thread's own (a coroutine's, a
/// signal handler's) only the page is known to be there.
fn readable_end(thread: &Thread, sp: u64) -> u64 {
    let main_top = MAIN_TOP.load(Ordering::Relaxed);
    let pointer = arch::thread_pointer();
    if sp < main_top && main_top - sp < MAIN_STACK {
        main_top
    } else if thread.stack_low.get() != 0 && (thread.stack_low.get()..pointer).contains(&sp) {
        pointer
    } else {
        (sp | (PAGE - 1)) + 1
    }
}

/// The id of the calling stack, which is told to the recorder if it is new; [`NO_STACK`] if there is no room.
#[inline(never)]
pub fn capture(recorder: &Recorder) -> u64 {
    if life::writes_nothing() {
        return NO_STACK;
    }
    let (ip, sp, bp) = arch::registers();
    let end = readable_end(recorder.thread(), sp);
    let words = ((end - sp) / 8) as usize;
    // SAFETY: `readable_end` bounds what can be read, and the frames of the callers outlive this call.
    let top = unsafe { Top::new(sp as *const u64, words, end - sp, modules::generation()) };
    if let Some(known) = top.recognise() {
        return known;
    }
    let is_fine = COUNT.load(Ordering::Relaxed) < FINE_STACKS;
    let (id, shape) = identify(top, is_fine, modules::is_code, |word| word.abs_diff(ip) < OWN_CODE);
    let first = (id >> (64 - TABLE_BITS)) as usize;
    for probe in 0..PROBES {
        let entry = &SEEN[(first + probe) % TABLE];
        let seen = entry.load(Ordering::Relaxed);
        if seen == id {
            top.remember(id, &shape);
            return id;
        }
        if seen == 0 && entry.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            COUNT.fetch_add(1, Ordering::Relaxed);
            modules::refresh(recorder);
            let words = words.min(MAX_STACK_BYTES / 8);
            let head = wire::stack_head(id, ip, sp, bp, words);
            // SAFETY: `readable_end` bounds what can be read.
            if !unsafe { recorder.write_memory(&head, sp as *const u64, words) } {
                entry.store(0, Ordering::Relaxed);
                return NO_STACK;
            }
            top.remember(id, &shape);
            return id;
        }
    }
    NO_STACK
}

/// The id of a stack, and what it is made of.
fn identify(
    top: Top,
    is_fine: bool,
    is_code: impl Fn(u64) -> bool,
    is_own: impl Fn(u64) -> bool,
) -> (u64, Shape) {
    let mut shape = Shape::new(if is_fine { top.depth() | 1 } else { 1 });
    let mut hash = shape.seed;
    let mut addresses = 0;
    for index in 0..top.count() {
        let word = top.word(index);
        if is_code(word) {
            hash = mix(hash, word);
            shape.add(index, is_own(word));
            addresses += 1;
            if !is_fine && addresses == COARSE_ADDRESSES {
                break;
            }
        }
    }
    (finish(hash), shape)
}

#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[inline(always)]
fn finish(hash: u64) -> u64 {
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93).max(NO_STACK + 1)
}
