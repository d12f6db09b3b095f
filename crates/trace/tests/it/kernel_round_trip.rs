//! What the kernel collector writes is read back, and rubbish never does harm.

use holdup_trace::kernel::{
    self, Access, AccessCode, CoverageCode, InKernelCode, NO_CALL, Record, Running, SampleCode,
};
use holdup_trace::wire::BadRecord;
use proptest::prelude::*;

#[test]
fn every_record_is_read_as_it_was_written() {
    let mut words: Vec<u64> = Vec::new();
    kernel::switch(&mut words, 1, (2, 3), 4, true, true);
    kernel::switch(&mut words, 5, (2, 3), 4, false, false);
    kernel::start(&mut words, 6, (7, 8), (9, 10), 11);
    kernel::exit(&mut words, 12, (13, 14));
    kernel::sample(&mut words, 15, (16, 17), SampleCode::Blocked, 18, 19, 20, 21);
    let access = Access { address: u64::MAX - 7, bytes: 64, code: AccessCode::Atomic };
    let kinds = [
        Running::default(),
        Running { access: Some(access), in_kernel: None },
        Running { access: None, in_kernel: Some(InKernelCode::Call) },
        Running { access: None, in_kernel: Some(InKernelCode::Fault) },
    ];
    for kind in kinds {
        kernel::running(&mut words, 15, (16, 17), 18, 19, kind);
    }
    kernel::stack(&mut words, 22, 23, true, &[24, 25, 26]);
    kernel::waking(&mut words, 27, 28, 29);
    kernel::reading(&mut words, 30, (31, 32), 33, 34);
    kernel::coverage(&mut words, 35, CoverageCode::BackOff);
    kernel::coverage(&mut words, 36, CoverageCode::BackOffWithSamples);
    kernel::lost(&mut words, 36, 37);
    let running = |running| Record::Sample {
        time: 15,
        pid: 16,
        tid: 17,
        kind: SampleCode::Running,
        weight: 18,
        stack: 19,
        call: NO_CALL,
        argument: 0,
        running,
    };
    let expected = [
        Record::Switch { time: 1, pid: 2, tid: 3, core: 4, out: true, preempted: true },
        Record::Switch { time: 5, pid: 2, tid: 3, core: 4, out: false, preempted: false },
        Record::Start { time: 6, pid: 7, tid: 8, parent_pid: 9, parent_tid: 10, image: 11 },
        Record::Exit { time: 12, pid: 13, tid: 14 },
        Record::Sample {
            time: 15,
            pid: 16,
            tid: 17,
            kind: SampleCode::Blocked,
            weight: 18,
            stack: 19,
            call: 20,
            argument: 21,
            running: Running::default(),
        },
        running(kinds[0]),
        running(kinds[1]),
        running(kinds[2]),
        running(kinds[3]),
        Record::Stack { id: 22, image: 23, broken: true, addresses: &[24, 25, 26] },
        Record::Waking { time: 27, tid: 28, by: 29 },
        Record::Reading { time: 30, pid: 31, tid: 32, cpu: 33, delay: 34 },
        Record::Coverage { time: 35, kind: CoverageCode::BackOff },
        Record::Coverage { time: 36, kind: CoverageCode::BackOffWithSamples },
        Record::Lost { time: 36, count: 37 },
    ];
    assert_eq!(kernel::records(&words).collect::<Vec<_>>(), expected);
}

#[test]
fn texts_keep_their_bytes() {
    let mut words: Vec<u64> = Vec::new();
    kernel::name(&mut words, 1, (2, 3), b"worker 11");
    kernel::exec(&mut words, 4, 5, 6, b"app\0-j\0");
    kernel::mapping(&mut words, 7, 8, (9, 10), 11, b"/lib/libc.so.6");
    let mut records = kernel::records(&words);
    let Some(Record::Name { text, .. }) = records.next() else { panic!("not a name") };
    assert_eq!(text.bytes().collect::<Vec<_>>(), b"worker 11");
    let Some(Record::Exec { text, image: 6, .. }) = records.next() else { panic!("not an execution") };
    assert_eq!(text.bytes().collect::<Vec<_>>(), b"app\0-j\0");
    let Some(Record::Mapping { time: 7, image: 8, start: 9, end: 10, offset: 11, text }) = records.next()
    else {
        panic!("not a mapping")
    };
    assert_eq!(text.bytes().collect::<Vec<_>>(), b"/lib/libc.so.6");
}

proptest! {
    #[test]
    fn rubbish_is_never_read_past_its_end(words in prop::collection::vec(any::<u64>(), 0..64)) {
        match kernel::read(&words) {
            Ok((_, len)) | Err(BadRecord::Unknown(len)) => prop_assert!(len >= 1 && len <= words.len()),
            Err(BadRecord::Length) => {}
        }
        prop_assert!(kernel::records(&words).count() <= words.len());
    }
}
