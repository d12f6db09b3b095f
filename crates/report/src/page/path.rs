//! The critical path: whose work, and which waits, the length of the run consists of.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use holdup_model::{Arrange, Nanos, State};

use super::chart::{Bar, Color, across, color_of_state};
use super::text::{Told, counted, state_word, time};

/// At most so many threads and objects have a bar.
const MOST_BARS: usize = 8;

/// At most so many steps have a row.
const MOST_STEPS: usize = 40;

/// So many rows are open from the start.
const OPEN_STEPS: usize = 8;

/// The section.
#[derive(Template)]
#[template(path = "path.html")]
pub(super) struct Path {
    length: String,
    states: Option<Bar>,
    key: Vec<(Color, &'static str, String, String)>,
    threads: Vec<Share>,
    objects: Vec<Share>,
    steps: Vec<Step>,
    more_steps: Vec<Step>,
    untold: Option<String>,
}

struct Share {
    label: String,
    color: Color,
    width: String,
    time: String,
    share: String,
}

struct Step {
    thread: String,
    color: Color,
    state: &'static str,
    place: String,
    width: String,
    time: String,
    share: String,
}

impl Path {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let path = &told.diagnosis.path;
        let mut by_state: BTreeMap<State, Nanos> = BTreeMap::new();
        for step in &path.steps {
            *by_state.entry(step.state).or_default() += step.time;
        }
        let mut states: Vec<(State, Nanos)> =
            by_state.into_iter().filter(|(_, time)| *time > Nanos::ZERO).collect();
        states.arrange_by_key(|&(state, time)| (Reverse(time), state));
        let key: Vec<_> = states
            .iter()
            .map(|&(state, length)| {
                (color_of_state(state, None), state_word(state), time(length), told.of_wall(length))
            })
            .collect();
        let said: Vec<String> = key.iter().map(|(_, word, _, share)| format!("{word} {share}")).collect();
        let bar = (states.iter().zip(&key)).map(|(&(_, length), (color, word, time, share))| {
            (length.get() as f64, *color, format!("{word}\n{time} · {share}"))
        });
        let states = (!key.is_empty()).then(|| {
            let label = format!("The critical path by what its threads do: {}", said.join(", "));
            Bar::new(label, 22, path.length.get() as f64, bar)
        });
        let mut steps: Vec<Step> = path
            .steps
            .iter()
            .take(MOST_STEPS)
            .map(|step| Step {
                thread: told.thread(step.thread),
                color: color_of_state(step.state, None),
                state: state_word(step.state),
                place: told.place(step.site),
                width: across(step.time.get() as f64, path.steps[0].time.get() as f64),
                time: time(step.time),
                share: told.of_wall(step.time),
            })
            .collect();
        let more_steps = steps.split_off(steps.len().min(OPEN_STEPS));
        Self {
            length: time(path.length),
            states,
            key,
            threads: shares(
                told,
                path.by_thread.iter().map(|&(thread, time)| (told.thread(thread), "ink", time)),
            ),
            objects: shares(
                told,
                path.by_object
                    .iter()
                    .map(|&(object, time)| (told.object(object), told.color_of(object), time)),
            ),
            steps,
            more_steps,
            untold: (path.steps.len().checked_sub(MOST_STEPS))
                .filter(|more| *more > 0)
                .map(|more| counted(more, "smaller step", "smaller steps")),
        }
    }
}

/// The largest, each with a bar by the first, and the others together.
fn shares(told: &Told<'_>, all: impl Iterator<Item = (String, Color, Nanos)>) -> Vec<Share> {
    let mut all: Vec<(String, Color, Nanos)> = all.filter(|(.., length)| *length > Nanos::ZERO).collect();
    if all.len() > MOST_BARS + 1 {
        let others = all.split_off(MOST_BARS);
        let sum = others.iter().map(|(.., length)| *length).sum();
        all.push((format!("{} others", others.len()), "serial", sum));
    }
    let most = all.iter().map(|(.., length)| *length).max().unwrap_or_default();
    all.into_iter()
        .map(|(label, color, length)| Share {
            label,
            color,
            width: across(length.get() as f64, most.get() as f64),
            time: time(length),
            share: told.of_wall(length),
        })
        .collect()
}
