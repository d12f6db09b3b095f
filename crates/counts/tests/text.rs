//! The text format: what it means, what is wrong with it, and that nothing is lost in it.

use std::collections::BTreeSet;

use holdup_counts::text::{TextError, is_text, parse, read, write};
use holdup_model::counts::*;
use holdup_model::{Frame, Nanos};
use proptest::prelude::*;

fn error(lines: &str) -> String {
    parse(&format!("holdup counts 1\n{lines}")).expect_err(lines).to_string()
}

#[test]
fn a_text_as_a_script_writes_it_is_understood() {
    let counts = parse(
        "holdup counts 1
# from a simulator
time-unit cycles
thread 10 name=main
thread 11 name=\"worker 1\"\tnumber=4   # of its own numbering
block 0x401000 file=lu.c line=407 function=lu instructions=4 exit=branch
block 0x401010 instructions=90 exit=call atomic
begin 0x401010 file=lu.h line=12 function=owner inlined
begin 0x401010 file=lu.c line=408 function=lu
end 0x401010 file=lu.c line=409
code 0x401010 0x401010 \"mov eax, [rdi]\"
edge 0x401010 0x401010
hardware 1 access block=0x401010 address=0x401010 file=lu.c line=409
hardware 2 miss-l1 superior=1
section barrier name=\"end of step\" file=lu.c line=604
begins file=lu.c line=600
depends \"threads took locks in turns\"
instance
time 11 900
time 10 100
native 10 7
native 11 8
edge 0x401000 0x401010 11 5
edge 0x401000 0x401010 11 4
edge 0x401000 0x401010 10 0
count 2 11 33
library 0x401010 10 12
work 10 construct=3 time=20
work-edge 0x401000 0x401010 2
work-library 0x401010 6
instance
time 10 1
section join
",
    )
    .unwrap();
    assert_eq!((counts.source, counts.time_unit), (CountSource::Text, TimeUnit::Cycles));
    assert_eq!(counts.threads[0], ThreadLabel { number: 10, name: Some("main".into()) });
    assert_eq!(counts.threads[1], ThreadLabel { number: 4, name: Some("worker 1".into()) });
    let [branch, call] = counts.blocks.as_slice() else { panic!("{:?}", counts.blocks) };
    assert_eq!((branch.address, branch.instructions, branch.exit), (0x401000, 4, BlockExit::Branch));
    assert_eq!((branch.begin.len(), &branch.begin), (1, &branch.end));
    assert_eq!(branch.begin[0].line, Some(407));
    assert!(call.atomic && !call.waits && call.begin[0].inlined);
    assert_eq!((call.begin.len(), call.end.len(), call.listing.len()), (2, 1, 1));
    assert_eq!(counts.edges, [(BlockId(0), BlockId(1)), (BlockId(1), BlockId(1))]);
    assert_eq!(counts.hardware[1].superior, Some(EventId(2)));
    assert_eq!(counts.hardware[0].block, Some(BlockId(1)));
    let [section, other] = counts.sections.as_slice() else { panic!("{:?}", counts.sections) };
    assert_eq!((section.kind, other.kind), (SectionKind::Barrier, SectionKind::Join));
    assert_eq!(section.end.name.as_deref(), Some("end of step"));
    assert_eq!((section.end.frames[0].line, section.begin.frames[0].line), (Some(604), Some(600)));
    assert_eq!(section.depends_on_schedule.as_deref(), Some("threads took locks in turns"));
    let [first, second] = section.instances.as_slice() else { panic!("{:?}", section.instances) };
    assert_eq!(first.threads, [CountedThread(1), CountedThread(0)]);
    assert_eq!(first.time, [900, 100]);
    assert_eq!(first.native, Some(vec![Nanos::new(8), Nanos::new(7)]));
    assert_eq!(first.executed.entries, [(EventId(0), 0, 9), (EventId(3), 0, 33)]);
    assert_eq!(first.library, [(BlockId(1), 1, 12)]);
    assert_eq!(first.units.len(), 1);
    assert_eq!((first.units[0].row, first.units[0].construct, first.units[0].time), (1, 3, 20));
    assert_eq!(first.units[0].executed, [(EventId(0), 2)]);
    assert_eq!(first.units[0].library, [(BlockId(1), 6)]);
    assert_eq!((second.rows(), &second.native), (1, &None));
}

#[test]
fn time_is_what_was_executed_where_it_is_not_said() {
    let counts = parse(
        "holdup counts 1
thread 0
thread 1
block 1 instructions=10
block 2 instructions=7
section other
instance
edge 1 2 0 3
edge 2 1 0 1
library 1 0 100
time 1 5
work 1
work-edge 1 2 2
work-library 2 1
",
    )
    .unwrap();
    let instance = &counts.sections[0].instances[0];
    assert_eq!(instance.time, [3 * 7 + 10 + 100, 5]);
    assert_eq!(instance.units[0].time, 2 * 7 + 1);
}

#[test]
fn errors_name_the_line_and_the_way_out() {
    assert_eq!(parse(""), Err(TextError::NoHead));
    assert_eq!(parse("thread 0\n"), Err(TextError::NoHead));
    assert_eq!(parse("holdup counts 2\n"), Err(TextError::Version("2".into())));
    assert_eq!(read(b"holdup counts 1\nthread 0\nthread \xff\n"), Err(TextError::NotText { line: 3 }));
    for (lines, expected) in [
        ("\nblok 1", "line 3: a line that begins with `blok` is not known"),
        ("block", "line 2: `block` lacks its id"),
        ("block one", "line 2: the id `one` is no number"),
        ("block -1", "line 2: the id `-1` is no number"),
        (
            "block 1 exit=never",
            "line 2: `never` is none of falls, branch, jump, indirect-jump, call, indirect-call, return, system",
        ),
        ("block 1 colour=red", "line 2: `colour` is not known on a line `block`"),
        ("block 1 2", "line 2: `2` is not known on a line `block`"),
        ("block 1 line=4294967296", "line 2: `line=4294967296` is no number from 0 to 4294967295"),
        ("block 1\nblock 1", "line 3: block 1 was declared before"),
        ("block 1\nedge 1 2", "line 3: there is no block 2: declare it before, by a line `block 2 …`"),
        ("thread 0 name=\"x", "line 2: a quote is not closed"),
        ("thread 0 name=\"x\"y", "line 2: a blank must follow a closing quote"),
        ("thread 0 name=\"\\q\"", "line 2: after `\\` stands one of \" \\ n t r u"),
        ("thread 0 name=\"\\u{d800}\"", "line 2: `\\u` is written `\\u{HEX}`"),
        ("thread 4294967296", "line 2: thread 4294967296 needs a `number=` below 2^32"),
        ("instance", "line 2: `instance` must stand below a line `section`"),
        ("thread 0\nsection barrier\ntime 0 1", "line 4: `time` must stand below a line `instance`"),
        (
            "section barrier\ninstance\nsection join\nwarning x\nends name=y\ninstance\nbegins name=y",
            "line 8: `begins` must stand below a line `section`",
        ),
        (
            "thread 0\nblock 1\nsection barrier\ninstance\nwork-library 1 2",
            "line 6: `work-library` must stand below a line `work`",
        ),
        (
            "time-unit ns\nthread 7\nblock 1\nsection join\ninstance\nedge 1 1 7 4",
            "line 6: thread 7 has no time in the instance that begins here: write `time 7 NUMBER`",
        ),
        (
            "thread 0\nthread 1\nsection join\ninstance\ntime 0 1\ntime 1 1\nnative 1 4",
            "line 5: thread 0 has no native in the instance that begins here: write `native 0 NUMBER`",
        ),
        (
            "hardware 1 miss-l1 superior=9",
            "line 2: there is no hardware 9: declare it before, by a line `hardware 9 …`",
        ),
    ] {
        assert_eq!(error(lines), expected, "{lines}");
    }
}

#[test]
fn texts_are_told_from_other_files() {
    assert!(is_text(write(&Counts::default()).as_bytes()));
    assert!(!is_text(b"holdup\0recording") && !is_text(b""));
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{0,6}", "[ -~\n\t\r]{0,8}", "\\PC{0,4}", any::<String>()]
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let frame = (
        prop::option::of(names()),
        prop::option::of(names()),
        prop::option::of(any::<u32>()),
        prop::option::of(names()),
        any::<u64>(),
        any::<bool>(),
    );
    let frame = prop_oneof![
        Just(Frame::default()),
        frame.prop_map(|(function, file, line, module, address, inlined)| Frame {
            function,
            file,
            line,
            module,
            address,
            inlined,
            ..Frame::default()
        })
    ];
    prop::collection::vec(frame, 0..3)
}

fn word<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(all.to_vec())
}

fn blocks() -> impl Strategy<Value = BasicBlock> {
    let exits = [
        BlockExit::Falls,
        BlockExit::Branch,
        BlockExit::Jump,
        BlockExit::IndirectJump,
        BlockExit::Call,
        BlockExit::IndirectCall,
        BlockExit::Return,
        BlockExit::System,
    ];
    let listing = prop::collection::vec((any::<u64>(), names()), 0..3);
    (any::<u64>(), frames(), frames(), any::<u32>(), word(&exits), any::<[bool; 3]>(), listing).prop_map(
        |(address, begin, end, instructions, exit, [waits, atomic, generated], listing)| BasicBlock {
            address,
            begin,
            end,
            instructions,
            exit,
            waits,
            atomic,
            generated,
            listing,
        },
    )
}

fn hardware(blocks: u32, edges: u32, events: u32) -> impl Strategy<Value = HardwareEvent> {
    let kinds = [
        HardwareKind::Access,
        HardwareKind::MissL1,
        HardwareKind::MissL2,
        HardwareKind::MissLast,
        HardwareKind::BranchMiss,
        HardwareKind::TlbMiss,
        HardwareKind::Queueing,
    ];
    let block = prop::option::of((0..blocks).prop_map(BlockId));
    let superior = prop::option::of((edges..edges + events).prop_map(EventId));
    (word(&kinds), frames(), any::<u64>(), block, superior)
        .prop_map(|(kind, at, address, block, superior)| HardwareEvent { kind, at, address, block, superior })
}

type Shape = (u32, u32, u32);

/// Counts by a key and a row, none of 0, sorted.
fn entries(keys: u32, rows: u32) -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    let entry = ((0..keys.max(1), 0..rows), 1..u64::MAX);
    let most = if keys == 0 { 0 } else { 8 };
    prop::collection::btree_map(entry.0, entry.1, 0..=most)
        .prop_map(|entries| entries.into_iter().map(|((key, row), count)| (key, row, count)).collect())
}

fn instances((threads, blocks, events): Shape) -> impl Strategy<Value = Instance> {
    let rows = Just((0..threads).collect::<Vec<_>>()).prop_shuffle();
    let rows = (rows, 1..=threads as usize).prop_map(|(rows, many)| rows[..many].to_vec());
    rows.prop_flat_map(move |rows| {
        let many = rows.len();
        let unit = (0..many as u32, any::<u64>(), any::<u64>(), entries(events, 1), entries(blocks, 1));
        let unit = unit.prop_map(|(row, construct, time, executed, library)| Unit {
            row,
            construct,
            time,
            executed: executed.into_iter().map(|(event, _, count)| (EventId(event), count)).collect(),
            library: library.into_iter().map(|(block, _, count)| (BlockId(block), count)).collect(),
        });
        (
            prop::collection::vec(any::<u64>(), many),
            prop::option::of(prop::collection::vec(any::<u64>().prop_map(Nanos::new), many)),
            entries(events, many as u32),
            entries(blocks, many as u32),
            prop::collection::vec(unit, 0..3),
        )
            .prop_map(move |(time, native, executed, library, units)| Instance {
                begin: None,
                threads: rows.iter().copied().map(CountedThread).collect(),
                time,
                waited: 0,
                native,
                executed: EventTable {
                    entries: executed
                        .into_iter()
                        .map(|(event, row, count)| (EventId(event), row, count))
                        .collect(),
                },
                library: library
                    .into_iter()
                    .map(|(block, row, count)| (BlockId(block), row, count))
                    .collect(),
                units,
            })
    })
}

fn sections(shape: Shape) -> impl Strategy<Value = Section> {
    let kinds = [
        SectionKind::Barrier,
        SectionKind::ConditionBarrier,
        SectionKind::Join,
        SectionKind::TeamBarrier,
        SectionKind::Region,
        SectionKind::Other,
    ];
    let place =
        || (frames(), prop::option::of(names())).prop_map(|(frames, name)| SectionPlace { frames, name });
    let instances = prop::collection::vec(instances(shape), 0..3);
    (word(&kinds), place(), place(), instances, prop::option::of(names())).prop_map(
        |(kind, end, begin, instances, depends_on_schedule)| Section {
            kind,
            end,
            begin,
            instances,
            depends_on_schedule,
        },
    )
}

fn counts() -> impl Strategy<Value = Counts> {
    let sources =
        [CountSource::Emulated, CountSource::Instrumented, CountSource::Text, CountSource::Simulated];
    let units = [TimeUnit::Instructions, TimeUnit::Nanos, TimeUnit::Cycles];
    let shape = (1u32..4, 1u32..5, 0u32..3).prop_flat_map(|(threads, blocks, hardware)| {
        let edges = prop::collection::btree_set((0..blocks, 0..blocks), 0..6);
        (Just(threads), Just(blocks), Just(hardware), edges)
    });
    let shape_of = |edges: &BTreeSet<(u32, u32)>, hardware: u32| edges.len() as u32 + hardware;
    let head = (word(&sources), word(&units), prop::collection::vec(names(), 0..3));
    (shape, head).prop_flat_map(
        move |((threads, block_count, hardware_count, edges), (source, time_unit, warnings))| {
            let events = shape_of(&edges, hardware_count);
            let thread = (any::<u32>(), prop::option::of(names()))
                .prop_map(|(number, name)| ThreadLabel { number, name });
            let hardware = hardware(block_count, edges.len() as u32, hardware_count.max(1));
            (
                prop::collection::vec(thread, threads as usize),
                prop::collection::vec(blocks(), block_count as usize),
                prop::collection::vec(hardware, hardware_count as usize),
                prop::collection::vec(sections((threads, block_count, events)), 0..3),
            )
                .prop_map(move |(threads, blocks, hardware, sections)| Counts {
                    native_match: NativeMatch::Order,
                    source,
                    time_unit,
                    threads,
                    blocks,
                    edges: edges.iter().map(|(from, to)| (BlockId(*from), BlockId(*to))).collect(),
                    hardware,
                    sections,
                    warnings: warnings.clone(),
                })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_is_lost(counts in counts()) {
        let text = write(&counts);
        prop_assert_eq!(parse(&text).map_err(|error| format!("{error}\n{text}")), Ok(counts));
    }

    #[test]
    fn damaged_texts_give_an_error_or_counts(counts in counts(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = write(&counts).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(counts) = read(&bytes) {
            prop_assert_eq!(parse(&write(&counts)), Ok(counts));
        }
        let _ = read(&bytes[..at]);
    }
}
