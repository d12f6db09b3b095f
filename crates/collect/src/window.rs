//! Which part of a run is to be told of: from a delay or a signal on, for a time or until a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGUSR1, SIGUSR2};

/// What the user asked for. The default is all of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// It begins so long after the start.
    pub delay: Option<Duration>,
    /// It is so long.
    pub duration: Option<Duration>,
    /// It begins when SIGUSR1 comes. In any case it ends when SIGUSR2 comes, if this is set.
    pub by_signal: bool,
}

/// Where in the window the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Before,
    Within,
    After,
}

/// A window as time passes.
pub(crate) struct Opening {
    window: Window,
    started: Instant,
    opened: Option<Instant>,
    stage: Stage,
    begin_asked: Arc<AtomicBool>,
    end_asked: Arc<AtomicBool>,
}

impl Opening {
    /// The program starts now.
    pub(crate) fn start(window: Window) -> Opening {
        let (begin_asked, end_asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        if window.by_signal {
            let _ = signal_hook::flag::register(SIGUSR1, Arc::clone(&begin_asked));
            let _ = signal_hook::flag::register(SIGUSR2, Arc::clone(&end_asked));
        }
        Opening {
            window,
            started: Instant::now(),
            opened: None,
            stage: Stage::Before,
            begin_asked,
            end_asked,
        }
    }

    /// True if it is all of the run.
    pub(crate) fn is_all(&self) -> bool {
        self.window == Window::default()
    }

    /// Recording begins only now that it is open: the duration counts from here.
    pub(crate) fn begin(&mut self) {
        self.opened = self.opened.map(|_| Instant::now());
    }

    /// Where the run is now.
    pub(crate) fn stage(&mut self) -> Stage {
        if self.stage == Stage::Before {
            let waited = self.window.delay.is_none_or(|delay| self.started.elapsed() >= delay);
            let called = !self.window.by_signal || self.begin_asked.load(Ordering::Relaxed);
            if waited && called {
                self.stage = Stage::Within;
                self.opened = Some(Instant::now());
            }
        }
        let is_over = |opened: Instant| self.window.duration.is_some_and(|long| opened.elapsed() >= long);
        if self.stage == Stage::Within
            && (self.opened.is_some_and(is_over) || self.end_asked.load(Ordering::Relaxed))
        {
            self.stage = Stage::After;
        }
        self.stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_wishes_it_is_open_from_the_start_to_the_end() {
        let mut opening = Opening::start(Window::default());
        assert!(opening.is_all());
        assert_eq!(opening.stage(), Stage::Within);
    }

    #[test]
    fn the_duration_counts_from_where_recording_begins() {
        let duration = Some(Duration::from_millis(20));
        let mut opening = Opening::start(Window { delay: None, duration, by_signal: false });
        assert_eq!(opening.stage(), Stage::Within);
        std::thread::sleep(Duration::from_millis(20));
        let before = Instant::now();
        opening.begin();
        while opening.stage() == Stage::Within {}
        assert!(Some(before.elapsed()) >= duration);
    }

    #[test]
    fn it_opens_after_the_delay_and_closes_after_the_duration() {
        let (delay, duration) = (Some(Duration::from_millis(20)), Some(Duration::ZERO));
        let mut opening = Opening::start(Window { delay, duration: None, by_signal: false });
        assert_eq!(opening.stage(), Stage::Before);
        std::thread::sleep(Duration::from_millis(21));
        assert_eq!(opening.stage(), Stage::Within);
        let mut opening = Opening::start(Window { delay: None, duration, by_signal: false });
        assert_eq!(opening.stage(), Stage::After);
    }
}
