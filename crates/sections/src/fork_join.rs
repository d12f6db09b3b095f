//! Parallel sections of programs without OpenMP: from the creation of threads to their join.

use holdup_model::{Arrange, ObjectId, Process, SiteId, ThreadId, Timeline, Wait};

use crate::Working;

/// Working threads whose lives overlap, from the start of the first to the end of the last.
#[derive(Clone, Debug)]
pub struct ForkJoin<'a> {
    /// By start.
    pub threads: Vec<ThreadId>,
    /// The start of the first (ns since the zero of the recording).
    pub begin: u64,
    /// The end of the last.
    pub end: u64,
    /// Waits for their ends.
    pub joins: Vec<&'a Wait>,
    /// Where the last of them is waited for, else where the first was created.
    pub place: Option<SiteId>,
}

impl<'a> ForkJoin<'a> {
    /// Those of a process, in order of time; they do not overlap. The first thread is in none.
    pub fn all(process: &'a Process, timeline: &Timeline, working: &Working) -> Vec<ForkJoin<'a>> {
        let life = |thread: ThreadId| (timeline.row(thread).start.nanos(), timeline.row(thread).end.nanos());
        let mut threads: Vec<ThreadId> =
            working.threads.iter().copied().filter(|thread| thread.index() > 0).collect();
        threads.retain(|&thread| life(thread).0 < life(thread).1);
        threads.arrange_by_key(|&thread| (life(thread), thread));
        let mut groups: Vec<ForkJoin<'a>> = Vec::new();
        for thread in threads {
            let (begin, end) = life(thread);
            match groups.last_mut() {
                Some(group) if begin < group.end => {
                    group.threads.push(thread);
                    group.end = group.end.max(end);
                }
                _ => groups.push(ForkJoin {
                    threads: vec![thread],
                    begin,
                    end,
                    joins: Vec::new(),
                    place: None,
                }),
            }
        }
        groups.iter_mut().for_each(|group| group.join(process));
        groups
    }

    fn join(&mut self, process: &'a Process) {
        let joined = |object: ObjectId| {
            process.object(object).thread.is_some_and(|thread| self.threads.contains(&thread))
        };
        let inside = |wait: &Wait| wait.end.nanos() >= self.begin && wait.begin.nanos() <= self.end;
        self.joins = process.waits.iter().filter(|wait| inside(wait) && joined(wait.object)).collect();
        let last = self.joins.iter().max_by_key(|wait| (wait.end, wait.site)).and_then(|wait| wait.site);
        self.place = last.or_else(|| process.thread(self.threads[0]).created_at);
    }
}
