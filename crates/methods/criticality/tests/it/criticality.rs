//! Criticality by its definition and as it is computed: the paper's example, and sums over random timelines.

use std::collections::BTreeMap;

use holdup_criticality::{Criticality, NobodyCause, OnlineCriticality, criticality};
use holdup_model::{Nanos, Row, Segment, State, ThreadId, Time, Timeline};
use proptest::prelude::*;

/// Segments of one thread: (length, state).
fn row(segments: &[(u64, State)]) -> Row {
    let mut at = Time::from_nanos(0);
    let segments: Vec<Segment> = segments
        .iter()
        .map(|&(length, state)| {
            let start = at;
            at = at + Nanos::new(length);
            Segment { start, end: at, state, object: None, site: None, by: None, cpu: None }
        })
        .collect();
    Row { start: Time::from_nanos(0), end: at, segments }
}

fn timeline(rows: &[&[(u64, State)]]) -> Timeline {
    let threads: Vec<Row> = rows.iter().map(|segments| row(segments)).collect();
    let end = threads.iter().map(|row| row.end).max().unwrap();
    Timeline { start: Time::from_nanos(0), end, threads, ..Timeline::default() }
}

/// Eq. 1 by its words: the run is divided into intervals in which no thread changes its state, and each of the r active
/// threads of an interval of length t gets t / r. An interval with nobody active goes to the least of what it ends for.
fn by_definition(timeline: &Timeline) -> Criticality {
    let segments = |row: &Row| row.segments.clone();
    let all: Vec<Vec<Segment>> = timeline.threads.iter().map(segments).collect();
    let changes = |segment: &Segment| segment.state.is_active().then_some([segment.start, segment.end]);
    let mut times: Vec<Time> = all.iter().flatten().filter_map(changes).flatten().collect();
    times.extend([timeline.start, timeline.end]);
    times.sort_unstable();
    let mut threads = vec![0.0; all.len()];
    let mut nobody = BTreeMap::new();
    for two in times.windows(2) {
        let length = two[1].since(two[0]).get() as f64;
        let in_it = |segment: &&Segment| segment.start <= two[0] && two[1] <= segment.end;
        let is_active =
            |own: &&Vec<Segment>| own.iter().find(in_it).is_some_and(|segment| segment.state.is_active());
        let running = all.iter().filter(is_active).count();
        for (thread, _) in threads.iter_mut().zip(&all).filter(|(_, own)| is_active(own)) {
            *thread += length / running as f64;
        }
        if running == 0 && length > 0.0 {
            let begins = all.iter().filter_map(|own| {
                let index = own.iter().position(|it| it.start == two[1] && it.state.is_active())?;
                Some(match index.checked_sub(1).map(|before| own[before].state) {
                    Some(State::Io) => NobodyCause::Io,
                    Some(State::Asleep) => NobodyCause::Sleep,
                    Some(State::Waking) => NobodyCause::WakeUp,
                    Some(State::Descheduled) => NobodyCause::RunQueue,
                    _ => NobodyCause::Other,
                })
            });
            *nobody.entry(begins.min().unwrap_or(NobodyCause::Other)).or_insert(0.0) += length;
        }
    }
    Criticality { total: timeline.wall(), threads, nobody: nobody.into_iter().collect() }
}

/// Paper 4, Fig. 2, as (length, active threads).
const FIGURE_2: [(u64, &[u32]); 8] = [
    (4, &[0, 1, 2, 3]),
    (3, &[1, 2, 3]),
    (1, &[2, 3]),
    (3, &[1, 2, 3]),
    (1, &[1, 3]),
    (3, &[1, 2, 3]),
    (2, &[0, 1, 2, 3]),
    (5, &[0]),
];

fn figure_2() -> Timeline {
    let rows: Vec<Vec<(u64, State)>> = (0..4)
        .map(|thread| {
            FIGURE_2
                .iter()
                .map(|(length, active)| {
                    (*length, if active.contains(&thread) { State::Active } else { State::Blocked })
                })
                .collect()
        })
        .collect();
    timeline(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn figure_2_of_the_paper() {
    for result in [by_definition(&figure_2()), criticality(&figure_2())] {
        assert_eq!(result.total, Nanos::new(22));
        let expected = [6.5, 5.0, 5.0, 5.5];
        for (found, expected) in result.threads.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
        assert_eq!(result.nobody, []);
    }
}

#[test]
fn time_with_nobody_active_goes_to_what_ended_it() {
    use State::{Active, Asleep, Blocked, Io, Waking};
    let timeline = timeline(&[
        &[(2, Active), (3, Io), (1, Active), (4, Asleep), (1, Active), (5, Blocked)],
        &[(2, Active), (9, Blocked), (2, Waking), (1, Active)],
    ]);
    for result in [by_definition(&timeline), criticality(&timeline)] {
        let expected = [
            (NobodyCause::Io, 3.0),
            (NobodyCause::Sleep, 4.0),
            (NobodyCause::WakeUp, 2.0),
            (NobodyCause::Other, 2.0),
        ];
        assert_eq!(result.nobody, expected);
        assert_eq!(result.threads, [3.0, 2.0]);
    }
}

#[test]
fn two_that_begin_at_once_have_one_cause_whichever_is_told_first() {
    let (first, second) = (ThreadId::new(0), ThreadId::new(1));
    let at = Time::from_nanos;
    for order in [[first, second], [second, first]] {
        let mut online = OnlineCriticality::new(at(0));
        for thread in order {
            let cause = if thread == first { NobodyCause::WakeUp } else { NobodyCause::Io };
            online.activate(thread, at(10), cause);
        }
        assert_eq!(online.so_far(first), 0.0);
        let result = online.finish(at(20), 2);
        assert_eq!(result.nobody, [(NobodyCause::Io, 10.0)]);
        assert_eq!(result.threads, [5.0, 5.0]);
    }
}

#[test]
fn what_an_active_thread_has_so_far_is_known_at_each_change() {
    let at = Time::from_nanos;
    let mut online = OnlineCriticality::new(at(0));
    online.activate(ThreadId::new(0), at(0), NobodyCause::Other);
    online.activate(ThreadId::new(1), at(6), NobodyCause::Other);
    online.deactivate(ThreadId::new(1), at(10));
    assert_eq!(online.so_far(ThreadId::new(0)), 8.0);
    assert_eq!(online.so_far(ThreadId::new(1)), 2.0);
}

fn sum(result: &Criticality) -> f64 {
    result.threads.iter().sum::<f64>() + result.nobody_total()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

proptest! {
    #[test]
    fn all_criticalities_and_nobody_make_the_wall_time(timeline in holdup_testkit::any_timeline()) {
        let offline = by_definition(&timeline);
        prop_assert!(close(sum(&offline), timeline.wall().get() as f64));
        prop_assert!(close(sum(&criticality(&timeline)), timeline.wall().get() as f64));
    }

    #[test]
    fn both_forms_agree(timeline in holdup_testkit::any_timeline()) {
        let (offline, online) = (by_definition(&timeline), criticality(&timeline));
        prop_assert_eq!(offline.total, online.total);
        prop_assert_eq!(&offline.nobody, &online.nobody);
        for (a, b) in offline.threads.iter().zip(&online.threads) {
            prop_assert!(close(*a, *b), "{} and {}", a, b);
        }
    }

    #[test]
    fn the_order_of_threads_changes_nothing(timeline in holdup_testkit::any_timeline()) {
        let mut turned = timeline.clone();
        turned.threads.reverse();
        for form in [by_definition, criticality] {
            let (result, mut other) = (form(&timeline), form(&turned));
            other.threads.reverse();
            prop_assert_eq!(result, other);
        }
    }
}
