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
    drop_line_in_order(byte);
    wait_for_drops();
}

/// True where [`drop_line`] may be called: the processor drops lines while it goes on with other loads. (On x86-64
/// `CLFLUSHOPT`, bit 23 of EBX of CPUID leaf 7; its elder `CLFLUSH` waits for each line: 1 GB/s instead of 11.)
pub(crate) fn drops_lines() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__cpuid, __cpuid_count};
        __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & 1 << 23 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        KNOWN
    }
}

/// Begins to take the line of `byte` out of all caches. Only where [`drops_lines`] says so.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn drop_line(byte: &u8) {
    // SAFETY: the address is that of a live byte, and the instruction does not change what is there. Who calls has asked
    // whether the processor has it.
    unsafe { core::arch::asm!("clflushopt [{}]", in(reg) byte, options(nostack, preserves_flags)) };
}

/// Begins to take the line of `byte` out of all caches.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn drop_line(byte: &u8) {
    drop_line_in_order(byte);
}

/// Never used: see [`KNOWN`].
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn drop_line(_byte: &u8) {}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn drop_line_in_order(byte: &u8) {
    // SAFETY: the address is that of a live byte, and the instruction, which all processors of 64 bits have, does not
    // change what is there.
    unsafe { core::arch::x86_64::_mm_clflush(byte) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn drop_line_in_order(byte: &u8) {
    // SAFETY: Linux lets programs clean and invalidate lines of their own: what is there is written back, not changed.
    unsafe { core::arch::asm!("dc civac, {}", in(reg) byte, options(nostack)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn drop_line_in_order(_byte: &u8) {}

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
