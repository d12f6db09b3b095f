//! What names are found for is all there, and takes no memory for how long the program ran.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};

use holdup_recording::facts::Session;
use holdup_recording::format::FrameKind;
use holdup_recording::{Outline, RawStack, Recording, Warning, Writer};
use holdup_trace::wire::{self, ObjectCode, OutcomeCode, WaitRecord};

/// Counts what each thread holds of memory, and the most that it held since the last [`most_held`] began.
struct Counting;

thread_local! {
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + bytes;
        held.set((now, held.get().1.max(now)));
    });
}

// SAFETY: all is done by the system's allocator; what is counted is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes that this thread holds meanwhile beyond what it held before.
fn most_held<T>(work: impl FnOnce() -> T) -> (T, isize) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let done = work();
    (done, HELD.get().1 - before)
}

/// Two processes with three stacks each, and so many chunks of waits.
fn made(path: &Path, chunks: u32) {
    let mut writer = Writer::create(path).unwrap();
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    for process in 0..2 {
        for sequence in 0..3 {
            let id = u64::from(process * 10 + sequence);
            let mut words = wire::thread_start(1, 0, 0x1000 + id, 0, 0, 7).to_vec();
            words.extend(wire::stack_head(id, 0x2000 + id, 0x7000, 0x7010, 4));
            words.extend([id; 4]);
            words.extend(wire::module_head(0, 0x1000, 0x3000, 0, 4));
            words.push(u64::from_le_bytes(*b"/app\0\0\0\0"));
            writer.chunk(process, 1, sequence, &words).unwrap();
        }
    }
    for sequence in 3..chunks + 3 {
        let waits = (0..500).flat_map(|at| {
            let begin = u64::from(sequence) * 1_000 + at;
            wire::wait(&WaitRecord {
                begin,
                end: begin + 1,
                object: 0x5000 + at % 8 * 64,
                stack: at % 3,
                mutex: 0,
                cpu_begin: begin,
                cpu_end: begin,
                kind: ObjectCode::Mutex,
                shared_mode: false,
                process_shared: false,
                outcome: OutcomeCode::Granted,
                owner_tid: 0,
            })
        });
        writer.chunk(0, 1, sequence, &waits.collect::<Vec<u64>>()).unwrap();
    }
}

fn in_folder(with: impl FnOnce(PathBuf)) {
    let folder = tempfile::tempdir().unwrap();
    with(folder.path().join("outline.holdup"));
}

#[test]
fn an_outline_has_what_the_whole_recording_has() {
    in_folder(|path| {
        made(&path, 4);
        let file = File::open(&path).unwrap();
        let outline = Outline::read(&file, &path).unwrap();
        let (recording, _) = Recording::open(&path).unwrap();
        let key = |stack: &RawStack| (stack.id, stack.ip, stack.sp, stack.bp, stack.bytes.clone());
        for (index, process) in recording.processes.iter().enumerate() {
            let (found, all) = (outline.addresses[index].as_ref().unwrap(), process.addresses());
            assert_eq!(
                (&found.modules, &found.code, &found.objects),
                (&all.modules, &all.code, &all.objects)
            );
            assert_eq!((found.modules.len(), found.code.len()), (1, 3));
            let mut stacks = Vec::new();
            outline.each_stack(index, |stack| stacks.push(key(&stack)));
            assert_eq!(stacks, process.stacks().map(|stack| key(&stack)).collect::<Vec<_>>());
            assert_eq!(stacks.len(), 3);
        }
        assert_eq!(outline.addresses[0].as_ref().unwrap().objects.len(), 8);
        assert_eq!(outline.recording.processes.len(), 2);
        assert!(outline.recording.processes.iter().all(|process| process.records().next().is_none()));
    });
}

#[test]
fn an_outline_of_a_long_run_takes_as_much_memory_as_one_of_a_short_run() {
    let taken = |chunks| {
        let mut taken = (0, 0);
        in_folder(|path| {
            made(&path, chunks);
            let file = File::open(&path).unwrap();
            taken.0 = most_held(|| Outline::read(&file, &path).unwrap()).1;
            taken.1 = most_held(|| Recording::read(&file, &path).unwrap()).1;
        });
        taken
    };
    let (short, long) = (taken(200), taken(2_000));
    assert!(long.0 < short.0 + (1 << 20), "an outline takes {} bytes, then {}", short.0, long.0);
    assert!(long.1 > 2_000 * 500 * 64, "the whole recording takes {} bytes", long.1);
}

/// Frames are read in pieces of a MiB: damage lies at the end of one, and one frame is longer.
#[test]
fn what_is_read_in_pieces_is_what_is_read_at_once() {
    in_folder(|path| {
        made(&path, 300);
        let mut bytes = std::fs::read(&path).unwrap();
        let long = {
            let other = path.with_extension("long");
            let mut writer = Writer::create(&other).unwrap();
            let mut word = 88_172_645_463_325_252_u64;
            let noise = std::iter::repeat_with(|| {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                word
            });
            // Nothing that is understood, in a frame that is not compressed.
            writer.kernel(&noise.take(400_000).collect::<Vec<u64>>()).unwrap();
            std::fs::read(other).unwrap()[32..].to_vec()
        };
        assert!(long.len() > 3_000_000);
        let whole = bytes[32..].to_vec();
        bytes.extend(&long);
        bytes.extend(&whole);
        for damaged in [(1 << 20) - 2, 1 << 20, (1 << 20) + 3, bytes.len() - 40] {
            let mut bytes = bytes.clone();
            bytes[damaged] ^= 0x55;
            std::fs::write(&path, &bytes).unwrap();
            let (at_once, of_bytes) = Recording::parse(&bytes, &path).unwrap();
            let (in_pieces, of_file) = Recording::open(&path).unwrap();
            assert_eq!(of_bytes, of_file);
            assert!(of_file.iter().any(|warning| matches!(warning, Warning::Damaged { .. })), "{of_file:?}");
            let records = |recording: &Recording| recording.processes[0].records().count();
            assert_eq!(records(&at_once), records(&in_pieces));
            assert!(records(&in_pieces) > 100_000);
        }
    });
}
