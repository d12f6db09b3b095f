//! Entry points that pass on where they were called from.

/// As [`crate::front::fronts`], for functions whose arguments use up the registers: the return address is left in the
/// thread's own block.
macro_rules! stubs {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rax, qword ptr [rip + holdup_thread_block@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr fs:[rax + {caller}], r11",
                "jmp {implementation}",
                caller = const core::mem::offset_of!(holdup_agent::thread::Thread, openmp)
                    + core::mem::offset_of!(holdup_agent::openmp::Standing, caller),
                implementation = sym $implementation,
            )
        }
    )*};
}
pub(crate) use stubs;

/// What such an entry point has left.
#[inline(always)]
pub(crate) fn caller() -> u64 {
    holdup_agent::thread::this().openmp.caller.get()
}
