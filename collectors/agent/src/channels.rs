//! By what descriptors threads of the program send to each other: pipes, eventfds and pairs of sockets that it made. Who reads
//! there waits for a thread, and not for a device.
//!
//! A channel has a number. Of each descriptor it is known what is read there and what is written; what polls several channels at once
//! reads all of them, which are then one. Descriptors of other programs, of files and of the network are in no table.
//!
//! Processes have each their own descriptors, which lead to the same channels: what is known of these lies in memory that they share, the
//! session's. A forked process has the descriptors of the one that it was forked from; one that executes a program, or is sent a
//! descriptor, asks the kernel for the pipe or socket, and follows it if the same program made it: what different programs send to each
//! other is input and output.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use holdup_trace::shared::CHANNELS_SIZE;
use holdup_trace::wire::{self, ALL_PROCESSES, ObjectCode};

use crate::descriptors::{End, end_of};
use crate::{descriptors, directory, life, mapping};

/// Descriptors from this one on are not followed.
const DESCRIPTORS: usize = 4096;
/// So many channels are followed at a time.
const CHANNELS: usize = 1024;
/// Of descriptors that can be read so many are looked at.
const POLLED: usize = 64;
/// So many steps lead at most from a channel to the one that stands for it.
const STEPS: usize = 4;
/// What a channel has room for, at least, while somebody waits for something to take out of it (bytes): a pipe's capacity, and less than
/// that of a pair of sockets.
const CAPACITY: u64 = 65_536;

/// By descriptor: the number of the channel that is read there, or of those that are polled by it; 0 for none; or [`TIMER`].
static READ: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];
/// In the place of a channel's number, of a descriptor that tells when a time is up, and that no thread gives anything.
const TIMER: u32 = u32::MAX;
/// By descriptor: the number of the channel that is written there; 0 for none.
static WRITTEN: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];

/// What is known of a channel; of each [`Act`] in this order.
struct Channel {
    /// Whose place it is; 0 for nobody's.
    number: AtomicU32,
    /// Which process made it, by its kernel id.
    maker: AtomicU32,
    /// How many descriptors of that process lead to it.
    descriptors: AtomicU32,
    /// The program that this process executes.
    program: AtomicU64,
    /// The ends of the pipe, or the sockets, that it is; 0 for none that others can be given.
    ends: [AtomicU64; 2],
    /// The channel that stands for it, since both are polled together; 0 for none.
    stands_for_it: AtomicU32,
    /// When the last call for it began or ended (ticks).
    passed: [AtomicU64; 2],
    /// Which thread made it, by its kernel id.
    by: [AtomicU32; 2],
    /// How many threads are in calls for it, and wait perhaps.
    inside: [AtomicU32; 2],
    /// Threads have waited in calls that take from it: they do not poll it.
    was_awaited: AtomicBool,
}

impl Channel {
    const fn new() -> Channel {
        Channel {
            number: AtomicU32::new(0),
            maker: AtomicU32::new(0),
            descriptors: AtomicU32::new(0),
            program: AtomicU64::new(0),
            ends: [const { AtomicU64::new(0) }; 2],
            stands_for_it: AtomicU32::new(0),
            passed: [const { AtomicU64::new(0) }; 2],
            by: [const { AtomicU32::new(0) }; 2],
            inside: [const { AtomicU32::new(0) }; 2],
            was_awaited: AtomicBool::new(false),
        }
    }
}

/// All channels of a group of processes. Empty where all bytes are 0.
struct Table {
    /// Whose they are, as in [`wire::channel`].
    group: AtomicU32,
    /// The number of the last channel that was made.
    last: AtomicU32,
    /// How many threads wait for several descriptors at once.
    polling: AtomicU32,
    channels: [Channel; CHANNELS],
}

const _: () = assert!(size_of::<Table>() <= CHANNELS_SIZE);

/// Where no memory can be shared.
static UNSHARED: Table = Table {
    group: AtomicU32::new(0),
    last: AtomicU32::new(0),
    polling: AtomicU32::new(0),
    channels: [const { Channel::new() }; CHANNELS],
};
/// What processes have in common; null before the first channel.
static SHARED: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

#[inline(always)]
fn table() -> &'static Table {
    let shared = SHARED.load(Ordering::Acquire);
    // SAFETY: mapped by `share` for the rest of the process's life, and that of its children.
    if shared.is_null() { &UNSHARED } else { unsafe { &*shared } }
}

/// Before the first channel: those of all processes are to be known to all of them, or where the session cannot be reached any more,
/// those of this process and of its children.
#[cold]
fn share() {
    let is_begun = !SHARED.load(Ordering::Relaxed).is_null() || UNSHARED.last.load(Ordering::Relaxed) != 0;
    if is_begun || life::confined() {
        return;
    }
    let of_session = directory::map_channels().map(|memory| (memory, ALL_PROCESSES));
    let own = || Some((mapping::map_shared_memory(CHANNELS_SIZE)?, life::own_process()));
    let Some((memory, group)) = of_session.or_else(own) else { return };
    let new: *mut Table = memory.cast();
    // SAFETY: a new mapping, which is long enough, and may be any bits; all are 0 in an empty table.
    unsafe { (*new).group.store(group, Ordering::Relaxed) };
    if SHARED.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: another thread was faster, so that nobody knows of this one.
        unsafe { mapping::unmap(memory, CHANNELS_SIZE) };
    }
}

fn known(number: u32) -> &'static Channel {
    &table().channels[number as usize % CHANNELS]
}

/// What a thread does at a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    /// It puts something in, or waits for room.
    Puts = 0,
    /// It takes something out, or waits for it.
    Takes = 1,
}

impl Act {
    fn other(self) -> Act {
        match self {
            Act::Puts => Act::Takes,
            Act::Takes => Act::Puts,
        }
    }
}

/// A call by which a thread puts something into a channel or takes something out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    number: u32,
    act: Act,
}

/// How a call found a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beginning {
    now: u64,
    /// Somebody is in a call that wants what this one gives.
    pub(crate) is_awaited: bool,
    /// Somebody waits for what it gives, or may do so; or it is the first one to put something in: who does that before anything else came
    /// says who does which.
    pub(crate) is_recorded: bool,
}

impl Passage {
    /// What the thread waits for, if it has to: something to take, or room.
    pub(crate) fn wanted(self) -> (u64, ObjectCode) {
        let kind = match self.act {
            Act::Puts => ObjectCode::Room,
            Act::Takes => ObjectCode::Messages,
        };
        (wire::channel(table().group.load(Ordering::Relaxed), self.number), kind)
    }

    /// What those wait for whom it lets go on.
    pub(crate) fn given(self) -> (u64, ObjectCode) {
        Passage { act: self.act.other(), ..self }.wanted()
    }

    /// The call begins at `now`, made by the thread `by`.
    pub(crate) fn begins(self, now: u64, by: u32) -> Beginning {
        let channel = known(self.number);
        let passed = &channel.passed[self.act as usize];
        let is_first = self.act == Act::Puts && passed.load(Ordering::Relaxed) == 0;
        passed.store(now, Ordering::Relaxed);
        self.is_made_by(by);
        channel.inside[self.act as usize].fetch_add(1, Ordering::Relaxed);
        let other = self.act.other() as usize;
        let is_awaited = channel.inside[other].load(Ordering::Relaxed) != 0;
        let may_be_awaited = self.act == Act::Puts
            && table().polling.load(Ordering::Relaxed) != 0
            && !channel.was_awaited.load(Ordering::Relaxed);
        Beginning { now, is_awaited, is_recorded: is_first || is_awaited || may_be_awaited }
    }

    /// The call is made by this thread, by its kernel id.
    pub(crate) fn is_made_by(self, by: u32) {
        known(self.number).by[self.act as usize].store(by, Ordering::Relaxed);
    }

    /// The call has returned. One that never does, since its thread was cancelled, counts as one that waits: that costs records, and
    /// hides none.
    pub(crate) fn ends(self, now: u64) {
        let channel = known(self.number);
        if channel.number.load(Ordering::Relaxed) != self.number {
            return;
        }
        channel.passed[self.act as usize].store(now, Ordering::Relaxed);
        channel.inside[self.act as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// True if a call that gives what is wanted here was made since `time`, or is being made: by one call much can be put in and taken,
    /// piece by piece.
    fn was_given_since(self, time: u64) -> bool {
        let (channel, other) = (known(self.number), self.act.other() as usize);
        channel.passed[other].load(Ordering::Relaxed) >= time
            || channel.inside[other].load(Ordering::Relaxed) != 0
    }

    /// Which thread was the last to give what is wanted here, by its kernel id.
    pub(crate) fn giver(self) -> u32 {
        known(self.number).by[self.act.other() as usize].load(Ordering::Relaxed)
    }

    /// Who has been blocked in the call since it began, by which so many bytes were put in or taken, has waited for another thread; false
    /// if something else ended it. There was room for what somebody waited for.
    pub(crate) fn has_waited(self, beginning: Beginning, bytes: u64) -> bool {
        let was_full = self.act == Act::Takes || !beginning.is_awaited || bytes > CAPACITY;
        let was_given = was_full && self.was_given_since(beginning.now);
        if was_given && self.act == Act::Takes {
            known(self.number).was_awaited.store(true, Ordering::Relaxed);
        }
        was_given
    }
}

/// The number of what stands for a channel.
fn root(number: u32) -> u32 {
    let mut root = number;
    for _ in 0..STEPS {
        let next = known(root).stands_for_it.load(Ordering::Relaxed);
        // Another one may have its place.
        if next == 0 || known(next).number.load(Ordering::Relaxed) != next {
            break;
        }
        root = next;
    }
    root
}

#[inline(always)]
fn at(table: &[AtomicU32; DESCRIPTORS], descriptor: u32) -> u32 {
    table.get(descriptor as usize).map_or(0, |number| number.load(Ordering::Relaxed))
}

/// For a call that reads from a descriptor, or polls by it.
#[inline(always)]
pub fn takes(descriptor: u32) -> Option<Passage> {
    let number = at(&READ, descriptor);
    if number == 0 { None } else { passage(number, Act::Takes) }
}

/// For a call that writes to a descriptor.
#[inline(always)]
pub fn puts(descriptor: u32) -> Option<Passage> {
    let number = at(&WRITTEN, descriptor);
    if number == 0 { None } else { passage(number, Act::Puts) }
}

/// For a call that closes a descriptor: who reads what it writes gets to the end, if it was the last one. Forked processes close at once
/// what they do not use, while others have it still.
#[inline(always)]
pub fn closes(descriptor: u32) -> Option<Passage> {
    puts(descriptor).filter(|_| made_here(at(&WRITTEN, descriptor)).is_some())
}

/// The descriptors that the end of the process closes, as [`closes`].
pub(crate) fn end() -> impl Iterator<Item = (u32, Passage)> {
    let used = if table().last.load(Ordering::Relaxed) == 0 { 0 } else { DESCRIPTORS as u32 };
    (0..used).filter_map(|descriptor| Some((descriptor, closes(descriptor)?)))
}

/// None where the process that made the channel has closed it, and another one has its place by now; and for what a forked child puts
/// in that is not recorded, and may never be: nobody can be shown to have waited for it.
#[cold]
#[inline(never)]
fn passage(number: u32, act: Act) -> Option<Passage> {
    let is_followed = known(number).number.load(Ordering::Relaxed) == number;
    let is_seen = act == Act::Takes || life::is_or_may_be_recorded();
    (is_followed && is_seen).then(|| Passage { number: root(number), act })
}

/// A thread is about to wait until one of several descriptors, which are not known yet, can be read. True if one may be a channel.
#[inline(always)]
pub fn poll_begins() -> bool {
    let may_be = table().last.load(Ordering::Relaxed) != 0;
    if may_be {
        table().polling.fetch_add(1, Ordering::Relaxed);
    }
    may_be
}

/// It waits no more: one of these can be read, or none.
pub(crate) fn poll_ends(ready: impl Iterator<Item = u32>, since: u64) -> Option<Passage> {
    table().polling.fetch_sub(1, Ordering::Relaxed);
    ready.take(POLLED).filter_map(takes).find(|passage| passage.was_given_since(since))
}

/// `polled` is polled by `by`, a descriptor of its own.
pub fn is_polled(by: u32, polled: u32) {
    let Some(one) = takes(polled) else { return };
    if !may_change() {
        return;
    }
    match takes(by) {
        Some(all) => become_one(one.number, all.number),
        None => set(by, one.number, 0),
    }
}

/// Only this process's own: children that poll each a channel of their own, and all of them one of their parent's, do not poll all.
fn become_one(one: u32, all: u32) {
    let is_own = |number| known(number).maker.load(Ordering::Relaxed) == life::own_process();
    if one != all && is_own(one) && is_own(all) {
        known(one).stands_for_it.store(all, Ordering::Relaxed);
    }
}

/// False in a child that shares this memory until it executes a program: what it does with its descriptors is none of this process's.
fn may_change() -> bool {
    life::confined() || life::is_own_process()
}

/// Gives a new channel to `lead`, which makes descriptors lead to it; none where as many as can be are followed. It is written at the
/// first of these ends, and read at the second.
fn with_new_channel(ends: [u64; 2], lead: impl FnOnce(u32)) {
    share();
    for _ in 0..CHANNELS {
        let number = table().last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let channel = known(number);
        let used = channel.descriptors.load(Ordering::Relaxed);
        let is_free = |inside: &AtomicU32| inside.load(Ordering::Relaxed) == 0;
        let can_be_had = used == 0 && channel.inside.iter().all(is_free) || is_orphan(channel);
        if matches!(number, 0 | TIMER)
            || !can_be_had
            || channel.descriptors.compare_exchange(used, 1, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            continue;
        }
        channel.number.store(number, Ordering::Relaxed);
        channel.maker.store(life::own_process(), Ordering::Relaxed);
        channel.program.store(own_program(), Ordering::Relaxed);
        channel.ends.iter().zip(ends).for_each(|(to, end)| to.store(end, Ordering::Relaxed));
        channel.inside.iter().for_each(|inside| inside.store(0, Ordering::Relaxed));
        channel.stands_for_it.store(0, Ordering::Relaxed);
        channel.passed.iter().for_each(|passed| passed.store(0, Ordering::Relaxed));
        channel.by.iter().for_each(|by| by.store(0, Ordering::Relaxed));
        channel.was_awaited.store(false, Ordering::Relaxed);
        lead(number);
        channel.descriptors.fetch_sub(1, Ordering::Relaxed);
        return;
    }
}

/// The process that made it has ended, and closed nothing before.
fn is_orphan(channel: &Channel) -> bool {
    let maker = channel.maker.load(Ordering::Relaxed);
    maker != 0 && maker != life::own_process() && !life::confined() && !life::exists(maker)
}

fn set(descriptor: u32, read: u32, written: u32) {
    for (table, number) in [(&READ, read), (&WRITTEN, written)] {
        let Some(entry) = table.get(descriptor as usize) else { continue };
        if let Some(channel) = made_here(number) {
            channel.descriptors.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(channel) = made_here(entry.swap(number, Ordering::Relaxed)) {
            channel.descriptors.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A channel that this process made, and which is still followed.
fn made_here(number: u32) -> Option<&'static Channel> {
    let channel = known(number);
    let is_own = number != 0
        && channel.number.load(Ordering::Relaxed) == number
        && channel.maker.load(Ordering::Relaxed) == life::own_process();
    is_own.then_some(channel)
}

/// Which program this process executes; 0 where that cannot be known.
fn own_program() -> u64 {
    static PROGRAM: AtomicU64 = AtomicU64::new(0);
    if PROGRAM.load(Ordering::Relaxed) == 0 && !life::confined() {
        PROGRAM.store(descriptors::program(), Ordering::Relaxed);
    }
    PROGRAM.load(Ordering::Relaxed)
}

/// By what other processes know where a descriptor leads; 0 where it cannot be known.
fn identity(descriptor: u32) -> u64 {
    if life::confined() { 0 } else { end_of(descriptor).map_or(0, |end| end.identity) }
}

/// Channels that somebody knows, or has known.
fn places() -> &'static [Channel] {
    let table = table();
    &table.channels[..CHANNELS.min(table.last.load(Ordering::Relaxed) as usize + 1)]
}

/// Looks for channels among the first 64 descriptors that a newly executed program was given. Called once, before it has threads.
pub(crate) fn inherit() {
    let open = descriptors::open();
    let open = (0..u64::BITS).filter(|descriptor| open >> descriptor & 1 != 0);
    let mut given = open.filter_map(|descriptor| Some((descriptor, end_of(descriptor)?))).peekable();
    if given.peek().is_none() {
        return;
    }
    share();
    // What this process made before it executed this program has none of its descriptors, but for those that are found now.
    let own = life::own_process();
    let made = places().iter().filter(|channel| channel.maker.load(Ordering::Relaxed) == own);
    made.for_each(|channel| channel.descriptors.store(0, Ordering::Relaxed));
    given.for_each(|(descriptor, end)| follow(descriptor, end));
}

/// The program received a message, with which another process can have sent it descriptors.
///
/// # Safety
/// A `struct msghdr`, as the call for it left it.
pub unsafe fn received_with(message: *const c_void) {
    // SAFETY: the caller's promise.
    unsafe { descriptors::sent_with(message.cast()) }.for_each(received);
}

fn received(descriptor: u32) {
    if !may_change() {
        return;
    }
    set(descriptor, 0, 0);
    if !life::confined()
        && let Some(end) = end_of(descriptor)
    {
        share();
        follow(descriptor, end);
    }
}

/// A descriptor of this process leads to a channel that another one made, if that executes the same program.
fn follow(descriptor: u32, end: End) {
    let own = own_program();
    let newest = |act: Act| {
        let is_it = |channel: &&Channel| {
            channel.ends[act as usize].load(Ordering::Relaxed) == end.identity
                && channel.program.load(Ordering::Relaxed) == own
        };
        let found = places().iter().filter(is_it).map(|channel| channel.number.load(Ordering::Relaxed));
        found.max().unwrap_or(0)
    };
    let read = if end.can_be_read { newest(Act::Takes) } else { 0 };
    let written = if end.can_be_written { newest(Act::Puts) } else { 0 };
    if own != 0 && (read | written) != 0 {
        set(descriptor, read, written);
    }
}

/// The program made a pipe.
pub fn made_pipe(read: u32, written: u32) {
    if may_change() {
        [read, written].into_iter().for_each(|descriptor| set(descriptor, 0, 0));
        with_new_channel([identity(written), identity(read)], |number| {
            set(read, number, 0);
            set(written, 0, number);
        });
    }
}

/// The program made an eventfd.
pub fn made_event(descriptor: u32) {
    if may_change() {
        set(descriptor, 0, 0);
        with_new_channel([0; 2], |number| set(descriptor, number, number));
    }
}

/// The program made a descriptor by which a thread waits until a time is up.
pub fn made_timer(descriptor: u32) {
    if may_change() {
        set(descriptor, TIMER, 0);
    }
}

/// True if who reads from a descriptor waits until a time is up.
pub(crate) fn is_timer(descriptor: u32) -> bool {
    at(&READ, descriptor) == TIMER
}

/// The program made a pair of sockets.
pub fn made_pair(one: u32, other: u32) {
    if may_change() {
        [one, other].into_iter().for_each(|descriptor| set(descriptor, 0, 0));
        let ends = [identity(one), identity(other)];
        with_new_channel([ends[1], ends[0]], |to_one| {
            with_new_channel(ends, |to_other| {
                set(one, to_one, to_other);
                set(other, to_other, to_one);
            });
        });
    }
}

/// `copy` leads from now on to where `descriptor` leads.
#[inline]
pub fn copied(descriptor: u32, copy: u32) {
    let known = |descriptor| (at(&READ, descriptor), at(&WRITTEN, descriptor));
    let (from, to) = (known(descriptor), known(copy));
    if from != to && may_change() {
        set(copy, from.0, from.1);
    }
}

/// `descriptor` leads nowhere from now on.
#[inline]
pub fn closed(descriptor: u32) {
    if (at(&READ, descriptor) | at(&WRITTEN, descriptor)) != 0 && may_change() {
        set(descriptor, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::os::fd::AsRawFd;

    /// One test, since the tables are for the whole process, and it must be known whose they are.
    #[test]
    fn who_reads_waits_for_who_writes_at_whatever_descriptors() {
        life::remember_process();
        made_pipe(1000, 1001);
        let (reader, writer) = (takes(1000).expect("a channel"), puts(1001).expect("a channel"));
        assert_eq!((puts(1000), takes(1001), takes(1002)), (None, None, None));
        assert_eq!((reader.wanted(), reader.given()), (writer.given(), writer.wanted()));
        assert_ne!(reader.wanted(), reader.given(), "something to take, and room");

        let (read, written) = (reader.begins(10, 8), writer.begins(20, 7));
        assert!(!read.is_recorded && written.is_recorded, "the reader waits");
        let since = |now| Beginning { now, ..read };
        assert!(
            reader.has_waited(read, 8) && reader.has_waited(since(21), 8),
            "the writer has not put in all"
        );
        assert_eq!((reader.giver(), writer.giver()), (7, 8));
        writer.ends(25);
        assert!(reader.has_waited(since(25), 8) && !reader.has_waited(since(26), 8));
        assert!(!writer.has_waited(written, 8), "there is room for what the reader waits for");
        assert!(writer.has_waited(written, 1 << 20), "but not for so much");
        reader.ends(30);
        let written = writer.begins(40, 7);
        assert!(!written.is_recorded, "nobody waits");
        assert!(reader.begins(50, 8).is_recorded && writer.has_waited(written, 8), "who takes makes room");
        [reader, writer].into_iter().for_each(|passage| passage.ends(60));

        made_pair(1003, 1004);
        assert_eq!(takes(1003).map(Passage::wanted), puts(1004).map(Passage::given));
        assert_eq!(takes(1004).map(Passage::wanted), puts(1003).map(Passage::given));
        assert_ne!(takes(1003), takes(1004));

        copied(1001, 1005);
        closed(1001);
        assert_eq!((puts(1001), puts(1005)), (None, Some(writer)));
        copied(1002, 1005);
        assert_eq!(puts(1005), None, "a file took its place");

        made_event(1006);
        is_polled(1010, 1006);
        is_polled(1010, 1000);
        is_polled(1010, 1002);
        let poller = takes(1010).expect("what it polls are channels");
        assert_eq!([1000, 1006].map(takes), [Some(poller); 2], "they are one");
        assert_eq!(puts(1006).map(Passage::given), Some(poller.wanted()));

        let (to_one, to_both) = (puts(1004).expect("a channel"), puts(1006).expect("a channel"));
        let from_one = takes(1003).expect("a channel");
        assert!(poll_begins() && !from_one.begins(69, 7).is_recorded, "nobody polls for room");
        from_one.ends(69);
        assert!(to_one.begins(70, 7).is_recorded, "perhaps for this");
        to_one.ends(75);
        let ready = [1002, 5000, 1006, 1003].into_iter();
        assert_eq!(poll_ends(ready, 45), takes(1003), "the others gave nothing");
        assert!(
            to_both.begins(80, 7).is_recorded && !to_both.begins(81, 7).is_recorded,
            "the first one counts"
        );
        [81, 82].into_iter().for_each(|now| to_both.ends(now));
        assert!(poll_begins());
        assert_eq!(poll_ends([1006].into_iter(), 85), None);

        [1000, 1003, 1004, 1006, 1010].into_iter().for_each(closed);
        assert_eq!([1000, 1003, 1004, 1006, 1010].map(takes), [None; 5]);
        made_pipe(5000, 5001);
        assert_eq!(takes(5000), None, "beyond the table");
        made_timer(1011);
        copied(1011, 1012);
        closed(1011);
        is_polled(1010, 1012);
        assert_eq!([1010, 1011, 1012].map(takes), [None; 3], "nobody gives a timer anything");
        assert_eq!([1010, 1011, 1012].map(is_timer), [false, false, true]);
        closed(1012);

        // Another process of this program is given descriptors that are found by what they lead to; here it is this one, which has
        // forgotten them.
        let (reading, writing) = std::io::pipe().expect("a pipe");
        let (one, other) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let ends = [reading.as_raw_fd(), writing.as_raw_fd(), one.as_raw_fd(), other.as_raw_fd()];
        let [reading, writing, one, other] = ends.map(|end| end as u32);
        made_pipe(reading, writing);
        made_pair(one, other);
        let leads = || [reading, writing, one, other].map(|end| (takes(end), puts(end)));
        let before = leads();
        let forget = || {
            for table in [&READ, &WRITTEN] {
                table.iter().for_each(|entry| entry.store(0, Ordering::Relaxed));
            }
        };
        let kept =
            |end: u32| known(takes(end).expect("a channel").number).descriptors.load(Ordering::Relaxed);
        assert_eq!((before[0].1, before[1].0, kept(reading)), (None, None, 2), "a pipe has two ends");
        forget();
        inherit();
        assert_eq!((leads(), kept(reading)), (before, 2), "those that it has, and no more");
        let at_the_end: std::vec::Vec<u32> = end().map(|(descriptor, _)| descriptor).collect();
        assert!(
            [writing, one, other].iter().all(|end| at_the_end.contains(end))
                && !at_the_end.contains(&reading)
        );
        forget();
        received(one);
        assert_eq!(leads(), [(None, None), (None, None), before[2], (None, None)]);
        // What another program made is no channel of this one's.
        places().iter().for_each(|channel| channel.program.store(7, Ordering::Relaxed));
        forget();
        inherit();
        received(one);
        assert_eq!(leads(), [(None, None); 4]);

        // Of the channels that are still open none is forgotten, however many there are.
        made_pipe(1000, 1001);
        let first = takes(1000);
        for _ in 0..3 * CHANNELS {
            made_pair(1002, 1003);
        }
        assert_eq!((takes(1000), puts(1001).map(Passage::given)), (first, first.map(Passage::wanted)));
        let reader = first.expect("a channel");
        reader.begins(100, 7);
        [1000, 1001].into_iter().for_each(closed);
        (0..CHANNELS).for_each(|_| made_event(1004));
        assert!(
            !takes(1004).expect("a channel").begins(110, 7).is_awaited,
            "nobody has the place of one in use"
        );
        reader.ends(120);
        assert_eq!(known(reader.number).inside[Act::Takes as usize].load(Ordering::Relaxed), 0);
        // More than can be followed are not.
        (0..CHANNELS as u32).for_each(|more| made_event(2000 + more));
        assert_eq!(takes(2000 + CHANNELS as u32 - 1), None);
        closed(2000);
        made_event(2001);
        assert!(takes(2001).is_some(), "where one is closed there is room for another one");
    }
}
