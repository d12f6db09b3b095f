//! The tasks on this machine: those that measure time one after another, the others several at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use holdup_sweep::{Outcome, Status, Task};

use super::counters::Counters;
use super::task::Runner;
use super::{Ended, Sweep};
use crate::failure::Failure;
use crate::progress::Progress;

/// What became of a task.
#[derive(Clone, Debug)]
enum State {
    ToDo,
    Running,
    Ended(Box<Outcome>),
}

/// All tasks, and what keeps the workers from going on.
struct Board<'a> {
    tasks: &'a [Task],
    index: BTreeMap<&'a str, usize>,
    states: Vec<State>,
    failure: Option<Failure>,
    is_over: bool,
}

/// What a worker does next.
enum Next {
    Task(usize),
    Wait,
    Nothing,
}

impl Board<'_> {
    /// The next task that can be begun, of those that measure time or of the others.
    fn next(&mut self, measuring: bool) -> Next {
        if self.is_over {
            return Next::Nothing;
        }
        let mut next = Next::Nothing;
        for (at, task) in self.tasks.iter().enumerate() {
            if !matches!(self.states[at], State::ToDo) || task.measures_time() != measuring {
                continue;
            }
            match self.needed(task) {
                None => return Next::Task(at),
                Some(State::Ended(outcome)) if outcome.status == Status::Done => return Next::Task(at),
                // What it needs gave nothing: so does it, and its cell says why.
                Some(State::Ended(_)) => {}
                Some(State::ToDo | State::Running) => next = Next::Wait,
            }
        }
        next
    }

    fn needed(&self, task: &Task) -> Option<&State> {
        task.needs.as_ref().and_then(|key| self.index.get(key.as_str())).map(|at| &self.states[*at])
    }
}

/// Does what is to be done, at most `jobs` at once.
pub(super) fn run(sweep: &Sweep<'_>, runner: &Runner<'_>, jobs: usize) -> Result<Ended, Failure> {
    let tasks = sweep.work.tasks.as_slice();
    let states: Vec<State> = tasks
        .iter()
        .map(|task| sweep.outcome(task).map_or(State::ToDo, |outcome| State::Ended(Box::new(outcome))))
        .collect();
    let to_do =
        tasks.iter().zip(&states).filter(|(_, state)| matches!(state, State::ToDo)).map(|(task, _)| task);
    let counters = Arc::new(Counters::new(tasks.len(), to_do, jobs));
    let line = Arc::clone(&counters);
    let _progress = Progress::telling(move || line.line());
    let index = tasks.iter().enumerate().map(|(at, task)| (task.key.as_str(), at)).collect();
    let board = Mutex::new(Board { tasks, index, states, failure: None, is_over: false });
    let news = Condvar::new();
    // Nothing else may run beside what is timed.
    work(&board, &news, runner, &counters, true);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(&board, &news, runner, &counters, false));
        }
    });
    let board = board.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match (board.failure, runner.interrupt.came()) {
        (Some(failure), _) => Err(failure),
        (None, Some(signal)) => Ok(Ended::Interrupted(signal)),
        (None, None) => Ok(Ended::Through),
    }
}

fn work(board: &Mutex<Board<'_>>, news: &Condvar, runner: &Runner<'_>, counters: &Counters, measuring: bool) {
    let mut held = lock(board);
    loop {
        match held.next(measuring) {
            Next::Nothing => break,
            Next::Wait => held = news.wait(held).unwrap_or_else(|poisoned| poisoned.into_inner()),
            Next::Task(at) => {
                held.states[at] = State::Running;
                let task = &held.tasks[at];
                let needed = match held.needed(task) {
                    Some(State::Ended(outcome)) => Some(outcome.clone()),
                    _ => None,
                };
                drop(held);
                let ended = runner.run(task, needed.as_deref());
                held = lock(board);
                match ended {
                    Ok(Some(outcome)) => {
                        let is_failed = outcome.status != Status::Done;
                        counters.ended(task, Some(Duration::from_nanos(outcome.spent_ns)), is_failed);
                        held.states[at] = State::Ended(Box::new(outcome));
                    }
                    Ok(None) => held.is_over = true,
                    Err(failure) => {
                        held.is_over = true;
                        held.failure.get_or_insert(failure);
                    }
                }
                news.notify_all();
            }
        }
    }
    drop(held);
    news.notify_all();
}

fn lock<'a, 'b>(board: &'a Mutex<Board<'b>>) -> MutexGuard<'a, Board<'b>> {
    board.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
