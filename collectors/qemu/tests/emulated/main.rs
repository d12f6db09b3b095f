//! The plugin in QEMU, on programs of which it is known what they execute.

mod reader;
mod recorder;
mod stage;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use holdup_trace::instructions::{CodeClass, Loss, MarkCode, VERSION};

use reader::{Counts, Event};
use recorder::Recorder;
use stage::{Run, Stage};

/// The marks of a thread.
fn marks(run: &Run, thread: u32) -> Vec<MarkCode> {
    let marks = run.streams.threads[&thread].iter().filter_map(|event| match event {
        Event::Mark(code, _) => Some(*code),
        _ => None,
    });
    marks.collect()
}

/// Checks what holds for all counts: what is executed is what comes in, and instructions are those of the blocks.
fn consistent(run: &Run, counts: &Counts) {
    let blocks = &run.streams.blocks;
    let mut entered = BTreeMap::<usize, u64>::new();
    for ((from, to), times) in &counts.edges {
        assert!(*from < blocks.len());
        *entered.entry(*to).or_insert(0) += times;
    }
    for (block, times) in &entered {
        assert!(counts.executed[block] >= *times);
    }
    let own: u64 = counts.executed.iter().map(|(block, times)| blocks[*block].instructions * times).sum();
    assert_eq!(own, counts.own);
    assert!(counts.library.values().sum::<u64>() <= counts.of_libraries);
    for block in counts.executed.keys() {
        assert!(matches!(blocks[*block].class, CodeClass::Own | CodeClass::Generated));
    }
}

#[test]
fn what_is_counted_is_cut_at_marks_and_left_out_in_waits() {
    let stage = Stage::new("turns");
    let run = stage.run("mode=counts", &[]);
    assert_eq!(run.value("plugin"), u64::from(VERSION));
    assert_eq!(run.streams.threads.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    let counted = |thread| run.each_between(thread, "turns", "turns_end");
    // Before there is a second thread nothing counts. The task is in the wait, but counts.
    assert_eq!(counted(0), [2 * 13 + 2, 2 * 17 + 2, 2 * 19 + 2]);
    assert_eq!(counted(1), [2 * 1000 + 2, 2 * 2000 + 2, 2 * 3 + 2, 2 * 5 + 2]);
    assert_eq!(counted(2), [2 * 100 + 2, 2 * 200 + 2, 2 * 3 + 2, 2 * 5 + 2]);
    use MarkCode::{
        InterestBegin, InterestEnd, SyncBegin, TaskBegin, TaskEnd, ThreadBegin, WaitBegin, WaitEnd,
    };
    assert_eq!(marks(&run, 0), [InterestBegin, InterestEnd]);
    assert_eq!(marks(&run, 1), [ThreadBegin, SyncBegin, WaitBegin, TaskBegin, TaskEnd, WaitEnd]);
    let total = run.streams.total(1);
    consistent(&run, &total);
    // The block of the loop follows itself one time less than it is executed from its beginning.
    let of_loop = |block: &usize| run.streams.blocks[*block].address == run.value("turns_loop");
    let itself: u64 =
        total.edges.iter().filter(|((from, to), _)| from == to && of_loop(from)).map(|(_, n)| n).sum();
    let alone: u64 = total.executed.iter().filter(|(block, _)| of_loop(block)).map(|(_, n)| n).sum();
    assert_eq!(alone, 999 + 1999 + 2 + 4);
    assert_eq!(itself, alone - 4);
    let all: u64 = run
        .streams
        .threads
        .keys()
        .map(|thread| run.streams.total(*thread))
        .map(|c| c.own + c.of_libraries)
        .sum();
    assert_eq!(run.instructions, all);
}

#[test]
fn the_part_of_interest_is_what_the_user_says() {
    let stage = Stage::new("turns");
    let run = stage.run("roi=all", &[]);
    assert_eq!(run.each_between(0, "turns", "turns_end"), [2 * 11 + 2 + 2 * 13 + 2, 2 * 17 + 2, 2 * 19 + 2]);
    let stage = Stage::new("turns");
    let run = stage.run("roi=marked", &[]);
    assert_eq!(run.each_between(0, "turns", "turns_end"), [2 * 17 + 2]);
    assert_eq!(run.each_between(1, "turns", "turns_end"), [0; 0]);
    assert_eq!(run.each_between(2, "turns", "turns_end"), [2 * 100 + 2, 2 * 200 + 2, 2 * 3 + 2, 2 * 5 + 2]);
}

#[test]
fn hooks_of_benchmarks_mark_the_part_of_interest_once() {
    for mode in ["mode=counts", "mode=stream"] {
        let stage = Stage::new("hooks");
        let run = stage.run(&format!("{mode},roi=marked"), &[]);
        assert_eq!(marks(&run, 0), [MarkCode::InterestBegin, MarkCode::InterestEnd]);
        if mode == "mode=counts" {
            assert_eq!(run.each_between(0, "turns", "turns_end"), [402]);
            assert_eq!(run.each_between(1, "turns", "turns_end"), [0; 0]);
            assert_eq!(run.each_between(2, "turns", "turns_end"), [602]);
        }
    }
}

#[test]
fn what_was_counted_before_an_abort_is_there() {
    let stage = Stage::new("hooks");
    let run = stage.start("roi=marked", &["abort"], 64, false).end();
    assert!(!run.output.status.success());
    assert_eq!(run.each_between(0, "turns", "turns_end"), [402]);
}

#[test]
fn the_full_mode_has_the_same_instructions() {
    let stage = Stage::new("turns");
    let counted = stage.run("mode=counts", &[]);
    let stage = Stage::new("turns");
    let run = stage.run("mode=stream", &[]);
    for thread in [1, 2] {
        let (mut own, mut libraries, mut turns) = (0, 0, 0);
        let range = run.value("turns")..run.value("turns_end");
        for event in &run.streams.threads[&thread] {
            let Event::Block { block, instructions, .. } = event else { continue };
            let block = &run.streams.blocks[*block];
            match block.class {
                CodeClass::Own => own += instructions,
                CodeClass::Library => libraries += instructions,
                other => panic!("{other:?} is in the stream"),
            }
            if range.contains(&block.address) {
                turns += instructions;
            }
        }
        let expected = counted.streams.total(thread);
        assert_eq!((own, libraries), (expected.own, expected.of_libraries), "thread {thread}");
        assert_eq!(turns, counted.between(&expected, "turns", "turns_end"));
        assert_eq!(marks(&run, thread), marks(&counted, thread));
    }
}

#[test]
fn libraries_are_charged_to_the_block_that_calls_and_call_back_from_there() {
    let stage = Stage::new("libraries");
    let run = stage.run("mode=counts", &[]);
    let total = run.streams.total(1);
    consistent(&run, &total);
    let blocks = &run.streams.blocks;
    let into = |name: &str| {
        let address = run.value(name);
        let edges = total.edges.iter().filter(move |((_, to), _)| blocks[*to].address == address);
        edges.map(|((from, _), times)| (*from, *times)).collect::<Vec<_>>()
    };
    // Both sorts are called by the same block, and each comparison comes from it.
    let numbers = into("compare_numbers");
    let texts = into("compare_texts");
    assert_eq!(numbers.iter().map(|(_, times)| times).sum::<u64>(), run.value("numbers"));
    assert_eq!(texts.iter().map(|(_, times)| times).sum::<u64>(), run.value("texts"));
    assert_eq!((numbers.len(), texts.len()), (1, 1));
    let caller = numbers[0].0;
    assert_eq!(texts[0].0, caller);
    // The library's own work is charged there; what it calls for a comparison, to the comparison.
    assert!(total.library[&caller] > run.value("numbers"));
    let comparison = total.edges.keys().find(|(_, to)| blocks[*to].address == run.value("compare_texts"));
    assert!(total.library[&comparison.unwrap().1] >= 5 * run.value("texts"));
    // Control returns to the block behind the call.
    let behind = blocks[caller].address + blocks[caller].bytes.len() as u64;
    let back = total.edges.iter().filter(|((from, to), _)| *from == caller && blocks[*to].address == behind);
    assert_eq!(back.map(|(_, times)| times).sum::<u64>(), run.value("exits"));
    assert_eq!(run.between(&total, "turns", "turns_end"), 22);
    let targets = into("target");
    assert_eq!((targets.len(), targets[0].1), (1, 7));
    assert_eq!(blocks[targets[0].0].address, run.value("through_table"));
}

/// (instruction, bytes, stores, address).
type Access = (u64, u64, bool, u64);

/// What blocks between two labels do: (whole, instructions, accesses).
fn blocks_between<'a>(run: &'a Run, from: &str, to: &str) -> Vec<(bool, u64, &'a [Access])> {
    let range = run.value(from)..run.value(to);
    let found = run.streams.threads[&1].iter().filter_map(|event| match event {
        Event::Block { block, whole, instructions, accesses }
            if range.contains(&run.streams.blocks[*block].address) =>
        {
            Some((*whole, *instructions, accesses.as_slice()))
        }
        _ => None,
    });
    found.collect()
}

#[test]
fn accesses_are_told_with_their_sizes_and_addresses() {
    let stage = Stage::new("accesses");
    let run = stage.run("mode=stream", &[]);
    let (from, to) = (run.value("from"), run.value("to"));
    let wide = blocks_between(&run, "wide", "wide_end");
    assert_eq!(wide.len(), 3);
    for (round, (whole, instructions, accesses)) in (0..).zip(wide) {
        let (from, to) = (from + 64 * round, to + 128 * round);
        assert!(whole);
        assert_eq!(instructions, 12);
        assert_eq!(
            accesses[..4],
            [(0, 16, false, from), (1, 16, true, to), (2, 4, false, from + 8), (3, 1, true, to + 9),]
        );
        assert_eq!(accesses[4..6], [(4, 32, false, from + 64), (5, 32, true, to + 64)]);
        assert_eq!(accesses[6..9], [(7, 16, false, from), (8, 16, true, to), (9, 32, true, to + 96)]);
        assert_eq!(accesses.len(), 10, "the return loads: {accesses:?}");
    }
    let add: Vec<_> = blocks_between(&run, "add", "add_end");
    assert_eq!(add.len(), 1);
    // An atomic instruction is told as a store.
    let [(0, 8, true, address), (1, 8, false, _)] = add[0].2 else { panic!("{add:?}") };
    assert_eq!(*address, run.value("counter"));
}

#[test]
fn what_is_touched_before_the_part_of_interest_is_told_where_that_begins() {
    let stage = Stage::new("accesses");
    let run = stage.run("mode=stream", &[]);
    let events = &run.streams.threads[&0];
    let lists: Vec<usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event, Event::Touched { .. }))
        .map(|(at, _)| at)
        .collect();
    let [at] = lists[..] else { panic!("one list: {lists:?}") };
    assert!(!events[..at].iter().any(|event| matches!(event, Event::Block { .. })), "it comes first");
    let Event::Touched { pages, lines } = &events[at] else { unreachable!() };
    let earlier = run.value("earlier");
    let own = |line: &&(u64, bool)| (earlier >> 6..(earlier >> 6) + 3 * 64).contains(&line.0);
    let found: Vec<(u64, bool)> =
        lines.iter().filter(own).map(|(line, wrote)| (line - (earlier >> 6), *wrote)).collect();
    assert_eq!(found, [(64 + 1, true), (2 * 64, false), (0, true)]);
    let first = |page: &&u64| (earlier >> 12..(earlier >> 12) + 3).contains(*page);
    let found: Vec<u64> = pages.iter().filter(first).map(|page| page - (earlier >> 12)).collect();
    assert_eq!(found, [1, 2, 0]);
    for (thread, events) in run.streams.threads.iter().filter(|(thread, _)| **thread > 0) {
        assert!(
            !events.iter().any(|event| matches!(event, Event::Touched { .. })),
            "{thread} was always of interest"
        );
    }
    let run = Stage::new("accesses").run("mode=stream,roi=all", &[]);
    let all = run.streams.threads.values().flatten();
    assert_eq!(all.filter(|event| matches!(event, Event::Touched { .. })).count(), 0);
}

#[test]
fn a_repeating_instruction_is_one_with_many_accesses() {
    let stage = Stage::new("accesses");
    let run = stage.run("mode=stream", &[]);
    let (from, to) = (run.value("from"), run.value("to"));
    let repeat = blocks_between(&run, "repeat", "repeat_end");
    // Three instructions, the return (with its load), for each of the four calls.
    let rounds: Vec<_> = repeat.iter().filter(|(_, instructions, _)| *instructions != 1).collect();
    assert_eq!(repeat.len() - rounds.len(), 4);
    assert_eq!(rounds.iter().map(|(_, instructions, _)| instructions).sum::<u64>(), 4 * 3);
    let accesses: Vec<_> = rounds.iter().flat_map(|(_, _, accesses)| accesses.iter().copied()).collect();
    let mut expected = Vec::new();
    for (to, from, n) in [(to, from, 3), (to + 8, from + 16, 400), (to, from, 1)] {
        expected.extend((0..n).flat_map(|at| [(2, 8, false, from + 8 * at), (2, 8, true, to + 8 * at)]));
    }
    assert_eq!(accesses, expected);
}

#[test]
fn a_block_that_faults_is_told_up_to_the_fault() {
    let stage = Stage::new("accesses");
    let run = stage.run("mode=stream", &[]);
    let from = run.value("from");
    let faults = blocks_between(&run, "fault", "fault_end");
    let [(true, 5, good), (false, 2, bad)] = faults[..] else { panic!("{faults:?}") };
    assert_eq!(good[..3], [(0, 8, false, from), (2, 8, false, from), (3, 8, false, from)]);
    assert_eq!(bad, [(0, 8, false, from)]);
}

#[test]
fn code_that_changes_is_other_blocks() {
    let stage = Stage::new("generated");
    let run = stage.run("mode=counts", &[]);
    assert_eq!(run.value("sum"), 60);
    let total = run.streams.total(1);
    consistent(&run, &total);
    let blocks = run.streams.blocks.iter().enumerate();
    let at_page: Vec<_> = blocks.filter(|(_, block)| block.address == run.value("page")).collect();
    assert_eq!(at_page.iter().map(|(_, block)| block.bytes[1]).collect::<Vec<_>>(), [1, 2, 3]);
    for (number, block) in at_page {
        assert_eq!((block.class, block.module), (CodeClass::Generated, None));
        assert_eq!(total.executed[&number], 10);
    }
}

#[test]
fn threads_that_take_the_place_of_others_have_streams_of_their_own() {
    let stage = Stage::new("threads");
    let run = stage.run("mode=counts", &["40", "20", "3"]);
    assert_eq!(run.streams.threads.len(), 61);
    let mut numbers = Vec::new();
    for thread in 1..=60 {
        assert_eq!(run.each_between(thread, "turns", "turns_end"), [102; 3]);
        let Some(Event::Mark(MarkCode::ThreadBegin, fields)) = run.streams.threads[&thread].first() else {
            panic!("{:?}", run.streams.threads[&thread]);
        };
        numbers.push(fields[0]);
        consistent(&run, &run.streams.total(thread));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..60).collect::<Vec<_>>());
}

#[test]
fn threads_that_wait_hold_no_buffer_where_there_are_few() {
    let stage = Stage::new("threads");
    let run = stage.start("mode=counts", &["0", "100", "20"], 8, false).end();
    assert!(run.output.status.success(), "{:?}", run.output);
    for thread in 1..=100 {
        assert_eq!(run.each_between(thread, "turns", "turns_end"), [102; 20]);
    }
}

#[test]
fn nothing_is_lost_where_the_recorder_is_slow() {
    for mode in ["mode=counts", "mode=stream"] {
        let stage = Stage::new("threads");
        let run = stage.start(mode, &["0", "4", "20000"], 8, true).end();
        assert!(run.output.status.success(), "{:?}", run.output);
        for thread in 1..=4 {
            assert_eq!(marks(&run, thread).len(), 20_001, "{mode}");
            if mode == "mode=counts" {
                assert_eq!(run.each_between(thread, "turns", "turns_end"), [102; 20_000]);
            } else {
                let turns = blocks_between(&run, "turns", "turns_end");
                let instructions: u64 = turns.iter().map(|(_, instructions, _)| instructions).sum();
                assert_eq!(instructions, 102 * 20_000);
            }
        }
    }
}

#[test]
fn children_and_executed_programs_are_not_followed() {
    for mode in ["mode=counts", "mode=stream"] {
        let stage = Stage::new("leaving");
        let run = stage.run(mode, &["/bin/true"]);
        assert_eq!(run.streams.threads.keys().copied().collect::<Vec<_>>(), [0, 1], "{mode}");
        assert_eq!(marks(&run, 1), [MarkCode::SyncBegin]);
        let leaves: Vec<_> = run.streams.threads[&0]
            .iter()
            .filter_map(|event| if let Event::Leaves(call) = event { Some(*call) } else { None })
            .collect();
        assert_eq!(leaves.len(), 4);
        assert_eq!(leaves[3], libc::SYS_execve as u64);
        if mode == "mode=counts" {
            assert_eq!(run.each_between(0, "turns", "turns_end"), [64]);
        }
    }
}

#[test]
fn what_was_written_before_a_kill_is_there() {
    let stage = Stage::new("threads");
    let mut running = stage.start("mode=counts", &["0", "2", "1000000000"], 64, false);
    let started = Instant::now();
    while running.recorder.instructions() < 1_000_000 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    running.child.kill().unwrap();
    let run = running.end();
    let written: u64 = run
        .streams
        .threads
        .keys()
        .map(|thread| run.streams.total(*thread))
        .map(|c| c.own + c.of_libraries)
        .sum();
    assert!(written >= 1_000_000);
    for thread in run.streams.threads.keys().filter(|thread| **thread != 0) {
        assert!(run.each_between(*thread, "turns", "turns_end").iter().all(|turns| *turns == 102));
    }
}

#[test]
fn the_program_goes_on_when_the_recorder_leaves() {
    for mode in ["mode=counts", "mode=stream"] {
        let stage = Stage::new("threads");
        let running = stage.start(mode, &["0", "4", "30000"], 8, true);
        while !running.recorder.works() {
            std::thread::sleep(Duration::from_millis(1));
        }
        running.recorder.close();
        let output = running.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        running.recorder.finish();
    }
}

#[test]
fn beyond_a_limit_only_marks_are_written() {
    for (option, why) in [("instructions=20000", Loss::Instructions), ("bytes=700000", Loss::Bytes)] {
        let stage = Stage::new("threads");
        let run = stage.run(&format!("mode=stream,{option}"), &["0", "1", "30000"]);
        let events = &run.streams.threads[&1];
        let losses: Vec<_> = events.iter().filter(|event| matches!(event, Event::Lost(_))).collect();
        assert_eq!(losses, [&Event::Lost(why as u64)], "{option}");
        assert_eq!(marks(&run, 1).len(), 30_001);
        let instructions: u64 =
            blocks_between(&run, "turns", "turns_end").iter().map(|(_, instructions, _)| instructions).sum();
        assert!(instructions > 0 && instructions < 102 * 30_000, "{instructions}");
        assert!(matches!(events.last(), Some(Event::Mark(..))), "{option}");
    }
}

#[test]
fn threads_are_kept_side_by_side() {
    let stage = Stage::new("pace");
    let run = stage.run("mode=counts,skew=50000", &[]);
    // To both sides. A quarter more, since clocks are seen late by so much, and what the program executes around its turns.
    let range = run.value("range");
    assert!(range > 0 && range <= 2 * 70_000, "{range}");
    let (first, second) = (run.streams.total(1), run.streams.total(2));
    assert!(first.own > 30_000 * 1000 && second.own > 30_000 * 1000);
}

#[test]
fn what_it_cannot_do_it_says_in_one_line() {
    let stage = Stage::new("turns");
    let refused = |options: &str, word: &str| {
        let output = stage.command(options).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(said.starts_with("holdup: ") && said.contains(word), "{said}");
    };
    refused("mode=counts", "instructions: No such file");
    refused("mode=everything", "mode=everything");
    let recorder = Recorder::new(stage.directory.path(), 8, false);
    let first = stage.command("mode=counts").output().unwrap();
    assert!(first.status.success(), "{first:?}");
    refused("mode=counts", "another program writes to it");
    recorder.finish();
}
