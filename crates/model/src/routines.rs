//! What is known of waiting routines of runtimes: which functions spin, idle, or wait for a lock that the program
//! cannot see. The table is data: `routines.tsv`.

use std::sync::LazyLock;

use crate::{Frame, Site};

/// The table. Its head says what the columns mean.
const TABLE: &str = include_str!("routines.tsv");

/// How many frames an outer function may be from the inner one.
const FARTHEST: usize = 4;

/// What a thread does in a routine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RoutineKind {
    /// On a core in it, it waits.
    Spin,
    /// Blocked in it, it has nothing to do.
    Idle,
    /// It waits for a lock of the runtime's own.
    Lock,
}

/// A waiting routine of a runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// What a thread does in it.
    pub kind: RoutineKind,
    /// What a person calls it.
    pub name: &'static str,
    /// What can be done; `None` for nothing special.
    pub hint: Option<&'static str>,
    /// True where a thread has nothing to do, rather than waits for something that it needs: always for
    /// [`RoutineKind::Idle`], and for a runtime's search for work.
    pub seeks_work: bool,
    inner: Vec<&'static str>,
    within: Vec<&'static str>,
}

static ROUTINES: LazyLock<Vec<Routine>> = LazyLock::new(|| TABLE.lines().filter_map(routine).collect());

fn routine(line: &'static str) -> Option<Routine> {
    let line = (!line.starts_with('#')).then_some(line)?;
    let mut fields = line.split('\t');
    let (kind, seeks_work) = match fields.next()? {
        "spin" => (RoutineKind::Spin, false),
        "seek" => (RoutineKind::Spin, true),
        "idle" => (RoutineKind::Idle, true),
        "lock" => (RoutineKind::Lock, false),
        _ => return None,
    };
    let mut patterns = || Some(fields.next()?.split(',').filter(|pattern| *pattern != "-").collect());
    let (inner, within) = (patterns()?, patterns()?);
    let (name, hint) = (fields.next()?, fields.next()?);
    Some(Routine { kind, name, hint: (hint != "-").then_some(hint), seeks_work, inner, within })
}

impl Site {
    /// The waiting routine that a thread with this stack is in, of the kinds that `wanted` accepts.
    pub fn routine(&self, wanted: impl Fn(RoutineKind) -> bool) -> Option<&'static Routine> {
        // With the first of the program's own: libraries that the table names count as such.
        let own = self.frames.iter().position(Frame::is_program).map_or(self.frames.len(), |own| own + 1);
        ROUTINES.iter().filter(|routine| wanted(routine.kind)).find(|routine| {
            let mut inner = (0..own).filter(|&index| is_named(&routine.inner, &self.frames[index]));
            if routine.within.is_empty() { inner.next().is_some() } else { inner.any(|at| self.is_within(routine, at)) }
        })
    }

    /// True if the frame at `inner` is called by one of the routine's outer functions: from near, and with nothing of
    /// another module in between. So a function that the program lets the loader or an interpreter call is not
    /// taken for theirs.
    fn is_within(&self, routine: &Routine, inner: usize) -> bool {
        let near = self.frames.iter().enumerate().skip(inner).take(FARTHEST + 1);
        let mut outer = near.filter(|(_, frame)| is_named(&routine.within, frame));
        outer.any(|(outer, frame)| {
            let between = self.frames.get(inner + 1..outer).unwrap_or_default();
            between.iter().all(|other| !other.is_program() || other.module == frame.module)
        })
    }
}

fn is_named(patterns: &[&str], frame: &Frame) -> bool {
    let name = frame.function.as_deref();
    name.is_some_and(|name| patterns.iter().any(|pattern| matches(pattern, name)))
}

/// Whole names; a star at an end stands for anything there.
fn matches(pattern: &str, name: &str) -> bool {
    // What the C library's debug information calls its own copies of functions that it exports.
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (_, Some("")) => true,
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(frames: &[(&str, &str)]) -> Site {
        let frame = |(function, module): &(&str, &str)| Frame {
            function: Some((*function).to_owned()),
            module: Some((*module).to_owned()),
            ..Frame::default()
        };
        Site { frames: frames.iter().map(frame).collect(), ..Site::default() }
    }

    #[test]
    fn every_row_of_the_table_is_understood() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ROUTINES.len(), rows);
        assert!(ROUTINES.iter().all(|routine| !routine.inner.is_empty() && !routine.name.is_empty()));
    }

    #[test]
    fn a_lock_inside_of_malloc_is_known_by_who_called_it() {
        let inner = ("__lll_lock_wait_private", "libc.so.6");
        let any = |_| true;
        let malloc = site(&[inner, ("malloc", "libc.so.6"), ("fill", "app")]);
        assert_eq!(malloc.routine(any).map(|routine| routine.name), Some("glibc's malloc arena lock"));
        let stdio = site(&[inner, ("putc", "libc.so.6"), ("log_line", "app")]);
        assert_eq!(stdio.routine(any).map(|routine| routine.kind), Some(RoutineKind::Lock));
        assert_eq!(site(&[inner, ("main", "app")]).routine(any), None);
    }

    #[test]
    fn work_that_a_pool_runs_is_not_its_waiting() {
        let any = |_| true;
        let wait = ("rayon_core::registry::WorkerThread::wait_until_cold", "app");
        assert_eq!(site(&[wait]).routine(any).map(|routine| routine.kind), Some(RoutineKind::Spin));
        let job = site(&[("crunch", "app"), ("rayon_core::job::execute", "app"), wait]);
        assert_eq!(job.routine(any), None);
    }
}
