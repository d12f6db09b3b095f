//! A block is translated: it is numbered, and gets the callbacks that it shall have whenever it is executed.

use std::ffi::{CStr, OsStr, c_uint, c_void};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use holdup_trace::instructions::MARK_FIELDS;

use crate::accesses::{REPEATING, Seen, Watched, gathers};
use crate::api::{Api, Block, LOADS_AND_STORES, NO_REGISTERS};
use crate::blocks::Translated;
use crate::code::{Code, Role};
use crate::edges::key_of;
use crate::ending::Ending;
use crate::marks::interest_changes;
use crate::meets::{InFile, Part};
use crate::options::Mode;
use crate::threads::{are_short_of_buffers, thread};
use crate::watch::watch;

/// A block is translated.
pub(crate) extern "C" fn translates(_: u64, block: *mut Block) {
    let Some(watch) = watch().filter(|watch| watch.channel.is_ours() && !watch.channel.is_stopped()) else {
        return;
    };
    let api = &watch.api;
    let mut bytes = Vec::new();
    let (mut instructions, mut last_length) = (0u32, 0);
    let mut gathering = Vec::new();
    // SAFETY: the block is QEMU's for as long as this callback runs, and so are its instructions and their bytes.
    let (address, symbol) = unsafe {
        let count = (api.block_instructions)(block);
        for at in 0..count {
            let instruction = (api.instruction)(block, at);
            last_length = (api.instruction_length)(instruction);
            let code = (api.instruction_bytes)(instruction);
            bytes.extend_from_slice(std::slice::from_raw_parts(code, last_length));
            if gathers(&bytes[bytes.len() - last_length..]) {
                gathering.push(instructions);
            }
            instructions += 1;
        }
        let symbol = (count > 0).then(|| (api.instruction_symbol)((api.instruction)(block, 0)));
        let symbol = symbol.filter(|symbol| !symbol.is_null()).map(|symbol| CStr::from_ptr(symbol));
        ((api.block_address)(block), symbol)
    };
    if instructions == 0 {
        return;
    }
    let Some(mut blocks) = watch.blocks() else { return };
    if blocks.lacks_program() {
        blocks.is_of(program(api));
    }
    let before = blocks.count();
    let translated = Translated { address, bytes: &bytes, instructions, last_length };
    let Some(code) = blocks.find(&translated) else {
        watch.lacks_room();
        return;
    };
    if watch.options.mode == Mode::Counts && blocks.count() > before {
        blocks.define(code, &[]);
    }
    let stream = watch.options.mode == Mode::Stream;
    let meets = !stream && code.role == Role::Own && !watch.meets.is_empty();
    let begin = if meets { blocks.in_program(address) } else { None };
    let parts: Vec<(usize, Part)> = begin.map_or_else(Vec::new, |begin| {
        let executable = || fs::read(OsStr::from_bytes(&program(api))).unwrap_or_default();
        let end = begin + bytes.len() as u64;
        let block = InFile { begin, end, address, returns: code.ending == Ending::Return };
        watch.meets.parts(block, executable)
    });
    let watched = stream.then(|| blocks.watch(code, gathering));
    drop(blocks);
    let hook = match symbol.map(CStr::to_bytes) {
        Some(b"__parsec_roi_begin") => Some(1usize),
        Some(b"__parsec_roi_end") => Some(0),
        _ => None,
    };
    let entry = std::ptr::from_ref(code).cast_mut().cast::<c_void>();
    let key = key_of(code.number) as usize as *mut c_void;
    let repeats = code.ending == Ending::Repeats && code.start == code.last;
    // SAFETY: as above; the callbacks get what they expect.
    unsafe {
        // Before the block's own callback, since the cut comes before the block.
        if watch.pace.is_some() && matches!(code.role, Role::Own | Role::Library) {
            (api.on_block)(block, paced, NO_REGISTERS, instructions as usize as *mut c_void);
        }
        let watch_part = |(function, part): &(usize, Part)| {
            let callback = if *part == Part::Exit { leaves } else { comes };
            (api.on_block)(block, callback, NO_REGISTERS, *function as *mut c_void);
        };
        let (behind, before): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(_, part)| *part == Part::Beginning);
        before.iter().for_each(watch_part);
        if let Some(begins) = hook {
            (api.on_block)(block, parsec_hook, NO_REGISTERS, begins as *mut c_void);
        }
        match code.role {
            Role::Runtime | Role::Linker if stream => {
                (api.on_block)(block, foreign_traced, NO_REGISTERS, entry);
                // QEMU before 8.0 leaves the callbacks of a block's last instruction in force after the block, and goes on
                // to use them after it has freed them, unless the next instruction that accesses memory has its own.
                for at in 0..instructions as usize {
                    let instruction = (api.instruction)(block, at);
                    (api.on_access)(
                        instruction,
                        no_access,
                        NO_REGISTERS,
                        LOADS_AND_STORES,
                        std::ptr::null_mut(),
                    );
                }
            }
            _ if let Some(watched) = watched => {
                let entry = std::ptr::from_ref(watched).cast_mut().cast::<c_void>();
                (api.on_block)(block, traced, NO_REGISTERS, entry);
                for at in 0..instructions {
                    let repeating = code.ending == Ending::Repeats && at + 1 == instructions;
                    let index = if repeating { REPEATING } else { at } as usize as *mut c_void;
                    let instruction = (api.instruction)(block, at as usize);
                    (api.on_access)(instruction, accesses, NO_REGISTERS, LOADS_AND_STORES, index);
                }
            }
            Role::Own if repeats => (api.on_block)(block, own_repeating, NO_REGISTERS, key),
            Role::Own => (api.on_block)(block, own, NO_REGISTERS, key),
            Role::Library => (api.on_block)(block, library, NO_REGISTERS, entry),
            _ => (api.on_block)(block, foreign, NO_REGISTERS, entry),
        }
        behind.iter().for_each(watch_part);
    }
}

/// The path of the executable, as the memory map shows it.
fn program(api: &Api) -> Vec<u8> {
    // SAFETY: gives a string of the allocator's, or null.
    let path = unsafe { (api.program)() };
    if path.is_null() {
        return b"?".to_vec();
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes().to_vec();
    // SAFETY: ours to free, and not used any more.
    unsafe { libc::free(path.cast_mut().cast()) };
    let path = std::path::Path::new(OsStr::from_bytes(&name));
    std::fs::canonicalize(path).map_or(name.clone(), |path| path.into_os_string().into_vec())
}

unsafe extern "C" fn own(index: c_uint, key: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's key.
        unsafe { thread.counter.own(key as usize as u32) };
    }
}

unsafe extern "C" fn own_repeating(index: c_uint, key: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's key.
        unsafe { thread.counter.own_repeating(key as usize as u32) };
    }
}

unsafe extern "C" fn library(index: c_uint, code: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's entry, which stays.
        thread.counter.library(unsafe { &*code.cast::<Code>() });
    }
}

unsafe extern "C" fn foreign(index: c_uint, code: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's entry, which stays.
        thread.counter.foreign(unsafe { &*code.cast::<Code>() });
    }
}

unsafe extern "C" fn traced(index: c_uint, block: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's block, which stays.
        thread.tracer.begin(&mut thread.outlet, unsafe { &*block.cast::<Watched>() });
    }
}

unsafe extern "C" fn foreign_traced(index: c_uint, code: *mut c_void) {
    if let Some(thread) = thread(index) {
        // SAFETY: the translator's entry, which stays.
        thread.tracer.begin_foreign(&mut thread.outlet, unsafe { &*code.cast::<Code>() });
    }
}

unsafe extern "C" fn accesses(index: c_uint, about: u32, address: u64, instruction: *mut c_void) {
    if let Some(thread) = thread(index) {
        let kind = (instruction as u64) << 32 | u64::from(about);
        thread.tracer.access(&mut thread.outlet, Seen { address, kind });
    }
}

unsafe extern "C" fn no_access(_: c_uint, _: u32, _: u64, _: *mut c_void) {}

unsafe extern "C" fn comes(index: c_uint, function: *mut c_void) {
    if let Some((watch, thread)) = watch().zip(thread(index)) {
        let is_recorded = thread.comes(watch, index, function as usize);
        // It may spin there until others come, who want a buffer, too.
        if is_recorded && are_short_of_buffers(watch) {
            thread.hand_over();
        }
    }
}

unsafe extern "C" fn leaves(index: c_uint, function: *mut c_void) {
    if let Some((watch, thread)) = watch().zip(thread(index)) {
        thread.leaves_meeting(watch, function as usize);
    }
}

unsafe extern "C" fn paced(index: c_uint, instructions: *mut c_void) {
    if let Some(pace) = watch().and_then(|watch| watch.pace.as_ref()) {
        pace.executes(index, instructions as u64);
    }
}

/// PARSEC's hooks: the part of interest begins, or ends. The function may have several blocks.
unsafe extern "C" fn parsec_hook(index: c_uint, begins: *mut c_void) {
    if let Some((watch, thread)) = watch().zip(thread(index)) {
        interest_changes(watch, thread, !begins.is_null(), [0; MARK_FIELDS]);
    }
}
