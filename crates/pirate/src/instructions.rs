//! The few instructions for which there is no safe word: the processor's counter, taking a line out of the caches.

/// True where the instructions of this file are known.
pub(crate) const KNOWN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The processor's counter, read when all loads before are done and before any after begins.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: the instructions are unprivileged on Linux and change nothing.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

/// The processor's counter, read when all loads before are done and before any after begins.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    let now: u64;
    // SAFETY: Linux lets programs read this counter, and the barriers change nothing.
    unsafe {
        core::arch::asm!("dsb ish", "isb", "mrs {}, cntvct_el0", "isb", out(reg) now, options(nostack))
    };
    now
}

/// Never used: see [`KNOWN`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn ticks() -> u64 {
    0
}

/// Takes the line of `byte` out of all caches, and waits until that is done.
#[inline(always)]
pub(crate) fn flush(byte: &u8) {
    drop_line(byte);
    wait_for_drops();
}

/// Begins to take the line of `byte` out of all caches.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn drop_line(byte: &u8) {
    // SAFETY: the address is that of a live byte, and the instruction does not change what is there.
    unsafe { core::arch::x86_64::_mm_clflush(byte) };
}

/// Begins to take the line of `byte` out of all caches.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn drop_line(byte: &u8) {
    // SAFETY: Linux lets programs clean and invalidate lines of their own: what is there is written back, not changed.
    unsafe { core::arch::asm!("dc civac, {}", in(reg) byte, options(nostack)) };
}

/// Never used: see [`KNOWN`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn drop_line(_byte: &u8) {}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn wait_for_drops() {
    // SAFETY: a barrier changes nothing.
    unsafe { core::arch::x86_64::_mm_mfence() };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn wait_for_drops() {
    // SAFETY: barriers change nothing.
    unsafe { core::arch::asm!("dsb ish", "isb", options(nostack)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn wait_for_drops() {}

pub(crate) fn opt(byte: &u8) { unsafe { core::arch::asm!("clflushopt [{}]", in(reg) byte, options(nostack)) } }
pub(crate) fn nta(byte: *const u8) { unsafe { core::arch::x86_64::_mm_prefetch::<0>(byte.cast()) } }
