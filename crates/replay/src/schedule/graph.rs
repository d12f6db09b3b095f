//! Tasks of one instance: who makes them, what they wait for, and what they take.

use holdup_model::openmp::Instance;
use holdup_model::{Nanos, SiteId};

/// What is tried with tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaskChange {
    /// Nothing.
    Unchanged,
    /// Making tasks and fetching them costs nothing: what the runtime's part is.
    FreeMaking,
    /// A task whose work, with that of all tasks that it makes, is less than this is executed at once by the thread
    /// that comes to it, which neither makes nor fetches it.
    Cutoff(Nanos),
}

/// The tasks that one whole instance of a region made, the implicit tasks of its threads among them.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskGraph {
    pub(super) instance: Instance,
    pub(super) region: Option<SiteId>,
    /// From the first begin of an implicit task to the last end of any (ns).
    pub(super) time: u64,
    /// The implicit tasks, one for each thread, then the others in the order in which they were made.
    pub(super) nodes: Vec<Node>,
    /// How many of the nodes are implicit tasks.
    pub(super) implicit: usize,
    /// What fetching a task takes a thread (ns).
    pub(super) fetching: u64,
}

/// A task.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Node {
    /// The task that makes it: one before it in the list; `None` for an implicit one.
    pub(super) parent: Option<usize>,
    pub(super) steps: Vec<Step>,
    /// The tasks of the same parent that must be done before; all before it in the list.
    pub(super) after: Vec<usize>,
    /// When an implicit task begins, after the first of them; what making another takes (ns).
    pub(super) cost: u64,
    /// It is executed at once by the thread that makes it.
    pub(super) at_once: bool,
}

/// What a task does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It works (ns).
    Work(u64),
    /// It makes a task.
    Make(usize),
    /// It waits for the tasks that it has made.
    Children,
    /// It waits for these and all that they have made.
    Descendants,
    /// An implicit task waits for the others of its team, and for all tasks.
    Barrier,
}

impl TaskGraph {
    /// The instance.
    pub fn instance(&self) -> Instance {
        self.instance
    }

    /// The place of the region.
    pub fn region(&self) -> Option<SiteId> {
        self.region
    }

    /// The threads of the team, at least 1.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.implicit).unwrap_or(u32::MAX).max(1)
    }

    /// How many tasks were made, the implicit ones not counted.
    pub fn tasks(&self) -> usize {
        self.nodes.len() - self.implicit
    }

    /// From the begin of the team to the last end of a task.
    pub fn time(&self) -> Nanos {
        Nanos::new(self.time)
    }

    /// What all tasks take, the implicit ones among them, without making and fetching them.
    pub fn work(&self) -> Nanos {
        Nanos::new(self.nodes.iter().map(Node::work).fold(0, u64::saturating_add))
    }

    /// What making and fetching them takes.
    pub fn overhead(&self) -> Nanos {
        let made = &self.nodes[self.implicit..];
        let costs = made.iter().map(|node| if node.at_once { node.cost } else { node.cost + self.fetching });
        Nanos::new(costs.fold(0, u64::saturating_add))
    }

    /// What each task takes with all that it makes (ns).
    pub(super) fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(Node::work).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                totals[parent] = totals[parent].saturating_add(totals[index]);
            }
        }
        totals
    }

    /// What the tasks would take on any number of threads if making and fetching them cost nothing: the longest chain of
    /// tasks that wait for each other. A bound.
    pub fn critical_path(&self) -> Nanos {
        let mut path = Path { nodes: &self.nodes, ends: vec![0; self.nodes.len()], last: 0 };
        let mut steps = vec![0; self.implicit];
        let mut starts: Vec<u64> = self.nodes[..self.implicit].iter().map(|node| node.cost).collect();
        // From one barrier to the next.
        while (0..self.implicit).any(|index| steps[index] < self.nodes[index].steps.len()) {
            for index in 0..self.implicit {
                (steps[index], starts[index]) = path.walk(index, steps[index], starts[index]);
            }
            let open = starts.iter().copied().max().unwrap_or(0).max(path.last);
            starts.fill(open);
        }
        Nanos::new(starts.into_iter().max().unwrap_or(0).max(path.last))
    }
}

impl Node {
    pub(super) fn work(&self) -> u64 {
        let works = self.steps.iter().map(|step| if let Step::Work(time) = step { *time } else { 0 });
        works.fold(0, u64::saturating_add)
    }
}

/// Tasks on as many threads as they like.
struct Path<'a> {
    nodes: &'a [Node],
    /// When each task ends, of those that were walked.
    ends: Vec<u64>,
    /// When the last of these ends.
    last: u64,
}

/// A task that is being walked.
struct Walked {
    node: usize,
    step: usize,
    now: u64,
    /// When the last of the tasks that it made ends, and of all that these made.
    children: u64,
    descendants: u64,
}

impl Path<'_> {
    /// Walks an implicit task from this step, at this time, up to the step behind the next barrier, or its end; gives that
    /// and when it is reached. Tasks that are made on the way are walked whole: no task waits for one that is made later.
    fn walk(&mut self, node: usize, step: usize, now: u64) -> (usize, u64) {
        let nodes = self.nodes;
        let mut stack = vec![Walked { node, step, now, children: 0, descendants: 0 }];
        loop {
            let outermost = stack.len() == 1;
            let Some(top) = stack.last_mut() else { break };
            let next = nodes[top.node].steps.get(top.step).copied();
            top.step += 1;
            match next {
                Some(Step::Work(time)) => top.now = top.now.saturating_add(time),
                Some(Step::Make(child)) => {
                    let before = nodes[child].after.iter().map(|&before| self.ends[before]);
                    let now = before.fold(top.now, u64::max);
                    stack.push(Walked { node: child, step: 0, now, children: 0, descendants: 0 });
                }
                Some(Step::Children) => top.now = top.now.max(top.children),
                Some(Step::Descendants) => top.now = top.now.max(top.descendants),
                Some(Step::Barrier) if outermost => break,
                Some(Step::Barrier) => {}
                None => {
                    let (node, end, descendants) = (top.node, top.now, top.descendants);
                    self.ends[node] = end;
                    self.last = self.last.max(end);
                    if outermost {
                        break;
                    }
                    stack.pop();
                    if let Some(maker) = stack.last_mut() {
                        maker.children = maker.children.max(end);
                        maker.descendants = maker.descendants.max(end).max(descendants);
                        if nodes[node].at_once {
                            maker.now = maker.now.max(end);
                        }
                    }
                }
            }
        }
        stack.first().map_or((usize::MAX, now), |walked| (walked.step, walked.now))
    }
}
