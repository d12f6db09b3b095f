//! The functions of QEMU's plugin interface (version 1, QEMU 4.2 to 9), found when the plugin is loaded: unit tests have no
//! QEMU around them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// What QEMU tells of itself.
#[repr(C)]
pub struct QemuInfo {
    pub(crate) target_name: *const c_char,
    /// The oldest and the newest version of the interface that it understands.
    pub(crate) version: [c_int; 2],
    pub(crate) system_emulation: bool,
    /// The numbers of processors, in system emulation.
    processors: [c_int; 2],
}

/// A block while it is translated.
pub(crate) enum Block {}
/// An instruction of it.
pub(crate) enum Instruction {}

pub(crate) type SimpleCallback = extern "C" fn(u64, c_uint);
pub(crate) type TranslateCallback = extern "C" fn(u64, *mut Block);
pub(crate) type ExecuteCallback = unsafe extern "C" fn(c_uint, *mut c_void);
pub(crate) type AccessCallback = unsafe extern "C" fn(c_uint, u32, u64, *mut c_void);
pub(crate) type SyscallCallback = extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub(crate) type ReturnCallback = extern "C" fn(u64, c_uint, i64, i64);
pub(crate) type ExitCallback = extern "C" fn(u64, *mut c_void);

/// The callback reads no registers.
pub(crate) const NO_REGISTERS: c_int = 0;
/// Loads and stores.
pub(crate) const LOADS_AND_STORES: c_int = 3;

macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?, $symbol:literal;)*) => {
        /// The functions.
        #[derive(Clone, Copy)]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// Those of the process that loaded us; the name of the first that is not there.
            pub(crate) fn find() -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the symbol is a function of this type, by QEMU's documentation.
                    $($name: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            function($symbol)?,
                        )
                    },)*
                })
            }
        }
    };
}

api! {
    on_thread_begin: fn(u64, SimpleCallback), c"qemu_plugin_register_vcpu_init_cb";
    on_thread_end: fn(u64, SimpleCallback), c"qemu_plugin_register_vcpu_exit_cb";
    on_translation: fn(u64, TranslateCallback), c"qemu_plugin_register_vcpu_tb_trans_cb";
    on_system_call: fn(u64, SyscallCallback), c"qemu_plugin_register_vcpu_syscall_cb";
    on_system_return: fn(u64, ReturnCallback), c"qemu_plugin_register_vcpu_syscall_ret_cb";
    on_exit: fn(u64, ExitCallback, *mut c_void), c"qemu_plugin_register_atexit_cb";
    on_block: fn(*mut Block, ExecuteCallback, c_int, *mut c_void), c"qemu_plugin_register_vcpu_tb_exec_cb";
    on_access: fn(*mut Instruction, AccessCallback, c_int, c_int, *mut c_void), c"qemu_plugin_register_vcpu_mem_cb";
    block_instructions: fn(*const Block) -> usize, c"qemu_plugin_tb_n_insns";
    block_address: fn(*const Block) -> u64, c"qemu_plugin_tb_vaddr";
    instruction: fn(*const Block, usize) -> *mut Instruction, c"qemu_plugin_tb_get_insn";
    instruction_bytes: fn(*const Instruction) -> *const u8, c"qemu_plugin_insn_data";
    instruction_length: fn(*const Instruction) -> usize, c"qemu_plugin_insn_size";
    instruction_symbol: fn(*const Instruction) -> *const c_char, c"qemu_plugin_insn_symbol";
    access_size: fn(u32) -> c_uint, c"qemu_plugin_mem_size_shift";
    access_stores: fn(u32) -> bool, c"qemu_plugin_mem_is_store";
    program: fn() -> *const c_char, c"qemu_plugin_path_to_binary";
}

fn function(name: &'static CStr) -> Result<*mut c_void, &'static str> {
    // SAFETY: looks a name up among those of the process.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { Err(name.to_str().unwrap_or_default()) } else { Ok(found) }
}
