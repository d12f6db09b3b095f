//! How a process begins and ends under holdup: what is done to each part of this library then, in this order.

use core::ffi::{CStr, c_void};
use core::sync::atomic::Ordering;

use holdup_trace::alone::EndCode;
use holdup_trace::instructions::Mark;
use holdup_trace::shared::{HOLDS_ALL, HOLDS_SAMPLED, NO_ARGUMENTS, ProcessState};
use holdup_trace::wire::{self, CallCode};

use crate::life::{self, GIVEN_UP, JOINED, JOINING, MEMBERSHIP, NOT_JOINED};
use crate::mapping::file;
use crate::{
    Recorder, alone, channels, cpu, directory, enter, entry, hot, link, loader, lock_cost, marks, modules,
    openmp, stack, threading, uses, waits,
};

/// A pipe of NUL-ended arguments of the program, as the constructor gets them.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// `argc`.
    pub count: i32,
    /// `argv`.
    pub values: *const *const core::ffi::c_char,
}

/// Joins the session in `directory`: called once, by the library's constructor, in a newly executed program.
/// `stack_top` is an address above the main thread's first frame that can be read.
pub fn join(directory: &CStr, arguments: Arguments, stack_top: u64) {
    if !directory::fits(directory) || MEMBERSHIP.swap(JOINING, Ordering::Relaxed) != NOT_JOINED {
        return;
    }
    directory::set(directory);
    if let Some(clock_gettime) = link::next(c"clock_gettime", join as *const () as u64) {
        life::set_clock(clock_gettime);
    }
    stack::set_main_top(stack_top);
    let joined = directory::map_session() && directory::take_file(false);
    MEMBERSHIP.store(if joined { JOINED } else { GIVEN_UP }, Ordering::Relaxed);
    if !joined {
        return;
    }
    if !life::wipe_mode_on_fork() {
        // Linux before 4.14: a child would write into its parent's file, so do not record at all.
        MEMBERSHIP.store(GIVEN_UP, Ordering::Relaxed);
        return;
    }
    life::is_new();
    life::remember_user();
    life::remember_process();
    channels::inherit();
    cpu::begin(link::variable);
    marks::look_for_plugin();
    if life::flags() & HOLDS_ALL != 0 {
        hot::heat_all();
    }
    if life::flags() & HOLDS_SAMPLED != 0 {
        hot::stay_cool();
        lock_cost::begin();
    }
    lock_cost::measure_the_clock();
    threading::watch_ends();
    life::begin_recording();
    if let Some(recorder) = enter()
        && life::writes()
    {
        record_command(&recorder, arguments);
        modules::refresh(&recorder);
    }
    if life::writes()
        && let Some(recorder) = enter()
    {
        uses::measure_costs(&recorder);
    }
}

/// Lets the C library say when the process forks. Called before anything else in a program with this library, recorded or not:
/// hooks ask the loader in both.
pub fn watch_forks() {
    type Handler = extern "C" fn();
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *const c_void) -> i32;
    let own = watch_forks as *const () as u64;
    if let Some(register) = link::next(c"__register_atfork", own) {
        // SAFETY: that is the function's type (glibc, `register-atfork.c`).
        let register: Register = unsafe { core::mem::transmute(register) };
        // SAFETY: the handlers live as long as the library, which is never unloaded. Where there is no room for them, forks are
        // not seen.
        unsafe { register(loader::before_fork, loader::after_fork, loader::in_child, core::ptr::null()) };
    }
}

/// Says in the file that the process ends now. A forked child that has only computed joins for this.
pub fn end() {
    if life::confined() {
        return;
    }
    let own = life::process_id();
    if life::has_computed_in_silence() {
        entry::rejoin();
    }
    // A child of `vfork` that gives up is in its parent's memory.
    if life::recording() && file().header().pid.load(Ordering::Relaxed) == own {
        alone::stops(EndCode::Exits);
        for (descriptor, passage) in channels::end() {
            let passing = waits::passing(passage, CallCode::Write, descriptor);
            waits::passed(passing, CallCode::Write, descriptor, 0);
        }
        if let Some(recorder) = enter() {
            openmp::close(&recorder);
            marks::tell(Mark::ThreadEnd);
            let now = life::ticks();
            recorder.write(&wire::cpu(now, recorder.thread().cpu.read(now)));
            tell_cpu_of_others(&recorder);
        }
        let header = file().header();
        header.end.store(life::ticks(), Ordering::Relaxed);
        header.state.store(ProcessState::Ended as u32, Ordering::Release);
        life::ring();
    }
}

/// Threads that live at the end of their process do not say how much CPU time they have used.
fn tell_cpu_of_others(recorder: &Recorder) {
    for (_, slot) in file().used_slots() {
        let tid = slot.tid.load(Ordering::Relaxed);
        if slot.live.load(Ordering::Acquire) == 0 || core::ptr::eq(slot, recorder.thread().slot.get()) {
            continue;
        }
        let cpu = cpu::of(tid, slot.handle.load(Ordering::Relaxed));
        if cpu != wire::UNKNOWN {
            recorder.write(&wire::cpu_of(slot.thread.load(Ordering::Relaxed), cpu));
        }
    }
}

/// The process is about to execute a program without the library, so that nothing more will be seen of it; or
/// (false) that has failed.
pub fn executes_unseen(executes: bool) {
    // A child of `vfork` is in its parent's memory.
    if life::recording() && file().header().pid.load(Ordering::Relaxed) == life::process_id() {
        let header = file().header();
        header.end.store(if executes { life::ticks() } else { 0 }, Ordering::Relaxed);
        header.executed.store(u32::from(executes), Ordering::Release);
    }
}

/// The program confines its system calls from now on: we make none any more.
pub fn confine() {
    alone::stops(EndCode::Confined);
    life::confine();
    if life::recording() {
        file().header().confined.store(1, Ordering::Relaxed);
    }
}

/// The program is about to lose the right to read the processor's counter, or nearly all system calls: nothing is
/// recorded any more, and no clock is read.
pub fn stop() {
    alone::stops(EndCode::Confined);
    life::give_up();
}

fn record_command(recorder: &Recorder, arguments: Arguments) {
    let wanted = if life::flags() & NO_ARGUMENTS != 0 { 1 } else { arguments.count.max(0) as usize };
    let mut text = [0u8; 2048];
    let mut len = 0;
    for index in 0..wanted {
        // SAFETY: argv has argc entries, each a NUL-ended string or null.
        let argument = unsafe { *arguments.values.add(index) };
        if argument.is_null() {
            break;
        }
        // SAFETY: as above.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes_with_nul();
        let fits = bytes.len().min(text.len() - len);
        text[len..len + fits].copy_from_slice(&bytes[..fits]);
        len += fits;
    }
    recorder.write_text(&wire::command_head(len), &text[..len]);
}
