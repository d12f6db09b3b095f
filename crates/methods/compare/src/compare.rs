//! What changed between runs: a [`Ledger`] of each, the runs before held against those after.
//!
//! The wall time is useful time, what was lost to each class, and what is not explained ([`holdup_criticality::CostIdentity`]), on
//! the average over the working threads. So is the difference of two wall times the sum of the differences of the
//! parts, exactly ([`Contribution`]). Findings and functions divide the parts further.

mod amounts;
mod entries;
mod labels;
mod ledger;
mod matching;
mod names;
mod surroundings;
mod tables;

pub use amounts::Change;
pub(crate) use amounts::Scale;
pub(crate) use amounts::mean_and_half_width;
pub(crate) use entries::{Entries, whole};
pub use ledger::{Counted, Ledger, Measure, Subject};
pub(crate) use matching::pairs;
pub(crate) use names::Name;
pub use names::Place;
pub use surroundings::Surrounding;
pub use tables::{Presence, Row, Table};

use holdup_criticality::FindingKind;
use holdup_model::{Arrange, Nanos};

/// A part of the wall time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Active, and on a core as far as that is known.
    Useful,
    /// Lost to findings of this kind, whether they are large enough to be told or not.
    Lost(FindingKind),
    /// Lost to nothing that is known, and the rounding.
    Unexplained,
}

impl Class {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Class::Useful => "useful",
            Class::Lost(kind) => kind.word(),
            Class::Unexplained => "unexplained",
        }
    }
}

/// What one part of the wall time contributes to its difference.
#[derive(Clone, PartialEq, Debug)]
pub struct Contribution {
    /// Which part.
    pub class: Class,
    /// What changed. The differences of all contributions add up to that of the wall time exactly.
    pub change: Change,
    /// What the part consists of, the greatest differences first.
    pub causes: Vec<Cause>,
    /// What the differences of the causes leave of the part's difference (ns).
    pub rest: i64,
}

/// A finding, or for [`Class::Useful`] a function, within a [`Contribution`].
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// What it is called. Hostile.
    pub what: String,
    /// On which sides it is.
    pub presence: Presence,
    /// What changed.
    pub change: Change,
}

/// The runs on one side.
#[derive(Clone, PartialEq, Debug)]
pub struct Side {
    /// The program and its arguments. Hostile.
    pub command: Vec<String>,
    /// The file name of the program. Hostile.
    pub program: String,
    /// The wall time of each run, shortest first.
    pub walls: Vec<Nanos>,
    /// What costs were divided by, in the run in the middle.
    pub workers: u32,
    /// Threads of the run in the middle.
    pub threads: usize,
    /// The mean efficiency, from 0 to 1.
    pub efficiency: f64,
    /// The mean number of active threads.
    pub parallelism: f64,
}

/// How a program scales from the threads before to those after (Daumen et al., IWOMP'19: speedup and parallel
/// efficiency).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scaling {
    /// The mean wall time before over that after.
    pub speedup: f64,
    /// Speedup × working threads before / working threads after.
    pub efficiency: f64,
    /// The mean wall time at perfect efficiency: that before × working threads before / after.
    pub ideal: Nanos,
    /// CPU time of all threads together; `None` where it is not known of all runs. What it grows by is work that the
    /// threads add: work inflation.
    pub cpu: Option<Change>,
}

/// How two sides are held against each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Against {
    /// Before and after a change.
    #[default]
    Change,
    /// The same work with few and with more threads: times before are taken as they would be if the work of the few
    /// were shared by the many without loss.
    Threads,
}

/// What changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// How the sides were held against each other.
    pub against: Against,
    /// The runs before.
    pub before: Side,
    /// The runs after.
    pub after: Side,
    /// The wall time; with [`Against::Threads`] `before` is [`Scaling::ideal`].
    pub wall: Change,
    /// What the difference of the wall time consists of, the greatest differences first.
    pub contributions: Vec<Contribution>,
    /// By sort of thing, in the order of [`Subject::ALL`].
    pub tables: Vec<Table>,
    /// What surrounded the runs, where that differs.
    pub surroundings: Vec<Surrounding>,
    /// How it scales, with [`Against::Threads`].
    pub scaling: Option<Scaling>,
    /// What to keep in mind, a sentence each. Hostile.
    pub warnings: Vec<String>,
}

/// What changed from the runs before to those after. `None` where a side has no run.
pub fn compare(before: &[Ledger], after: &[Ledger], against: Against) -> Option<Comparison> {
    let (old, new): (Vec<&Ledger>, Vec<&Ledger>) = (before.iter().collect(), after.iter().collect());
    let (one, other) = (side(&old)?, side(&new)?);
    let scale = match against {
        Against::Change => Scale::NONE,
        Against::Threads => Scale { times: one.1.workers, over: other.1.workers },
    };
    let walls = |runs: &[&Ledger]| runs.iter().map(|run| whole(run.wall)).collect::<Vec<_>>();
    let wall = Change::between(&walls(&old), &walls(&new), scale);
    let tables: Vec<Table> =
        Subject::ALL.iter().map(|&subject| tables::table(&old, &new, subject, scale)).collect();
    let scaling = (against == Against::Threads).then(|| scaling(&old, &new, wall));
    let surroundings = one.1.surroundings.differences(&other.1.surroundings);
    Some(Comparison {
        against,
        wall,
        contributions: contributions(&old, &new, wall, &tables, scale),
        warnings: warnings(&one, &other, against, &surroundings),
        tables,
        surroundings,
        scaling,
        before: one.0,
        after: other.0,
    })
}

impl Comparison {
    /// The table of a subject.
    pub fn table(&self, subject: Subject) -> Option<&Table> {
        self.tables.iter().find(|table| table.subject == subject)
    }
}

/// The index of the run whose wall time is in the middle; of two the shorter one. `None` without any.
pub fn middle(walls: &[Nanos]) -> Option<usize> {
    let mut order: Vec<usize> = (0..walls.len()).collect();
    order.arrange_by_key(|&index| (walls[index], index));
    order.get(walls.len().saturating_sub(1) / 2).copied()
}

fn side<'a>(runs: &[&'a Ledger]) -> Option<(Side, &'a Ledger)> {
    let mut walls: Vec<Nanos> = runs.iter().map(|run| run.wall).collect();
    let told = runs[middle(&walls)?];
    walls.sort_unstable();
    let mean = |of: fn(&Ledger) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
        values.arrange_by(f64::total_cmp);
        values.iter().sum::<f64>() / values.len() as f64
    };
    let side = Side {
        command: told.command.clone(),
        program: told.program().to_owned(),
        walls,
        workers: told.workers,
        threads: told.threads,
        efficiency: mean(|run| run.efficiency),
        parallelism: mean(|run| run.parallelism),
    };
    Some((side, told))
}

fn scaling(old: &[&Ledger], new: &[&Ledger], wall: Change) -> Scaling {
    let mean = |runs: &[&Ledger]| {
        let sum: u128 = runs.iter().map(|run| u128::from(run.wall.get())).sum();
        sum as f64 / runs.len() as f64
    };
    let cpu = |runs: &[&Ledger]| runs.iter().map(|run| run.cpu.map(whole)).collect::<Option<Vec<i64>>>();
    let after = mean(new).max(f64::MIN_POSITIVE);
    Scaling {
        speedup: mean(old) / after,
        efficiency: wall.before as f64 / after,
        ideal: Nanos::new(wall.before.unsigned_abs()),
        cpu: cpu(old).zip(cpu(new)).map(|(old, new)| Change::between(&old, &new, Scale::NONE)),
    }
}

/// The kinds of findings of which the cost identity tells nothing.
fn is_beside_the_identity(kind: FindingKind) -> bool {
    kind.never_ends()
}

fn contributions(
    old: &[&Ledger],
    new: &[&Ledger],
    wall: Change,
    tables: &[Table],
    scale: Scale,
) -> Vec<Contribution> {
    let change = |of: &dyn Fn(&Ledger) -> Nanos| {
        let amounts = |runs: &[&Ledger]| runs.iter().map(|run| whole(of(run))).collect::<Vec<_>>();
        Change::between(&amounts(old), &amounts(new), scale)
    };
    let mut kinds: Vec<FindingKind> =
        old.iter().chain(new).flat_map(|run| &run.parts).map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rows = |subject: Subject| {
        tables.iter().find(|table| table.subject == subject).map_or(&[][..], |table| &table.rows)
    };
    let mut all = vec![contribution(Class::Useful, change(&|run| run.useful), work(old, new, scale))];
    for kind in kinds.into_iter().filter(|&kind| !is_beside_the_identity(kind)) {
        let of_kind = rows(Subject::Findings).iter().filter(|row| row.sort == kind.word());
        let causes = of_kind
            .filter_map(|row| {
                let change = row.change()?;
                Some(Cause { what: row.what.clone(), presence: row.presence, change })
            })
            .collect();
        all.push(contribution(Class::Lost(kind), change(&|run| run.part(kind)), causes));
    }
    // Each difference is rounded by itself: what that leaves is with what is not explained.
    let explained: i64 = all.iter().map(|part| part.change.difference).sum();
    let mut unexplained = change(&|run| run.unexplained());
    unexplained.difference = wall.difference - explained;
    all.push(contribution(Class::Unexplained, unexplained, Vec::new()));
    all.arrange_by_key(|part| (std::cmp::Reverse(part.change.difference.unsigned_abs()), part.class));
    all
}

fn contribution(class: Class, change: Change, causes: Vec<Cause>) -> Contribution {
    let known: i64 = causes.iter().map(|cause| cause.change.difference).sum();
    // Without any cause there is nothing to leave a rest of.
    let rest = if causes.is_empty() { 0 } else { change.difference - known };
    Contribution { class, change, causes, rest }
}

/// Functions in which threads are at work, on the average over the working threads, as far as samples of all runs show
/// them.
fn work(old: &[&Ledger], new: &[&Ledger], scale: Scale) -> Vec<Cause> {
    const ACTIVE: usize = 1;
    let (ours, theirs) = (tables::merged(old, Subject::Functions), tables::merged(new, Subject::Functions));
    let names =
        |merged: &[tables::Merged<'_>]| merged.iter().map(|m| m.first.name.clone()).collect::<Vec<_>>();
    let (our_names, their_names) = (names(&ours), names(&theirs));
    let found = pairs(&our_names.iter().collect::<Vec<_>>(), &their_names.iter().collect::<Vec<_>>());
    let per_worker = |runs: &[&Ledger], merged: Option<&tables::Merged<'_>>, name: &Name| {
        let amounts = tables::amounts(runs, Subject::Functions, ACTIVE, merged, name)?;
        let shared = amounts.iter().zip(runs).map(|(amount, run)| amount / i64::from(run.workers));
        Some(shared.collect::<Vec<i64>>())
    };
    let mut causes: Vec<Cause> = found
        .into_iter()
        .filter_map(|(one, other)| {
            let (one, other) = (one.map(|index| &ours[index]), other.map(|index| &theirs[index]));
            let first = other.or(one)?.first;
            let presence = match (one, other) {
                (Some(_), Some(_)) => Presence::Both,
                (None, _) => Presence::New,
                (_, None) => Presence::Gone,
            };
            let (before, after) = (per_worker(old, one, &first.name)?, per_worker(new, other, &first.name)?);
            Some(Cause {
                what: first.told.clone(),
                presence,
                change: Change::between(&before, &after, scale),
            })
        })
        .collect();
    causes.arrange_by(|a, b| {
        let size = |cause: &Cause| cause.change.difference.unsigned_abs();
        size(b).cmp(&size(a)).then_with(|| a.what.cmp(&b.what))
    });
    causes
}

fn warnings(
    one: &(Side, &Ledger),
    other: &(Side, &Ledger),
    against: Against,
    surroundings: &[Surrounding],
) -> Vec<String> {
    let (before, after) = (&one.0, &other.0);
    let mut out = Vec::new();
    let arguments = |side: &Side| side.command.get(1..).unwrap_or_default().to_vec();
    if before.program != after.program {
        out.push(format!("The programs differ: {} before, {} after.", before.program, after.program));
    }
    if against == Against::Change && arguments(before) != arguments(after) {
        let told = |side: &Side| match arguments(side).join(" ") {
            words if words.is_empty() => "none".to_owned(),
            words => words,
        };
        out.push(format!("The arguments differ: {} before, {} after.", told(before), told(after)));
    }
    if against == Against::Change && before.workers != after.workers {
        out.push(format!(
            "{} threads worked at once before, {} after: what each class cost is per working thread. Compare with \
             --against-threads if the work is the same.",
            before.workers, after.workers
        ));
    }
    if against == Against::Threads && before.workers == after.workers {
        out.push(format!(
            "As many threads worked at once before as after ({}): there is no scaling to tell of.",
            after.workers
        ));
    }
    let grave: Vec<String> = surroundings
        .iter()
        .filter(|surrounding| surrounding.is_grave)
        .map(|surrounding| {
            format!("{}: {} before, {} after", surrounding.what, surrounding.before, surrounding.after)
        })
        .collect();
    if !grave.is_empty() {
        out.push(format!("The machines or their limits differ ({}): so may all times.", grave.join("; ")));
    }
    for (side, word) in [(one, "before"), (other, "after")] {
        if !side.1.ended_well {
            out.push(format!("The command {word} did not end well: its times may be those of a failure."));
        }
    }
    if before.walls.len() == 1 && after.walls.len() == 1 {
        out.push(
            "One run on each side cannot tell a difference from noise: record several (holdup record -r 5) and give \
             them with --before and --after."
                .to_owned(),
        );
    }
    out
}
