//! Entry points that need to know who called.

/// Exports functions that pass their return address, which costs nothing there, to their implementations as one
/// more argument, in the register named.
macro_rules! fronts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident, $register:literal;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {}",
                sym $implementation,
            )
        }
    )*};
}
pub(crate) use fronts;
