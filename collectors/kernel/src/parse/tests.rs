use proptest::prelude::*;

use super::*;

const SAMPLES: u64 = 71;
const WAKINGS: u64 = 72;

struct Opened;

impl Schema for Opened {
    fn kind(&self, id: u64) -> Option<Kind> {
        match id {
            SAMPLES => Some(Kind::Samples),
            WAKINGS => Some(Kind::Wakings),
            _ => None,
        }
    }

    fn wakings(&self) -> Option<&WakingLayout> {
        static LAYOUT: std::sync::LazyLock<Option<WakingLayout>> = std::sync::LazyLock::new(|| {
            WakingLayout::parse(
                "ID: 9\n field:unsigned char common_flags; offset:2; size:1;\n field:pid_t pid; offset:8; size:4;",
            )
        });
        LAYOUT.as_ref()
    }

    fn stacks(&self) -> bool {
        true
    }
}

/// A record under construction.
struct Made(Vec<u8>);

impl Made {
    fn new(kind: u32, flags: u32) -> Made {
        Made([&kind.to_ne_bytes()[..], &(flags as u16).to_ne_bytes(), &[0; 2]].concat())
    }

    fn words(mut self, words: &[u64]) -> Made {
        self.0.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        self
    }

    fn halves(mut self, halves: &[u32]) -> Made {
        self.0.extend(halves.iter().flat_map(|half| half.to_ne_bytes()));
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Made {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Thread 8 of process 7, at 900, on processor 3, by event 70.
    fn trailer(self) -> Vec<u8> {
        self.halves(&[7, 8]).words(&[900]).halves(&[3, 0]).words(&[70]).sized()
    }

    fn sized(mut self) -> Vec<u8> {
        let len = self.0.len() as u16;
        self.0[6..8].copy_from_slice(&len.to_ne_bytes());
        self.0
    }
}

fn what(record: &[u8]) -> What<'_> {
    let Parsed { id, event } = parse(record, &Opened).expect("a record that is understood");
    assert_eq!((id, event.pid, event.tid, event.time_ns, event.cpu), (70, Pid(7), Tid(8), 900, Cpu(3)));
    assert_eq!(time_ns(record, &Opened), Some(900));
    event.what
}

fn switch(flags: u32) -> Vec<u8> {
    Made::new(sys::PERF_RECORD_SWITCH, flags).trailer()
}

fn fork() -> Vec<u8> {
    Made::new(sys::PERF_RECORD_FORK, 0).halves(&[21, 7, 22, 8]).words(&[900]).trailer()
}

fn mapping() -> Vec<u8> {
    Made::new(sys::PERF_RECORD_MMAP2, 0)
        .halves(&[7, 8])
        .words(&[0x5000, 0x2000, 0x1000])
        .words(&[1, 2, 3])
        .halves(&[5, 2])
        .bytes(b"/bin/a b\0\0\0\0\0\0\0\0")
        .trailer()
}

/// RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, RIP, R8 to R15.
const AS_THE_KERNEL_HAS_THEM: [u64; 17] =
    [0xa, 0xb, 0xc, 0xd, 0x51, 0xd1, 0xb0, 0x50, 0x1b, 8, 9, 10, 11, 12, 13, 14, 15];

fn sample(abi: u64, registers: &[u64]) -> Vec<u8> {
    Made::new(sys::PERF_RECORD_SAMPLE, sys::PERF_RECORD_MISC_KERNEL)
        .words(&[SAMPLES, 0xffff_8000_0000_0000])
        .halves(&[7, 8])
        .words(&[900])
        .halves(&[3, 0])
        .words(&[1_000_000, abi])
        .words(registers)
        .words(&[16])
        .bytes(b"0123456789abcdef")
        .words(&[12])
        .sized()
}

fn waking(flags: u8) -> Vec<u8> {
    Made::new(sys::PERF_RECORD_SAMPLE, 0)
        .words(&[WAKINGS])
        .halves(&[7, 8])
        .words(&[900])
        .halves(&[3, 0])
        .halves(&[12])
        .bytes(&[0, 0, flags, 0, 0, 0, 0, 0])
        .halves(&[33])
        .sized()
}

#[test]
fn switches_say_which_way_and_why() {
    let out = sys::PERF_RECORD_MISC_SWITCH_OUT;
    let preempted = out | sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    assert_eq!(what(&switch(0)), What::Switch(Switch::In));
    assert_eq!(what(&switch(out)), What::Switch(Switch::Blocked));
    assert_eq!(what(&switch(preempted)), What::Switch(Switch::Preempted));
}

#[test]
fn threads_begin_and_end() {
    let (pid, tid, parent_pid, parent_tid) = (Pid(21), Tid(22), Pid(7), Tid(8));
    assert_eq!(what(&fork()), What::Fork { pid, tid, parent_pid, parent_tid });
    let exit = Made::new(sys::PERF_RECORD_EXIT, 0).halves(&[7, 1, 8, 1]).words(&[900]).trailer();
    assert_eq!(what(&exit), What::Exit { pid: Pid(7), tid: Tid(8) });
}

#[test]
fn names_end_at_the_first_zero() {
    let name =
        |flags| Made::new(sys::PERF_RECORD_COMM, flags).halves(&[7, 8]).bytes(b"a\xff b\0\0\0\0").trailer();
    let expected = |exec| What::Name { pid: Pid(7), tid: Tid(8), name: b"a\xff b", exec };
    assert_eq!(what(&name(0)), expected(false));
    assert_eq!(what(&name(sys::PERF_RECORD_MISC_COMM_EXEC)), expected(true));
}

#[test]
fn mappings_have_their_file() {
    let (start, len, offset, path) = (0x5000, 0x2000, 0x1000, &b"/bin/a b"[..]);
    assert_eq!(what(&mapping()), What::Mapping { pid: Pid(7), tid: Tid(8), start, len, offset, path });
}

#[test]
fn what_was_lost_and_throttled_is_told() {
    let lost = Made::new(sys::PERF_RECORD_LOST, 0).words(&[70, 5]).trailer();
    assert_eq!(what(&lost), What::Lost { count: 5 });
    let throttle = |kind| Made::new(kind, 0).words(&[900, 70, 70]).trailer();
    assert_eq!(what(&throttle(sys::PERF_RECORD_THROTTLE)), What::Throttle { stopped: true });
    assert_eq!(what(&throttle(sys::PERF_RECORD_UNTHROTTLE)), What::Throttle { stopped: false });
}

#[test]
fn samples_have_registers_and_stack() {
    let record = sample(2, &AS_THE_KERNEL_HAS_THEM);
    let Parsed { id, event } = parse(&record, &Opened).expect("a sample");
    assert_eq!((id, event.tid, event.time_ns, event.cpu), (SAMPLES, Tid(8), 900, Cpu(3)));
    let general = [0xa, 0xc, 0xd, 0xb, 0x50, 0xb0, 0x51, 0xd1, 8, 9, 10, 11, 12, 13, 14, 15];
    assert_eq!((general[Registers::SP], general[Registers::BP]), (0x50, 0xb0));
    let registers = Some(Registers { ip: 0x1b, general });
    let stack = &b"0123456789ab"[..];
    assert_eq!(event.what, What::Sample(Sample { weight_ns: 1_000_000, in_kernel: true, registers, stack }));
    assert_eq!(time_ns(&record, &Opened), Some(900));
}

#[test]
fn samples_without_a_64_bit_program_have_no_registers() {
    for record in [sample(0, &[]), sample(1, &AS_THE_KERNEL_HAS_THEM)] {
        let Parsed { event, .. } = parse(&record, &Opened).expect("a sample");
        let What::Sample(Sample { registers, stack, .. }) = event.what else { panic!("{event:?}") };
        assert_eq!((registers, stack), (None, &b"0123456789ab"[..]));
    }
}

#[test]
fn a_stack_cannot_be_longer_than_its_room() {
    let mut record = sample(0, &[]);
    let at = record.len() - 8;
    record[at..].copy_from_slice(&17_u64.to_ne_bytes());
    assert_eq!(parse(&record, &Opened), None);
}

#[test]
fn wakings_name_their_waker_unless_an_interrupt_did_it() {
    let waking = |flags| {
        let record = waking(flags);
        assert_eq!(time_ns(&record, &Opened), Some(900));
        let event = parse(&record, &Opened).expect("a waking").event;
        (event.tid, format!("{:?}", event.what))
    };
    let told = |by| (Tid(8), format!("{:?}", What::Waking { wakee: Tid(33), by }));
    assert_eq!(waking(1), told(Waker::Thread));
    assert_eq!(waking(8), told(Waker::Interrupt));
    assert_eq!(waking(0x10), told(Waker::Interrupt));
}

#[test]
fn unknown_records_and_foreign_events_are_left_out() {
    assert_eq!(parse(&Made::new(99, 0).trailer(), &Opened), None);
    let foreign = Made::new(sys::PERF_RECORD_SAMPLE, 0).words(&[4711; 12]).sized();
    assert_eq!(parse(&foreign, &Opened), None);
    assert_eq!(time_ns(&foreign, &Opened), None);
}

#[test]
fn records_that_are_cut_off_are_not_read() {
    let whole = [switch(0), fork(), mapping(), sample(2, &AS_THE_KERNEL_HAS_THEM), waking(0)];
    for record in &whole {
        assert!(parse(record, &Opened).is_some());
        // Below this, the trailer takes what the fields would need.
        for len in 0..HEADER_BYTES + TRAILER_BYTES {
            assert_eq!(parse(&record[..len], &Opened), None, "{len} bytes of {record:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(
        kind in 0_u32..20, flags: u16, id in 69_u64..74, body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut record = Made::new(kind, u32::from(flags)).words(&[id]).bytes(&body).sized();
        let _ = (parse(&record, &Opened), time_ns(&record, &Opened));
        record.truncate(record.len() / 2);
        let _ = (parse(&record, &Opened), time_ns(&record, &Opened));
    }
}
