//! What is shown: the difference between two surveys, and the course of the last minute.

use holdup_model::Arrange;
use std::collections::{BTreeMap, VecDeque};

use holdup_live::{Doing, ProcessSeen, Survey, ThreadSeen};

/// The length of time that the screen's figures are of, in ns, unless the interval is longer.
const WINDOW_NS: u64 = 3_000_000_000;
/// Intervals of which a thread's share is kept.
pub(crate) const MOST_HISTORY: usize = 120;

/// A thread: its process, and its number in it.
pub(crate) type Who = (u32, u32);

/// The number of the row of threads that are told of together.
pub(crate) const OTHERS: u32 = u32::MAX;

/// A thread in a span of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub who: Who,
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    pub state: Doing,
    /// Its criticality as a share of the span's time, from 0 to 1.
    pub share: f64,
    /// As a share of all the time since its process has been followed.
    pub total_share: f64,
    /// The share of the span in which it was active.
    pub active_share: f64,
    /// Changes a second in the span.
    pub changes_a_second: f64,
    /// So far.
    pub criticality_ns: u64,
    pub active_ns: u64,
    pub changes: u64,
}

/// A process in a span of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProcessRow {
    pub pid: u32,
    pub name: String,
    pub has_ended: bool,
    pub number: u32,
    /// Threads that live.
    pub living: usize,
    /// The average number of active threads.
    pub active: f64,
    /// The share of the time in which no thread was active; also what threads had that are no longer known.
    pub nobody: f64,
}

/// What two surveys say of the time between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    pub at_ns: u64,
    pub span_ns: u64,
    pub processes: Vec<ProcessRow>,
    /// In the order of the survey.
    pub rows: Vec<Row>,
}

impl View {
    /// What `now` has more than `before`; without one, all of it.
    pub(crate) fn between(before: Option<&Survey>, now: &Survey) -> View {
        let earlier = before.map(|before| before.processes.as_slice()).unwrap_or_default();
        let mut view = View { at_ns: now.at_ns, ..View::default() };
        view.span_ns = match before {
            Some(before) => now.at_ns.saturating_sub(before.at_ns),
            None => now.processes.iter().map(|process| process.age_ns).max().unwrap_or(0),
        };
        for process in &now.processes {
            view.add(process, earlier.iter().find(|earlier| earlier.number == process.number));
        }
        view
    }

    fn add(&mut self, process: &ProcessSeen, earlier: Option<&ProcessSeen>) {
        let zero = (0, 0, 0);
        let figures = |thread: &ThreadSeen| (thread.criticality_ns, thread.active_ns, thread.changes);
        let before: BTreeMap<u32, (u64, u64, u64)> = earlier
            .map(|earlier| earlier.threads.iter().map(|thread| (thread.number, figures(thread))).collect())
            .unwrap_or_default();
        let span = self.span_ns.min(process.age_ns).max(1) as f64;
        let (mut shares, mut active) = (0.0, 0.0);
        let others = others(process, earlier);
        let before_others = others.as_ref().map(|(_, before)| *before);
        for thread in process.threads.iter().chain(others.as_ref().map(|(others, _)| others)) {
            let before_it = if thread.number == OTHERS {
                before_others
            } else if earlier.is_some_and(|earlier| was_over(thread, earlier)) {
                Some(figures(thread))
            } else {
                before.get(&thread.number).copied()
            };
            let (criticality, active_before, changes) = before_it.unwrap_or(zero);
            let grown = |now: u64, before: u64| now.saturating_sub(before) as f64;
            let row = Row {
                who: (process.number, thread.number),
                pid: process.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                state: thread.state.clone(),
                share: (grown(thread.criticality_ns, criticality) / span).min(1.0),
                total_share: (thread.criticality_ns as f64 / process.age_ns.max(1) as f64).min(1.0),
                active_share: (grown(thread.active_ns, active_before) / span).min(1.0),
                changes_a_second: grown(thread.changes, changes) / span * 1e9,
                criticality_ns: thread.criticality_ns,
                active_ns: thread.active_ns,
                changes: thread.changes,
            };
            shares += row.share;
            active += row.active_share;
            self.rows.push(row);
        }
        self.processes.push(ProcessRow {
            pid: process.pid,
            name: process.name.clone(),
            has_ended: process.has_ended,
            number: process.number,
            living: process.threads.iter().filter(|thread| thread.state != Doing::Ended).count(),
            active,
            nobody: (1.0 - shares).max(0.0),
        });
    }

    /// The process that is told of first: the one with most criticality-relevant activity that lives.
    pub(crate) fn main(&self) -> Option<&ProcessRow> {
        self.processes.iter().find(|process| !process.has_ended).or(self.processes.first())
    }

    /// Threads that live, in all processes.
    pub(crate) fn living(&self) -> usize {
        self.processes.iter().map(|process| process.living).sum()
    }

    /// How many processes live.
    pub(crate) fn living_processes(&self) -> usize {
        self.processes.iter().filter(|process| !process.has_ended).count()
    }

    /// The average number of active threads, in all processes.
    pub(crate) fn active(&self) -> f64 {
        // The sum of nothing is -0.
        self.processes.iter().map(|process| process.active).sum::<f64>() + 0.0
    }
}

/// True if a thread that is known singly now was among those that were told of together before: it had all that it has.
fn was_over(thread: &ThreadSeen, earlier: &ProcessSeen) -> bool {
    let is_new = earlier.threads.binary_search_by_key(&thread.number, |thread| thread.number).is_err();
    is_new && thread.ended_ns.is_some_and(|ended| ended <= earlier.age_ns)
}

/// The threads that are told of together as one, and what they had before; `None` where there are none. Who was told of singly
/// before, and is no more, is among them now.
fn others(process: &ProcessSeen, earlier: Option<&ProcessSeen>) -> Option<(ThreadSeen, (u64, u64, u64))> {
    let all = process.others;
    let thread = ThreadSeen {
        number: OTHERS,
        tid: 0,
        name: format!("({} ended)", all.threads),
        state: Doing::Ended,
        criticality_ns: all.criticality_ns,
        active_ns: all.active_ns,
        changes: all.changes,
        ended_ns: None,
    };
    let mut before = (0, 0, 0);
    if let Some(earlier) = earlier {
        before = (earlier.others.criticality_ns, earlier.others.active_ns, earlier.others.changes);
        let is_there = |number| process.threads.binary_search_by_key(&number, |thread| thread.number).is_ok();
        for gone in earlier.threads.iter().filter(|thread| !is_there(thread.number)) {
            before.0 += gone.criticality_ns;
            before.1 += gone.active_ns;
            before.2 += gone.changes;
        }
        // The end of a process says singly what was told of together.
        for apart in process.threads.iter().filter(|thread| was_over(thread, earlier)) {
            before.0 = before.0.saturating_sub(apart.criticality_ns);
            before.1 = before.1.saturating_sub(apart.active_ns);
            before.2 = before.2.saturating_sub(apart.changes);
        }
    }
    (all.threads > 0).then_some((thread, before))
}

/// What the order of threads is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// Criticality in the last seconds
    Now,
    /// Criticality since the start
    All,
    /// Share of the time in which the thread is active
    Active,
    /// Changes a second
    Changes,
    /// Kernel id
    Tid,
    /// Name
    Name,
}

impl Order {
    pub(crate) const ALL: [Order; 6] =
        [Order::Now, Order::All, Order::Active, Order::Changes, Order::Tid, Order::Name];

    /// Its column's head.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Order::Now => "now",
            Order::All => "all",
            Order::Active => "active",
            Order::Changes => "changes/s",
            Order::Tid => "tid",
            Order::Name => "thread",
        }
    }

    /// Sorts rows: the largest first, or ids and names ascending; where equal, by process and number.
    pub(crate) fn sort(self, rows: &mut [Row], reversed: bool) {
        let key = |row: &Row| match self {
            Order::Now => row.share,
            Order::All => row.total_share,
            Order::Active => row.active_share,
            Order::Changes => row.changes_a_second,
            Order::Tid | Order::Name => 0.0,
        };
        rows.arrange_by(|a, b| {
            let order = match self {
                Order::Tid => a.tid.cmp(&b.tid),
                Order::Name => a.name.cmp(&b.name),
                _ => key(b).total_cmp(&key(a)),
            };
            let order = if reversed { order.reverse() } else { order };
            let ended = |row: &Row| row.state == Doing::Ended;
            order.then(ended(a).cmp(&ended(b))).then(a.who.cmp(&b.who))
        });
    }
}

/// The surveys of the last seconds, and each thread's course.
#[derive(Debug, Default)]
pub(crate) struct History {
    recent: VecDeque<Survey>,
    courses: BTreeMap<Who, Course>,
}

/// A thread's shares, an interval each, the latest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub shares: VecDeque<f64>,
    pub active: VecDeque<f64>,
}

impl History {
    /// Takes a survey; gives what it says of the last interval.
    pub(crate) fn take(&mut self, survey: Survey) -> View {
        let view = View::between(self.recent.back(), &survey);
        let mut courses = std::mem::take(&mut self.courses);
        for row in &view.rows {
            let mut course = courses.remove(&row.who).unwrap_or_default();
            for (kept, new) in [(&mut course.shares, row.share), (&mut course.active, row.active_share)] {
                kept.push_back(new);
                if kept.len() > MOST_HISTORY {
                    kept.pop_front();
                }
            }
            self.courses.insert(row.who, course);
        }
        let oldest = survey.at_ns.saturating_sub(WINDOW_NS);
        self.recent.push_back(survey);
        while self.recent.len() > 2 && self.recent[1].at_ns <= oldest {
            self.recent.pop_front();
        }
        view
    }

    /// What the last seconds say.
    pub(crate) fn recently(&self) -> View {
        let Some(now) = self.recent.back() else { return View::default() };
        let before = self.recent.front().filter(|_| self.recent.len() > 1);
        View::between(before, now)
    }

    /// A thread's course.
    pub(crate) fn course(&self, row: &Row) -> Course {
        self.courses.get(&row.who).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use holdup_live::Others;

    use super::*;

    const S: u64 = 1_000_000_000;

    pub(crate) fn thread(number: u32, name: &str, state: Doing, figures: (u64, u64, u64)) -> ThreadSeen {
        let (criticality_ns, active_ns, changes) = figures;
        ThreadSeen {
            number,
            tid: 100 + number,
            name: name.to_owned(),
            state,
            criticality_ns,
            active_ns,
            changes,
            ended_ns: None,
        }
    }

    pub(crate) fn survey(at_ns: u64, threads: Vec<ThreadSeen>) -> Survey {
        let process = ProcessSeen {
            pid: 100,
            name: "app".to_owned(),
            age_ns: at_ns - S,
            has_ended: false,
            number: 0,
            others: Others::default(),
            threads,
        };
        Survey { at_ns, processes: vec![process] }
    }

    #[test]
    fn shares_are_of_the_time_between() {
        let of = |first: (u64, u64, u64), second: (u64, u64, u64)| {
            vec![thread(0, "a", Doing::Active, first), thread(1, "b", Doing::Active, second)]
        };
        let before = survey(2 * S, of((S / 2, S, 10), (S / 2, S, 0)));
        let now = survey(4 * S, of((2 * S, 3 * S, 30), (S, 2 * S, 2)));
        let view = View::between(Some(&before), &now);
        let shares: Vec<(f64, f64, f64)> =
            view.rows.iter().map(|row| (row.share, row.active_share, row.changes_a_second)).collect();
        assert_eq!(shares, [(0.75, 1.0, 10.0), (0.25, 0.5, 1.0)]);
        assert_eq!(view.rows[0].total_share, 2.0 / 3.0);
        let process = view.main().unwrap();
        assert_eq!((process.active, process.nobody), (1.5, 0.0));
        let all = View::between(None, &now);
        assert_eq!(all.rows[0].share, all.rows[0].total_share);
    }

    #[test]
    fn a_process_of_the_same_id_that_began_later_has_no_past() {
        let before = survey(2 * S, vec![thread(0, "a", Doing::Active, (S, S, 1))]);
        let mut now = survey(4 * S, vec![thread(0, "b", Doing::Active, (S / 2, S, 1))]);
        now.processes[0].age_ns = S;
        now.processes[0].number = 1;
        let view = View::between(Some(&before), &now);
        assert_eq!((view.rows[0].share, view.rows[0].active_share), (0.5, 1.0));
    }

    #[test]
    fn who_ends_between_is_told_of_with_the_others() {
        let threads =
            vec![thread(0, "a", Doing::Active, (S, S, 0)), thread(1, "b", Doing::Active, (S / 2, S, 4))];
        let before = survey(3 * S, threads);
        let mut now = survey(4 * S, vec![thread(0, "a", Doing::Active, (S + S / 2, 2 * S, 0))]);
        now.processes[0].others = Others { threads: 1, criticality_ns: S, active_ns: 2 * S, changes: 5 };
        let view = View::between(Some(&before), &now);
        let shares: Vec<(&str, f64)> = view.rows.iter().map(|row| (row.name.as_str(), row.share)).collect();
        assert_eq!(shares, [("a", 0.5), ("(1 ended)", 0.5)]);
        assert_eq!(view.living(), 1);
        assert_eq!(view.processes[0].nobody, 0.0);
    }

    #[test]
    fn the_end_of_a_process_says_singly_what_each_thread_had() {
        let mut before = survey(3 * S, vec![thread(0, "a", Doing::Active, (S / 2, S, 0))]);
        before.processes[0].others = Others { threads: 2, criticality_ns: S, active_ns: S, changes: 4 };
        let ended = |number, figures, ended_ns| ThreadSeen {
            ended_ns: Some(ended_ns),
            ..thread(number, "b", Doing::Ended, figures)
        };
        // Of two that had ended one is known; the third began and ended since.
        let threads = vec![
            ended(0, (S, 2 * S, 1), 3 * S),
            ended(1, (S / 2, S / 2, 2), S),
            ended(3, (S / 4, S / 2, 1), 3 * S),
        ];
        let mut now = survey(4 * S, threads);
        now.processes[0].others = Others { threads: 1, criticality_ns: S / 2, active_ns: S / 2, changes: 2 };
        now.processes[0].has_ended = true;
        let view = View::between(Some(&before), &now);
        let rows: Vec<(u32, f64, u64)> =
            view.rows.iter().map(|row| (row.who.1, row.share, row.criticality_ns)).collect();
        assert_eq!(rows, [(0, 0.5, S), (1, 0.0, S / 2), (3, 0.25, S / 4), (OTHERS, 0.0, S / 2)]);
        assert_eq!((view.living(), view.processes[0].nobody), (0, 0.25));
    }

    #[test]
    fn every_order_sorts_and_ended_threads_come_last_where_equal() {
        let threads = vec![
            thread(0, "c", Doing::Ended, (S, S, 3)),
            thread(1, "b", Doing::Active, (S, 2 * S, 1)),
            thread(2, "a", Doing::Active, (0, 0, 2)),
        ];
        let view = View::between(None, &survey(4 * S, threads));
        let sorted = |order: Order, reversed| {
            let mut rows = view.rows.clone();
            order.sort(&mut rows, reversed);
            rows.iter().map(|row| row.name.clone()).collect::<String>()
        };
        assert_eq!(sorted(Order::Now, false), "bca");
        assert_eq!(sorted(Order::Now, true), "abc");
        assert_eq!(sorted(Order::All, false), "bca");
        assert_eq!(sorted(Order::Active, false), "bca");
        assert_eq!(sorted(Order::Changes, false), "cab");
        assert_eq!(sorted(Order::Tid, false), "cba");
        assert_eq!(sorted(Order::Name, false), "abc");
    }

    #[test]
    fn the_screens_figures_are_of_the_last_three_seconds() {
        let mut history = History::default();
        for second in 1..=10u64 {
            let criticality = if second < 7 { 0 } else { (second - 7) * S };
            history.take(survey(second * S, vec![thread(0, "a", Doing::Active, (criticality, 0, 0))]));
        }
        let view = history.recently();
        assert_eq!((view.span_ns, view.rows[0].share), (3 * S, 1.0));
        let course = history.course(&view.rows[0]);
        assert_eq!(course.shares.iter().sum::<f64>(), 3.0);
        for second in 11..400 {
            history.take(survey(second * S, vec![thread(0, "a", Doing::Active, (0, 0, 0))]));
        }
        assert_eq!(history.course(&view.rows[0]).shares.len(), MOST_HISTORY);
        assert!(history.recent.len() < 6);
    }
}
