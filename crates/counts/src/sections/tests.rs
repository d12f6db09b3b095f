use holdup_model::Frame;
use holdup_recording::facts::{NamedFrame, NamedStack, Names};

use super::*;
use crate::conditions::keep_barriers;

const BARRIER: u64 = 0x1000;
const CONDITION: u64 = 0x2000;

fn barrier() -> Boundary {
    Boundary::Barrier { object: BARRIER, stack: 1 }
}

fn waits() -> Boundary {
    Boundary::Condition { object: CONDITION, stack: 2, broadcasts: false }
}

fn broadcasts() -> Boundary {
    Boundary::Condition { object: CONDITION, stack: 0, broadcasts: true }
}

/// A thread that executes so many instructions before each of these boundaries.
fn thread(number: u32, steps: &[(u64, Boundary)]) -> Course {
    Course::of_steps(number, steps)
}

fn join(number: u64) -> Boundary {
    Boundary::Join { handle: 100 + number, stack: 3 }
}

/// The rows of each instance as (thread, instructions).
fn instances(courses: &[Course], kind: SectionKind) -> Vec<Vec<(usize, u64)>> {
    let found = meetings(courses, &Places::new(courses, None, None, &|_| Vec::new()));
    let of_kind = found.into_iter().filter(|meeting| meeting.kind == kind);
    of_kind
        .map(|meeting| {
            let piece = |row: &Row| &courses[row.course].pieces[row.piece];
            meeting.rows.iter().map(|row| (row.course, piece(row).instructions())).collect()
        })
        .collect()
}

#[test]
fn the_kth_arrivals_at_a_barrier_end_the_kth_instance() {
    let courses = [
        thread(
            0,
            &[(1, Boundary::Created { child: 1 }), (10, barrier()), (11, barrier()), (5, Boundary::End)],
        ),
        thread(1, &[(20, barrier()), (21, barrier()), (7, Boundary::End)]),
    ];
    assert_eq!(instances(&courses, SectionKind::Barrier), [[(0, 10), (1, 20)], [(0, 11), (1, 21)]]);
}

#[test]
fn joined_threads_are_a_section_without_the_thread_that_only_joins() {
    let main = [
        (1, Boundary::Created { child: 1 }),
        (1, Boundary::Created { child: 2 }),
        (3, join(1)),
        (0, join(2)),
        (9, Boundary::End),
    ];
    let courses = [thread(0, &main), thread(1, &[(100, Boundary::End)]), thread(2, &[(200, Boundary::End)])];
    assert_eq!(instances(&courses, SectionKind::Join), [[(1, 100), (2, 200)]]);
}

#[test]
fn a_thread_that_works_beside_those_it_created_takes_part() {
    let main = [(1, Boundary::Created { child: 1 }), (80, join(1)), (9, Boundary::End)];
    let courses = [thread(0, &main), thread(1, &[(100, Boundary::End)])];
    assert_eq!(instances(&courses, SectionKind::Join), [[(0, 80), (1, 100)]]);
}

#[test]
fn threads_with_different_start_functions_are_no_section_together() {
    let main = [
        (1, Boundary::Created { child: 1 }),
        (1, Boundary::Created { child: 2 }),
        (1, Boundary::Created { child: 3 }),
        (40, join(1)),
        (0, join(2)),
        (0, join(3)),
    ];
    let mut courses = vec![thread(0, &main)];
    courses.extend((1..4).map(|number| thread(number, &[(100, Boundary::End)])));
    courses[1].entry = 0x500;
    courses[2].entry = 0x600;
    courses[3].entry = 0x600;
    assert_eq!(instances(&courses, SectionKind::Join), [[(2, 100), (3, 100)]]);
    // The first thread calls the workers' function itself.
    courses[0].pieces[3].starts = vec![0x600];
    assert_eq!(instances(&courses, SectionKind::Join), [[(0, 40), (2, 100), (3, 100)]]);
}

#[test]
fn threads_of_a_pool_that_wait_when_the_program_ends_are_a_section() {
    let main = [(1, Boundary::Created { child: 1 }), (1, Boundary::Created { child: 2 }), (3, Boundary::End)];
    let pool = |number, amount| thread(number, &[(amount, waits()), (2000, waits())]);
    let mut courses = vec![thread(0, &main), pool(1, 500), pool(2, 900)];
    keep_barriers(&mut courses, &[].into());
    assert_eq!(instances(&courses, SectionKind::Join), [[(1, 2500), (2, 2900)]]);
}

#[test]
fn two_rounds_of_threads_are_two_instances_even_if_handles_are_used_again() {
    let main = [
        (1, Boundary::Created { child: 1 }),
        (1, Boundary::Created { child: 2 }),
        (0, join(1)),
        (0, join(2)),
        (1, Boundary::Created { child: 3 }),
        (1, Boundary::Created { child: 4 }),
        (0, join(1)),
        (0, join(2)),
        (9, Boundary::End),
    ];
    let ends = |number: u32, amount| thread(number, &[(amount, Boundary::End)]);
    let mut courses = vec![thread(0, &main), ends(1, 10), ends(2, 20), ends(3, 30), ends(4, 40)];
    courses[3].handle = courses[1].handle;
    courses[4].handle = courses[2].handle;
    assert_eq!(instances(&courses, SectionKind::Join), [[(1, 10), (2, 20)], [(3, 30), (4, 40)]]);
}

#[test]
fn a_condition_that_all_come_to_equally_often_is_a_barrier() {
    let mut courses = [
        thread(0, &[(10, waits()), (3, waits()), (900, broadcasts()), (1, Boundary::End)]),
        thread(1, &[(20, broadcasts()), (500, waits()), (1, Boundary::End)]),
    ];
    courses[0].pieces[1].looks_again = true;
    keep_barriers(&mut courses, &[CONDITION].into());
    // Thread 0 looked again after its first wait: three instructions are no section.
    assert_eq!(
        instances(&courses, SectionKind::ConditionBarrier),
        [[(0, 13), (1, 20)], [(0, 900), (1, 500)]]
    );
    assert!(!courses[0].pieces[0].queued);
}

#[test]
fn a_condition_of_a_queue_ends_no_section() {
    let mut courses = [
        thread(0, &[(10, broadcasts()), (30, Boundary::End)]),
        thread(1, &[(1000, waits()), (2000, waits()), (5, Boundary::End)]),
    ];
    keep_barriers(&mut courses, &[].into());
    assert!(instances(&courses, SectionKind::ConditionBarrier).is_empty());
    assert_eq!(courses[1].pieces.len(), 1);
    assert_eq!(courses[1].pieces[0].tally.instructions, 3005);
    assert!(courses[1].pieces[0].queued, "a thread that waits at a queue depends on the schedule");
}

#[test]
fn threads_of_a_team_meet_by_instance_and_sequence() {
    let team = |sequence| Boundary::Team { instance: 7, sequence, code: 0 };
    let share = Boundary::ShareEnd { instance: 7 };
    let courses = [
        thread(0, &[(1, Boundary::RegionBegin { instance: 7, function: 9 }), (10, team(0)), (11, share)]),
        thread(1, &[(20, team(0)), (21, share)]),
    ];
    assert_eq!(instances(&courses, SectionKind::TeamBarrier), [[(0, 10), (1, 20)]]);
    assert_eq!(instances(&courses, SectionKind::Region), [[(0, 11), (1, 21)]]);
}

#[test]
fn without_times_more_threads_than_parties_are_taken_by_their_order() {
    let rows: Vec<Vec<Row>> = (0..4).map(|course| vec![Row { course, piece: 0 }]).collect();
    let untimed = rounds(&rows, 2, |_, _| None);
    assert!(untimed.iter().all(|(_, round)| *round == 0));
    let timed = rounds(&rows, 2, |row, _| Some([5, 1, 6, 2][row.course]));
    let found: Vec<(usize, u64)> = timed.iter().map(|(row, round)| (row.course, *round)).collect();
    assert_eq!(found, [(1, 0), (3, 0), (0, 1), (2, 1)]);
}

/// A stack with these functions, innermost first.
fn stack(functions: &[&str]) -> NamedStack {
    let frames = functions.iter().map(|function| NamedFrame {
        function: Some((*function).to_owned()),
        module: Some("app".to_owned()),
        line: Some(7),
        ..NamedFrame::default()
    });
    NamedStack { frames: frames.collect(), ..NamedStack::default() }
}

#[test]
fn a_place_does_not_depend_on_who_called_the_start_function() {
    let waits_below = |stack| Boundary::Condition { object: CONDITION, stack, broadcasts: false };
    // Main calls `work` itself. In the second round it comes last and has no place.
    let mut courses = [
        thread(0, &[(1, waits_below(1)), (2, broadcasts()), (3, waits_below(1))]),
        thread(1, &[(1, waits_below(2)), (2, waits_below(2)), (3, broadcasts())]),
    ];
    courses[1].entry = 0x500;
    let mut names = Names::default();
    names.stacks.insert(1, stack(&["meet", "work", "main"]));
    names.stacks.insert(2, stack(&["meet", "work"]));
    let ends = |courses: &[Course], names: &Names| -> Vec<Vec<String>> {
        let found = meetings(courses, &Places::new(courses, Some(names), None, &|_| Vec::new()));
        let functions = |meeting: Meeting| {
            let frames = meeting.end.frames.clone();
            frames.into_iter().filter_map(|frame| frame.function)
        };
        found.into_iter().map(|meeting| functions(meeting).collect()).collect()
    };
    assert_eq!(
        ends(&courses, &names),
        [&["meet", "work", "main"][..], &["meet", "work"], &["meet", "work", "main"]]
    );
    names.code.insert(0x500, stack(&["work"]));
    assert_eq!(ends(&courses, &names), [["meet", "work"]; 3]);
}

#[test]
fn a_barrier_that_the_region_ends_with_a_call_of_is_in_the_region() {
    let courses = [0, 1].map(|number| {
        let begin = Boundary::RegionBegin { instance: 3, function: 0x700 };
        let end = Boundary::Team { instance: 3, sequence: 0, code: 0x900 };
        thread(number, &[(1, begin), (10, end)])
    });
    let mut names = Names::default();
    names.code.insert(0x700, stack(&["checksum"]));
    let ends = |names: &Names| -> Vec<Frame> {
        let found = meetings(&courses, &Places::new(&courses, Some(names), None, &|_| Vec::new()));
        found.into_iter().flat_map(|meeting| meeting.end.frames.clone()).collect()
    };
    names.code.insert(0x900, stack(&["GOMP_barrier"]));
    names.code.get_mut(&0x900).expect("it is there").frames[0].module = Some("libholdup-1.so".to_owned());
    assert_eq!(ends(&names)[0].function.as_deref(), Some("checksum"));
    names.code.insert(0x900, stack(&["checksum", "main"]));
    assert_eq!(ends(&names).len(), 2);
}
