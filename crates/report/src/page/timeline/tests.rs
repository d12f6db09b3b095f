//! What must hold for every process, possible or not: the columns tell what the timeline says, within their budget.

mod decoded;

use decoded::Decoded;
use holdup_criticality::{Diagnosis, diagnose};
use holdup_model::{Marker, MarkerKind, ObjectKind, Process, Run, Time, Timeline};
use holdup_testkit::{Op, Script, any_process, any_script, any_timeline};
use proptest::prelude::*;

use super::coverage::{Coverage, Grid};
use super::drawing::Drawing;
use super::focus::Focus;
use super::holds::Holds;
use super::spans::Spans;
use super::windows::Density;
use super::{Payload, budget, payload};
use crate::page::shade::Shade;

fn diagnosed(process: &Process) -> (Timeline, Diagnosis) {
    let run = Run { processes: vec![process.clone()], cores: 4, ..Run::default() };
    (Timeline::build(process), diagnose(&run, 0))
}

fn payload_of(process: &Process) -> Payload {
    let (timeline, diagnosis) = diagnosed(process);
    payload(process, &timeline, &diagnosis)
}

/// Two threads that need one lock, and a name for everything.
fn two_at_a_lock() -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 12);
    let ops = || {
        let round = [Op::Lock(lock, site), Op::Work(3_000_000), Op::Unlock(lock), Op::Work(1_000_000)];
        (0..40).flat_map(|_| round).collect::<Vec<_>>()
    };
    let workers: Vec<_> = (0..2).map(|index| script.thread(&format!("worker {index}"), ops())).collect();
    script.main_runs(&workers);
    script.play()
}

#[test]
fn a_lock_is_told_with_its_waiters_its_holders_and_the_path() {
    let process = two_at_a_lock();
    let (timeline, diagnosis) = diagnosed(&process);
    let told = payload(&process, &timeline, &diagnosis);
    let decoded = Decoded::of(&told);
    let json = &told.json;

    assert_eq!(json["objects"][0]["name"], "table_lock");
    assert_eq!(json["findings"][0]["kind"], "lock");
    let lane = &decoded.lanes[0];
    let length = timeline.wall().get();
    let waited: f64 = lane.waiting.iter().sum::<f64>() * decoded.bin as f64;
    let cost = diagnosis.objects.iter().find(|cost| cost.waits > 0).unwrap();
    let really = (cost.wait + cost.waking).get() as f64;
    assert!(
        (waited - really).abs() <= really * 0.01,
        "{waited} ns of waiting in the lane, {really} in the diagnosis"
    );
    let holds: Vec<_> = process.holds.iter().filter(|hold| hold.object == cost.object).collect();
    assert_eq!(lane.holds.len(), holds.len());
    let path: u64 = decoded.path.iter().map(|(_, length)| length).sum();
    assert_eq!(path, length, "the critical path is as long as the run");
    let row = json["findings"][0]["row"].as_u64().unwrap() as usize;
    let at = json["findings"][0]["at"].as_u64().unwrap();
    let shown = decoded.spans[row].iter().find(|span| span.start <= at && at < span.end).unwrap();
    assert_eq!(
        (shown.shade, shown.object),
        (Shade::Lock as u8, Some(0)),
        "the example of the finding is a wait for it"
    );
}

#[test]
fn names_are_text_whatever_they_contain() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}\u{0}\u{1b}[2J\"'&";
    let mut process = two_at_a_lock();
    process.threads[1].name = Some(hostile.to_owned());
    process.objects[0].name = Some(hostile.to_owned());
    process.sites[0].frames[0].function = Some(hostile.to_owned());
    let thread = holdup_model::ThreadId::new(0);
    let label = Some(hostile.to_owned());
    process.markers.push(Marker { thread, time: process.start, kind: MarkerKind::Phase, label });
    let told = payload_of(&process);
    let text = told.json.to_string();
    let named = text.matches("</script>").count();
    assert!(named >= 4, "the names are there: {text}");
    assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}']));
    assert!(!text.contains("\\u0000") && !text.contains("\\u001b"), "spelled out, not passed on: {text}");
}

#[test]
fn the_same_process_gives_the_same_bytes() {
    let process = two_at_a_lock();
    let (one, other) = (payload_of(&process), payload_of(&process));
    assert_eq!(one.json.to_string(), other.json.to_string());
    assert_eq!(one.base64, other.base64);
}

#[test]
fn many_threads_are_put_into_groups_and_none_is_forgotten() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1_000_000));
    process.add_thread("main", process.start, None);
    for index in 0..200 {
        process.add_thread(&format!("{}-{index}", ["reader", "writer"][index % 2]), process.start, None);
    }
    process.add_thread("logger", process.start, None);
    let told = payload_of(&process);
    let groups = told.json["groups"].as_array().unwrap();
    let named: Vec<_> = groups.iter().map(|group| group["name"].as_str().unwrap_or("others")).collect();
    assert_eq!(named, ["reader", "writer", "others"]);
    let mut rows: Vec<u64> = vec![0];
    for group in groups {
        rows.extend(group["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap()));
    }
    rows.sort_unstable();
    assert_eq!(rows, (0..202).collect::<Vec<u64>>(), "each thread is the main thread or in one group");
}

#[test]
fn threads_beyond_the_budget_are_counted() {
    let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1_000));
    for _ in 0..budget::THREADS + 3 {
        process.add_thread("thread", process.start, None);
    }
    let told = payload_of(&process);
    assert_eq!(told.json["threads"].as_array().unwrap().len(), budget::THREADS);
    assert_eq!(told.json["left_out"], 3);
}

fn focus() -> impl Strategy<Value = Focus> {
    (0..512usize, 1..80usize).prop_map(|(from, long)| Focus { finding: 0, from, to: (from + long).min(512) })
}

proptest! {
    // A payload is some hundred kilobytes of columns however short the run is: fewer cases take long enough.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_parts_of_a_bin_add_up_to_the_life_of_the_thread_in_it(timeline in any_timeline(), bins in 0..6u32) {
        let fine = Grid::new(timeline.start, timeline.end, 1 << bins);
        for row in &timeline.threads {
            let mut coverage = Coverage::new(&fine);
            for span in Spans::of(row, &[], &[]) {
                coverage.add(&fine, &span);
            }
            for (bin, lengths) in coverage.lengths().iter().enumerate() {
                let (from, to) = (fine.begin(bin).max(row.start), fine.begin(bin + 1).min(row.end));
                prop_assert_eq!(lengths.iter().sum::<u64>(), to.since(from).get(), "bin {}", bin);
            }
        }
    }

    #[test]
    fn a_coarser_level_is_the_sum_of_the_finer_one(timeline in any_timeline()) {
        let fine = Grid::new(timeline.start, timeline.end, 64);
        let coarse = fine.coarser(2);
        for row in &timeline.threads {
            let (mut one, mut four) = (Coverage::new(&fine), Coverage::new(&coarse));
            for span in Spans::of(row, &[], &[]) {
                one.add(&fine, &span);
                four.add(&coarse, &span);
            }
            for (bin, lengths) in four.lengths().iter().enumerate() {
                for (shade, length) in lengths.iter().enumerate() {
                    let sum: u64 = one.lengths()[bin * 4..bin * 4 + 4].iter().map(|fine| fine[shade]).sum();
                    prop_assert_eq!(*length, sum);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(script in any_script()) {
        let process = script.play();
        let (timeline, diagnosis) = diagnosed(&process);
        let told = payload(&process, &timeline, &diagnosis);
        let decoded = Decoded::of(&told);
        let holds = Holds::of(&process);
        let drawing = Drawing::new(&process, &timeline, &diagnosis, &holds);
        prop_assert_eq!(decoded.spans.len(), process.threads.len());
        for (thread, read) in drawing.rows.iter().zip(&decoded.spans) {
            let written: Vec<_> = drawing.spans(*thread).collect();
            prop_assert_eq!(written.len(), read.len());
            for (written, read) in written.iter().zip(read) {
                let after = |time: Time| time.since(timeline.start).get();
                prop_assert_eq!((after(written.start), after(written.end)), (read.start, read.end));
                prop_assert_eq!(written.what.shade as u8, read.shade);
                prop_assert_eq!(written.what.by.map(|by| by.index()), read.by);
                prop_assert_eq!(written.what.object.is_some(), read.object.is_some());
                prop_assert_eq!(written.what.site.is_some(), read.place.is_some());
            }
        }
    }

    #[test]
    fn planes_say_how_much_of_a_bin_a_thread_lives(script in any_script()) {
        let process = script.play();
        let (timeline, diagnosis) = diagnosed(&process);
        let decoded = Decoded::of(&payload(&process, &timeline, &diagnosis));
        for (row, planes) in timeline.threads.iter().zip(&decoded.planes) {
            for bin in 0..decoded.bins {
                let begin = timeline.start.nanos() + decoded.bin * bin as u64;
                let from = begin.max(row.start.nanos());
                let lives = (begin + decoded.bin).min(row.end.nanos()).saturating_sub(from);
                let sum: u64 = planes.iter().map(|plane| u64::from(plane[bin])).sum();
                prop_assert_eq!(sum, (lives * 255 + decoded.bin / 2) / decoded.bin);
            }
        }
    }

    #[test]
    fn no_process_does_harm(process in any_process()) {
        let told = payload_of(&process);
        let decoded = Decoded::of(&told);
        prop_assert_eq!(decoded.spans.len(), process.threads.len());
    }

    #[test]
    fn exact_spans_stay_within_their_budget(
        counts in proptest::collection::vec(0..40u32, 512),
        focuses in proptest::collection::vec(focus(), 0..6),
        spans in 1..4_000u64,
        rows in 1..20u64,
    ) {
        let tiles = Grid::new(Time::from_nanos(0), Time::from_nanos(512_000), 512);
        let mut density = Density::new(tiles);
        for (tile, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                let (start, end) = (tiles.begin(tile), tiles.begin(tile) + holdup_model::Nanos::new(1));
                let what = super::spans::What { shade: Shade::Lock, object: None, site: None, by: None };
                density.look_at(&super::spans::Span { start, end, what });
            }
        }
        let windows = density.windows(spans, rows, &focuses);
        let begin: u64 = windows.iter().flat_map(|(from, to)| &counts[*from..*to]).map(|count| u64::from(*count)).sum();
        prop_assert!(begin + rows * windows.len() as u64 <= spans.max(rows * windows.len() as u64));
        prop_assert!(begin <= spans);
        prop_assert!(windows.is_sorted_by(|a, b| a.1 < b.0), "in order, and apart: {:?}", windows);
    }
}
